/**
 * A provider that speaks both protocols and answers by rules, to try things out without an account. The same question
 * has the same answer; words in the prompt trigger failures (rules.ts). It accepts any model name, and any credential
 * except one that contains "wrong". OpenAI's base URL is <url>/v1, Anthropic's <url>.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { anthropic } from './anthropic.ts';
import { answerTo } from './answer.ts';
import { listen, speech, speechEvents, transcript, transcriptEvents } from './audio.ts';
import { BatchRoutes } from './batch-routes.ts';
import { legacy } from './completions.ts';
import type { Dialect, Exchange } from './dialect.ts';
import { openai } from './openai.ts';
import { picture } from './picture.ts';
import { countedTokens, embeddings, imageEvents, images, models } from './plain-endpoints.ts';
import type { ImageKind } from './plain-endpoints.ts';
import { BadRequest, isObject } from './prompt.ts';
import type { Json } from './prompt.ts';
import { moderations, ranking } from './reading.ts';
import { asksForSession, createSessions } from './realtime.ts';
import { responses } from './responses.ts';
import { behaviourOf } from './rules.ts';
import { createStoredResponses } from './stored-responses.ts';
import type { StoredResponses } from './stored-responses.ts';
import { createVideos } from './videos.ts';
import type { Videos } from './videos.ts';
import { createPromptCache } from './prompt-cache.ts';
import type { PromptCache } from './prompt-cache.ts';

interface DemoProviderOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Called with one readable line per request. */
  readonly onRequest?: (line: string) => void;
  /** The pause before each token of a stream, so that streaming is visible; default 12 ms. */
  readonly tokenMs?: number;
  /**
   * The pause before each token under the rule "slow"; a slow answer that is not a stream waits for the time of several
   * tokens. Default 400 ms.
   */
  readonly slowTokenMs?: number;
  /** How long a video, a background response or a batch takes; default 4 s. */
  readonly videoMs?: number;
}

export interface DemoProvider {
  /** "http://host:port" */
  readonly url: string;
  /** Also ends running answers. */
  stop(): Promise<void>;
}

interface Context {
  readonly url: () => string;
  readonly cache: PromptCache;
  readonly videos: Videos;
  readonly stored: StoredResponses;
  readonly batches: BatchRoutes;
  readonly tokenMs: number;
  readonly slowTokenMs: number;
  readonly stopping: AbortSignal;
}

interface Call {
  readonly context: Context;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly dialect: Dialect;
}

const SLOW_ANSWER_TOKENS = 10;

/** Resolves once it listens; rejects if the port cannot be opened. */
export async function startDemoProvider(options: DemoProviderOptions): Promise<DemoProvider> {
  const stopping = new AbortController();
  const jobMs = Math.max(1, options.videoMs ?? 4_000);
  const context: Context = {
    url: () => url,
    cache: createPromptCache(),
    videos: createVideos(jobMs, Date.now),
    stored: createStoredResponses(jobMs, Date.now),
    batches: new BatchRoutes({
      takesMs: jobMs,
      nowMs: Date.now,
      answer: (url, body) => answerInBatch(context, url, body),
    }),
    tokenMs: options.tokenMs ?? 12,
    slowTokenMs: options.slowTokenMs ?? 400,
    stopping: stopping.signal,
  };
  const sessions = createSessions(context);
  const server = createServer({ shouldUpgradeCallback: asksForSession }, (req, res) => {
    res.once('close', () =>
      options.onRequest?.(`${req.method} ${pathOf(req)} ${res.writableFinished ? res.statusCode : 'broken off'}`),
    );
    void serve(context, req, res);
  });
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    socket.once('close', () => options.onRequest?.(`${request.method} ${pathOf(request)} 101`));
    sessions.serve({ request, socket, head });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`;
  return {
    url,
    async stop() {
      stopping.abort();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      sessions.stop();
      await closed;
    },
  };
}

/** Never rejects: every error is sent to the client. */
async function serve(context: Context, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const dialect = dialectOf(req);
  const call: Call = { context, req, res, dialect, id: `demo${randomBytes(9).toString('hex')}` };
  const credential = [req.headers.authorization, req.headers['x-api-key']].join(' ');
  try {
    if (/wrong/i.test(credential)) refuse(call, 401, 'invalid credential, as the credential asked');
    else await route(call);
  } catch (error) {
    if (res.headersSent || res.destroyed) res.destroy();
    else refuse(call, 400, wordsFor(error), error instanceof BadRequest ? error.param : undefined);
  }
}

function dialectOf(req: IncomingMessage): Dialect {
  const path = pathOf(req);
  if (path.startsWith('/v1/messages') || 'anthropic-version' in req.headers) return anthropic;
  if (path === '/v1/completions') return legacy;
  return path === '/v1/responses' ? responses : openai;
}

function wordsFor(error: unknown): string {
  if (error instanceof BadRequest) return error.message;
  return error instanceof SyntaxError ? 'the body is not JSON' : 'the request could not be read';
}

function pathOf(req: IncomingMessage): string {
  return (req.url ?? '/').split('?')[0] ?? '/';
}

async function route(call: Call): Promise<void> {
  const path = pathOf(call.req);
  const [, drawn] = /^\/pictures\/([0-9a-f]{16})\.png$/.exec(path) ?? [];
  if (drawn !== undefined) return void call.res.writeHead(200, { 'content-type': 'image/png' }).end(picture(drawn));
  const [, video, content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? [];
  if (video !== undefined) return aboutVideo(call, decodeURIComponent(video), content !== undefined);
  const [, response, cancel] = /^\/v1\/responses\/(resp_[^/]+)(\/cancel)?$/.exec(path) ?? [];
  if (response !== undefined) return aboutResponse(call, decodeURIComponent(response), cancel !== undefined);
  const batches = serveBatches(call, path);
  if (batches) return batches;
  const serve = ROUTES[`${call.req.method} ${path}`];
  if (!serve) return refuse(call, 404, `the demo provider does not support ${call.req.method} ${path}`);
  await serve(call);
}

const ROUTES: Readonly<Record<string, (call: Call) => unknown>> = {
  'GET /v1/models': (call) => send(call, models('anthropic-version' in call.req.headers)),
  'POST /v1/chat/completions': async (call) => chat(call, await readJson(call.req)),
  'POST /v1/messages': async (call) => chat(call, await readJson(call.req)),
  'POST /v1/responses': async (call) => chat(call, await readJson(call.req)),
  'POST /v1/messages/count_tokens': async (call) => send(call, countedTokens(await readJson(call.req))),
  'POST /v1/completions': async (call) => chat(call, await readJson(call.req)),
  'POST /v1/moderations': async (call) => send(call, moderations(await readJson(call.req), call.id)),
  'POST /v1/rerank': async (call) => send(call, ranking(await readJson(call.req), call.id)),
  'POST /v2/rerank': async (call) => send(call, ranking(await readJson(call.req), call.id)),
  'POST /v1/audio/speech': async (call) => speak(call, await readJson(call.req)),
  'POST /v1/audio/transcriptions': (call) => writeDown('transcribe', call),
  'POST /v1/audio/translations': (call) => writeDown('translate', call),
  'POST /v1/embeddings': async (call) => send(call, embeddings(await readJson(call.req))),
  'POST /v1/images/generations': async (call) => makeImages('generation', call, await readJson(call.req)),
  'POST /v1/images/edits': async (call) => makeImages('edit', call, await readImageFields(call.req)),
  'POST /v1/images/variations': async (call) => makeImages('variation', call, await readImageFields(call.req)),
  'POST /v1/videos': async (call) => makeVideo(call, await readFields(call.req)),
};

/** Undefined: the request is about something else. */
function serveBatches(call: Call, path: string): Promise<void> | undefined {
  const { req, res, id, context } = call;
  const reply = context.batches.serve({
    method: req.method ?? '',
    path,
    query: new URLSearchParams((req.url ?? '').split('?')[1]),
    id,
    readJson: () => readJson(req),
    readForm: () => readForm(req),
  });
  return reply?.then((sent) => {
    if (!sent) return refuse(call, 404, `not found: ${path}`);
    if ('json' in sent) return send(call, sent.json);
    res.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(sent.text);
  });
}

/** One request of a batch, which is answered as it would be alone. */
function answerInBatch(context: Context, url: string, body: Json): { readonly status: number; readonly body: unknown } {
  const dialect = url === '/v1/messages' ? anthropic : url === '/v1/responses' ? responses : openai;
  try {
    if (url === '/v1/embeddings') return { status: 200, body: embeddings(body) };
    const prompt = dialect.parse(body);
    const answer = answerTo(prompt);
    const { fail } = answer.behaviour;
    if (fail !== undefined) return { status: fail, body: dialect.error(fail, 'as the prompt asked') };
    const id = `demo${randomBytes(9).toString('hex')}`;
    const input = dialect.input(body, prompt, context.cache);
    return { status: 200, body: dialect.whole({ id, body, prompt, answer, input }) };
  } catch (error) {
    return { status: 400, body: dialect.error(400, wordsFor(error)) };
  }
}

/** Reads JSON, or the text fields of a form. */
async function readFields(req: IncomingMessage): Promise<Json> {
  const type = req.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return readJson(req);
  return Object.fromEntries(await readForm(req));
}

async function readForm(req: IncomingMessage): Promise<FormData> {
  const headers = { 'content-type': req.headers['content-type'] ?? '' };
  return new Response(Buffer.concat(await Array.fromAsync(req)), { headers }).formData();
}

/** A form holds its numbers and booleans as text. */
async function readImageFields(req: IncomingMessage): Promise<Json> {
  const fields = await readFields(req);
  const { n, stream } = fields;
  return {
    ...fields,
    ...(typeof n === 'string' && { n: Number(n) }),
    ...(typeof stream === 'string' && { stream: stream === 'true' }),
  };
}

async function makeImages(kind: ImageKind, call: Call, body: Json): Promise<void> {
  if (body['stream'] !== true || kind === 'variation') return send(call, images(kind, body, call.context.url()));
  await sendEvents(call, imageEvents(kind, body));
}

async function sendEvents(call: Call, events: readonly string[]): Promise<void> {
  call.res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...call.dialect.headers(call.id) });
  for (const event of events) await write(call.res, event);
  call.res.end();
}

async function speak(call: Call, body: Json): Promise<void> {
  if (failsAsAsked(call, body['input'])) return;
  if (body['stream_format'] === 'sse') return sendEvents(call, speechEvents(body));
  const { type, bytes } = speech(body);
  call.res.writeHead(200, { 'content-type': type, ...call.dialect.headers(call.id) });
  await write(call.res, bytes);
  call.res.end();
}

async function writeDown(task: 'transcribe' | 'translate', call: Call): Promise<void> {
  const listened = await listen(await readForm(call.req));
  if (failsAsAsked(call, listened.fields['prompt'])) return;
  const events = task === 'transcribe' ? transcriptEvents(listened) : undefined;
  if (events) return sendEvents(call, events);
  const whole = transcript(task, listened);
  if (typeof whole !== 'string') return send(call, whole);
  call.res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', ...call.dialect.headers(call.id) });
  call.res.end(whole);
}

/** Whether the text asks for a failure, which is then sent. */
function failsAsAsked(call: Call, text: unknown): boolean {
  const { fail } = behaviourOf(typeof text === 'string' ? text : '');
  if (fail !== undefined) refuse(call, fail, `the demo provider fails with ${fail}, as the prompt asked`);
  return fail !== undefined;
}

function makeVideo(call: Call, fields: Json): void {
  if (failsAsAsked(call, fields['prompt'])) return;
  send(call, call.context.videos.make(`video_${call.id}`, fields));
}

function aboutVideo(call: Call, id: string, wantsContent: boolean): void {
  const { videos } = call.context;
  const known = videos.find(id);
  if (known === undefined) return refuse(call, 404, `there is no video ${id}`);
  if (wantsContent) return void call.res.writeHead(200, { 'content-type': 'video/x-msvideo' }).end(videos.content(id));
  if (call.req.method !== 'DELETE') return send(call, known);
  videos.remove(id);
  send(call, { id, object: 'video.deleted', deleted: true });
}

function aboutResponse(call: Call, id: string, cancels: boolean): void {
  const { stored } = call.context;
  const known = cancels && call.req.method === 'POST' ? stored.cancel(id) : stored.find(id);
  if (known === undefined) return refuse(call, 404, `there is no response ${id}`);
  if (call.req.method !== 'DELETE') return send(call, known);
  stored.remove(id);
  send(call, { id, object: 'response.deleted', deleted: true });
}

async function readJson(req: AsyncIterable<Buffer>): Promise<Json> {
  const body: unknown = JSON.parse(Buffer.concat(await Array.fromAsync(req)).toString('utf8'));
  if (!isObject(body)) throw new BadRequest('', 'the body must be a JSON object');
  return body;
}

function send(call: Call, value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
  const body = Buffer.from(JSON.stringify(value));
  call.res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...call.dialect.headers(call.id),
    ...headers,
  });
  call.res.end(body);
}

function refuse(call: Call, status: number, message: string, param?: string): void {
  send(call, call.dialect.error(status, message, param), status, status === 429 ? { 'retry-after': '1' } : {});
}

async function chat(call: Call, body: Json): Promise<void> {
  const prompt = call.dialect.parse(body);
  const answer = answerTo(prompt);
  const { fail } = answer.behaviour;
  if (fail !== undefined) {
    const message = `the demo provider fails with ${fail}, as the prompt asked`;
    return refuse(call, fail, message, fail === 404 ? 'model' : undefined);
  }
  const exchange: Exchange = {
    id: call.id,
    body,
    prompt,
    answer,
    input: call.dialect.input(body, prompt, call.context.cache),
  };
  const gone = new AbortController();
  call.res.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, call.context.stopping]);
  await (prompt.stream ? sendStream(call, exchange, signal) : sendWhole(call, exchange, signal));
}

async function sendWhole(call: Call, exchange: Exchange, signal: AbortSignal): Promise<void> {
  const { slow, breakOff } = exchange.answer.behaviour;
  if (breakOff === 'Stall') return untilAborted(signal);
  if (slow) await pause(call.context.slowTokenMs * SLOW_ANSWER_TOKENS, undefined, { signal });
  const whole = call.dialect.whole(exchange);
  const isLater = isObject(whole) && call.dialect === responses && exchange.body['background'] === true;
  const value = isLater ? call.context.stored.make(`resp_${exchange.id}`, whole) : whole;
  if (breakOff !== 'Cut') return send(call, value);
  const body = Buffer.from(JSON.stringify(value));
  call.res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  await write(call.res, body.subarray(0, body.length / 2));
  call.res.destroy();
}

async function sendStream(call: Call, exchange: Exchange, signal: AbortSignal): Promise<void> {
  const { slow, breakOff } = exchange.answer.behaviour;
  const { context, res, dialect, id } = call;
  const events = dialect.stream(exchange);
  const breakAfter =
    breakOff === undefined ? Infinity : Math.ceil(events.filter((event) => event.tokens > 0).length / 2);
  const tokenMs = slow ? context.slowTokenMs : context.tokenMs;
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...dialect.headers(id),
  });
  let tokens = 0;
  for (const event of events) {
    if (event.tokens > 0 && tokenMs > 0) await pause(tokenMs, undefined, { signal });
    await write(res, event.text);
    if (signal.aborted) return;
    tokens += event.tokens;
    if (tokens >= breakAfter) return breakOff === 'Cut' ? void res.destroy() : untilAborted(signal);
  }
  res.end();
}

/** Resolves once the connection has accepted the data, or is closed. */
function write(res: ServerResponse, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (res.destroyed) return resolve();
    res.write(data, () => resolve());
  });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
