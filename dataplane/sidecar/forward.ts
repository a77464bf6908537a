/**
 * One request of the app: the key in the place of its credential, an attempt at the fleet, and others while no connection can be
 * made, since nothing has been sent then. What has been sent is never repeated: a call might be paid for twice.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { goOn, isWaiting } from '../server/expect.ts';
import { dialectOf, errorReply } from '../server/reply-error.ts';
import { newRequestId } from '../server/request-id.ts';
import { joinPath } from '../upstream/address.ts';
import type { Fleet } from './fleet.ts';
import { pathOf, toFleet } from './headers.ts';
import type { KeyHolder } from './key.ts';
import { Passage } from './passage.ts';
import type { Ending } from './passage.ts';
import { RequestBody, hasBody } from './request-body.ts';

export type Result = 'answered' | 'cut' | 'left' | 'unreachable' | 'broken' | 'no_key' | 'refused';

export interface ForwardDeps {
  readonly fleet: Fleet;
  readonly key: KeyHolder;
  /** Waits; resolves at once when the signal says so. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** [0, 1) */
  readonly random: () => number;
  readonly observe: {
    readonly head: () => void;
    readonly retried: () => void;
    readonly bytes: (direction: 'to_fleet' | 'to_app', bytes: number) => void;
  };
}

/** What became of a request, for metrics and the log. */
export interface Forwarded {
  readonly result: Result;
  readonly error?: Error;
  /** Of an answer of the sidecar's own. */
  readonly requestId?: string;
}

type Body = NonNullable<Dispatcher.DispatchOptions['body']> | null;

/** So long after the first, second and so on failure to connect it is tried again. */
const RETRY_AFTER_MS = [50, 200, 500, 1000, 2000] as const;

/** Never rejects. */
export async function forward(deps: ForwardDeps, request: IncomingMessage, response: ServerResponse): Promise<Forwarded> {
  const path = pathOf(request.url ?? '');
  const { header, problem } = deps.key.current;
  if (path === undefined) return refuse(request, response, { result: 'refused', error: new GatewayError('not_found', 'There is nothing at this request target.') });
  if (header === undefined)
    return refuse(request, response, { result: 'no_key', error: new GatewayError('not_ready', `This pod's sidecar has no key to call the gateway with: ${problem}.`, { retryAfterSeconds: 1 }) });
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  const ending = await attempt(deps, { request, response, path }, leaving.signal);
  switch (ending.end) {
    case 'Answered': return { result: 'answered' };
    case 'Left': return { result: 'left' };
    case 'Cut': return { result: 'cut', error: ending.error };
    case 'NoConnection': return refuse(request, response, { result: 'unreachable', cause: ending.error, error: new GatewayError('upstream_error', 'The gateway cannot be reached from this pod. Nothing was sent; try again.', { retryAfterSeconds: 1 }) });
    case 'Broken': return refuse(request, response, { result: 'broken', cause: ending.error, error: new GatewayError('upstream_error', 'The connection to the gateway ended before an answer came.') });
  }
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
}

async function attempt({ fleet, key, wait, random, observe }: ForwardDeps, { request, response, path }: Call, leaving: AbortSignal): Promise<Ending> {
  const body = hasBody(request) ? new RequestBody(request, { onWanted: () => goOn(request), onBytes: (bytes) => observe.bytes('to_fleet', bytes) }) : undefined;
  const events = { onHead: observe.head, onBytes: (bytes: number) => observe.bytes('to_app', bytes) };
  for (let failures = 0; ; failures++) {
    // the key as it is now: it may have been replaced during the wait
    const { header } = key.current;
    const passage = new Passage(response, events);
    const leave = (): void => passage.leave();
    leaving.addEventListener('abort', leave, { once: true });
    if (leaving.aborted) leave();
    else dispatch(fleet, passage, { method: request.method ?? 'GET', path: joinPath(fleet.address, path), headers: toFleet(request.rawHeaders, header ?? ''), body: bodyFor(body) });
    const ending = await passage.ended;
    leaving.removeEventListener('abort', leave);
    const waitMs = RETRY_AFTER_MS[failures];
    if (ending.end !== 'NoConnection' || waitMs === undefined || leaving.aborted) {
      body?.drop();
      return ending;
    }
    observe.retried();
    await wait(waitMs * (0.5 + random() / 2), leaving);
  }
}

/** undici throws at once what it finds wrong with a request; then nothing has been sent. */
function dispatch(fleet: Fleet, passage: Passage, options: Dispatcher.DispatchOptions): void {
  try {
    fleet.dispatch(options, passage);
  } catch (error) {
    passage.onResponseError(null, error instanceof Error ? error : new Error('not sent', { cause: error }));
  }
}

function bodyFor(body: RequestBody | undefined): Body {
  const iterable: unknown = body ?? null;
  // an async iterable is one of undici's bodies, if only by its documentation: its types for dispatch leave it out
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return iterable as Body;
}

/** An answer of the sidecar's own, in the dialect of the path. */
function refuse(request: IncomingMessage, response: ServerResponse, { result, error, cause }: { readonly result: Result; readonly error: GatewayError; readonly cause?: Error }): Forwarded {
  const requestId = newRequestId();
  if (response.destroyed) return { result: 'left' };
  const { status, headers, body } = errorReply(error, dialectOf(request.url ?? ''), requestId);
  // whether the body that was not asked for comes, nobody can say
  response.writeHead(status, { ...headers, 'content-length': String(body.length), ...isWaiting(request) ? { connection: 'close' } : {} });
  response.end(request.method === 'HEAD' ? undefined : body);
  request.resume();
  return { result, error: cause ?? error, requestId };
}
