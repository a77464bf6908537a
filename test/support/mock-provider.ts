/**
 * A provider for tests that does exactly what it is told: every request is recorded, every answer is a script of steps.
 * Waiting is done at gates that the test opens, never by time. Answers of both protocols are built in
 * provider-answers.ts.
 *
 *   const provider = await startMockProvider();
 *   provider.script(openaiChat({ content: 'hello' }));           // the last answer repeats
 *   provider.script((request) => ({ status: 503, steps: [] }));  // or decide by the request
 *   await provider.stop();
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** A gate at which a response waits until the test opens it. */
interface Gate {
  readonly kind: 'gate';
  /**
   * Resolves when a response has reached the gate and all earlier steps were written to the socket. Rejects if none
   * does: the call went elsewhere.
   */
  readonly reached: Promise<void>;
  open(): void;
  /** Used by the provider. */
  pass(): Promise<void>;
}

/**
 * The next step of a response. A string or bytes are sent unchanged; `send` with `tokens` also counts them as produced.
 * Cut closes the connection within the body, Reset by a TCP reset. Stall sends nothing more until stop().
 */
export type Step =
  | string
  | Uint8Array
  | { readonly kind: 'send'; readonly bytes: string | Uint8Array; readonly tokens: number }
  | { readonly kind: 'ifAsked'; readonly bytes: string; readonly asked: (request: RecordedRequest) => boolean }
  | Gate
  | { readonly kind: 'cut' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'stall' };

export const CUT: Step = { kind: 'cut' };
export const RESET: Step = { kind: 'reset' };
export const STALL: Step = { kind: 'stall' };

export interface Reply {
  /** Default 200. */
  readonly status?: number;
  /** The default content-type is application/json. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Steps before the headers are sent: gates, cut, reset, stall. */
  readonly beforeHead?: readonly Step[];
  readonly steps: readonly Step[];
}

type Script = Reply | ((request: RecordedRequest, index: number) => Reply | Promise<Reply>);

export interface RecordedRequest {
  readonly index: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As received, with the case of names and repeated headers. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** The body as JSON. */
  json(): Record<string, unknown>;
  /** Resolves when the exchange has ended, in any way. */
  readonly over: Promise<void>;
  /** The client disconnected before the response was complete, and the script did not cause it. */
  readonly clientGone: boolean;
  /** The output so far, with which bills are compared. */
  readonly produced: { readonly tokens: number; readonly bytes: number; readonly complete: boolean };
}

export interface MockProvider {
  /** "http://127.0.0.1:port", without a path. */
  readonly url: string;
  /** In order of arrival; each is added when its body was read. */
  readonly requests: readonly RecordedRequest[];
  /** Returns the request with this index, now or when it arrives. */
  request(index: number): Promise<RecordedRequest>;
  /** Replaces the script: one entry per request, the last one repeated. */
  script(...replies: readonly Script[]): void;
  /** The number of open responses, now and at most so far. */
  readonly inFlight: number;
  readonly mostInFlight: number;
  /** The number of accepted connections, which shows reuse. */
  readonly connections: number;
  /** Clears the recorded requests and counts. */
  clear(): void;
  stop(): Promise<void>;
}

const GATE_TIMEOUT_MS = 120_000;

/** A closed gate. */
export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    kind: 'gate',
    get reached() {
      return Promise.race([reached.promise, nothingCame()]);
    },
    open: () => opened.resolve(),
    pass: () => {
      reached.resolve();
      return opened.promise;
    },
  };
}

async function nothingCame(): Promise<never> {
  await setTimeout(GATE_TIMEOUT_MS, undefined, { ref: false });
  throw new Error('no answer has come to this gate: what became of the call?');
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Exchange {
  readonly record: Omit<Mutable<RecordedRequest>, 'produced'> & { produced: Mutable<RecordedRequest['produced']> };
  readonly res: ServerResponse;
  /** Resolves when the connection closes or the provider stops. */
  readonly closed: Promise<void>;
  /** The script ended the connection. */
  brokenOff: boolean;
}

/** Listens on a free port of 127.0.0.1. Without a script, it responds to every request with 500. */
export async function startMockProvider(): Promise<MockProvider> {
  let requests: RecordedRequest[] = [];
  let waiters: { index: number; resolve: (request: RecordedRequest) => void }[] = [];
  let scripts: Script[] = [];
  const counts = { inFlight: 0, most: 0, connections: 0, arrived: 0 };
  const stopped = Promise.withResolvers<void>();

  const server = createServer((req, res) => {
    void serve(req, res).catch((error: unknown) =>
      res.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  });
  server.on('connection', () => {
    counts.connections += 1;
  });
  // No limits on requests: the test decides how long they take.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.keepAliveTimeout = 60_000;

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    counts.inFlight += 1;
    counts.most = Math.max(counts.most, counts.inFlight);
    const over = Promise.withResolvers<void>();
    res.once('close', () => {
      counts.inFlight -= 1;
      over.resolve();
    });
    const body = await readBody(req);
    const exchange = record(req, res, { body, over: over.promise, index: counts.arrived++, stopped: stopped.promise });
    requests.push(exchange.record);
    for (const waiter of waiters.filter((each) => each.index === exchange.record.index))
      waiter.resolve(exchange.record);
    res.once('close', () => {
      exchange.record.clientGone = !exchange.brokenOff && !res.writableFinished;
    });
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    await answer(exchange, await replyOf(script, exchange.record));
  }

  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: urlOf(server.address()),
    get requests() {
      return requests;
    },
    get inFlight() {
      return counts.inFlight;
    },
    get mostInFlight() {
      return counts.most;
    },
    get connections() {
      return counts.connections;
    },
    request(index) {
      const known = requests.find((each) => each.index === index);
      if (known) return Promise.resolve(known);
      return new Promise((resolve) => {
        waiters.push({ index, resolve });
      });
    },
    script: (...replies) => {
      scripts = [...replies];
    },
    clear() {
      requests = [];
      waiters = [];
      counts.arrived = 0;
      counts.most = counts.inFlight;
      counts.connections = 0;
    },
    async stop() {
      stopped.resolve();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function urlOf(address: string | AddressInfo | null): string {
  if (address === null || typeof address === 'string') throw new TypeError('not listening on a port');
  return `http://127.0.0.1:${address.port}`;
}

/** Below the ephemeral ports, so that no other program listens there. */
const QUIET_PORTS = { from: 10_000, to: 30_000 };

/** A base URL whose port refuses connections. */
export async function refusingUrl(): Promise<string> {
  for (;;) {
    const server = createServer();
    const port = randomInt(QUIET_PORTS.from, QUIET_PORTS.to);
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => {
      server.close(resolve);
    });
    return `http://127.0.0.1:${port}`;
  }
}

function record(
  req: IncomingMessage,
  res: ServerResponse,
  known: { body: Buffer; over: Promise<void>; index: number; stopped: Promise<void> },
): Exchange {
  return {
    res,
    brokenOff: false,
    closed: Promise.race([known.over, known.stopped]),
    record: {
      index: known.index,
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      body: known.body,
      json: (): Record<string, unknown> => JSON.parse(known.body.toString('utf8')),
      over: known.over,
      clientGone: false,
      produced: { tokens: 0, bytes: 0, complete: false },
    },
  };
}

async function readBody(req: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(req));
}

async function replyOf(script: Script | undefined, request: RecordedRequest): Promise<Reply> {
  if (script === undefined) return { status: 500, steps: ['{"error":{"message":"this mock provider has no script"}}'] };
  return typeof script === 'function' ? await script(request, request.index) : script;
}

async function answer(exchange: Exchange, reply: Reply): Promise<void> {
  const { res } = exchange;
  if (!(await takeAll(exchange, reply.beforeHead ?? [])) || res.destroyed) return;
  res.writeHead(reply.status ?? 200, headOf(reply));
  res.flushHeaders();
  if (!(await takeAll(exchange, reply.steps))) return;
  exchange.record.produced.complete = true;
  await new Promise<void>((resolve) => {
    res.end(resolve);
    res.once('close', resolve);
  });
}

/** A body in one part is sent with its length, as providers do; several are chunked. */
function headOf(reply: Reply): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(reply.headers ?? {}))
    headers[name] = typeof value === 'string' ? value : [...value];
  const [only] = reply.steps;
  if (only === undefined) headers['content-length'] = 0;
  else if (reply.steps.length === 1 && isData(only)) headers['content-length'] = bytesOf(only).length;
  return headers;
}

async function takeAll(exchange: Exchange, steps: readonly Step[]): Promise<boolean> {
  for (const step of steps) if (!(await take(exchange, step))) return false;
  return true;
}

function isData(step: Step | undefined): step is string | Uint8Array | (Step & { kind: 'send' }) {
  return typeof step === 'string' || step instanceof Uint8Array || step?.kind === 'send';
}

function bytesOf(step: string | Uint8Array | { readonly bytes: string | Uint8Array }): Uint8Array {
  const bytes = typeof step === 'string' || step instanceof Uint8Array ? step : step.bytes;
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

/** Performs one step; returns false at the end of the response. */
async function take(exchange: Exchange, step: Step): Promise<boolean> {
  if (isData(step))
    return send(exchange, bytesOf(step), typeof step === 'object' && 'tokens' in step ? step.tokens : 0);
  switch (step.kind) {
    case 'ifAsked':
      return step.asked(exchange.record) ? send(exchange, bytesOf(step), 0) : true;
    case 'gate':
      await Promise.race([step.pass(), exchange.closed]);
      return !exchange.res.destroyed;
    case 'stall':
      await exchange.closed;
      return false;
    case 'cut':
    case 'reset':
      return breakOff(exchange, step.kind);
    default:
      throw new TypeError('an unknown step');
  }
}

function breakOff(exchange: Exchange, how: 'cut' | 'reset'): false {
  exchange.brokenOff = true;
  if (how === 'reset') exchange.res.socket?.resetAndDestroy();
  else exchange.res.socket?.end();
  exchange.res.destroy();
  return false;
}

/** Writes bytes and waits until the socket has accepted them, so that a cut never overtakes them. */
async function send(exchange: Exchange, bytes: Uint8Array, tokens: number): Promise<boolean> {
  const { res, closed, record: request } = exchange;
  if (res.destroyed) return false;
  const written = new Promise<void>((resolve) => {
    res.write(bytes, () => resolve());
  });
  await Promise.race([written, closed]);
  if (res.destroyed) return false;
  request.produced.tokens += tokens;
  request.produced.bytes += bytes.length;
  return true;
}
