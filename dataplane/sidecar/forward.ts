/**
 * Forwards one request of the app: replaces its credential by the key and sends it to the fleet, again if no connection
 * can be made, because nothing was sent then. What has been sent is never repeated, because a call might be paid for
 * twice.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../errors.ts';
import { foreignPage } from '../foreign-page.ts';
import { awaitsContinue, hasBody, sendContinue } from '../server/expect.ts';
import { errorDialectOf, errorReply } from '../server/reply-error.ts';
import { newRequestId } from '../server/request-id.ts';
import { joinPath } from '../upstream/address.ts';
import type { FleetConnection } from './fleet.ts';
import { requestPath, fleetRequestHeaders } from './headers.ts';
import type { MountedKey } from './key.ts';
import { ProxyExchange } from './proxy-exchange.ts';
import type { ExchangeOutcome } from './proxy-exchange.ts';
import { relayUpgrade } from './relay.ts';
import type { AppUpgrade } from './relay.ts';
import { StreamedRequestBody } from './request-body.ts';

export type RequestResult = 'answered' | 'cut' | 'left' | 'unreachable' | 'broken' | 'no_key' | 'refused';

export interface ForwardDeps {
  readonly fleet: FleetConnection;
  readonly key: MountedKey;
  /** The host on which the sidecar listens. */
  readonly ownHost: string;
  /** Resolves after this time, or as soon as the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly observe: {
    readonly head: () => void;
    readonly retried: () => void;
    readonly bytes: (direction: 'to_fleet' | 'to_app', bytes: number) => void;
  };
}

/** The result of a request, for metrics and the log. */
export interface ForwardResult {
  readonly result: RequestResult;
  readonly error?: Error;
  /** Set if the sidecar itself responds. */
  readonly requestId?: string;
}

/** Pauses after the first, second and further failures to connect. Jitter shortens each by up to a half. */
const RETRY_AFTER_MS = [50, 200, 500, 1000, 2000] as const;

/** A request and where its response goes. */
export interface AppCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set if the app asks for an upgrade; the response is sent on its socket. */
  readonly upgrade?: AppUpgrade | undefined;
}

/** Resolves when the response has been written or abandoned, or an upgraded connection has ended. Never rejects. */
export async function forward(deps: ForwardDeps, call: AppCall): Promise<ForwardResult> {
  const { request, response } = call;
  const page = foreignPage(request.headers, deps.ownHost);
  if (page !== undefined) return refuse(request, response, { result: 'refused', error: pageRefused(page) });
  const path = requestPath(request.url ?? '');
  const { header, problem } = deps.key.current;
  if (path === undefined) return refuse(request, response, { result: 'refused', error: noSuchTarget() });
  if (header === undefined) return refuse(request, response, { result: 'no_key', error: noKey(problem) });
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  const outcome = await attempt(deps, { ...call, path }, leaving.signal);
  switch (outcome.kind) {
    case 'Answered':
      return { result: 'answered' };
    case 'Left':
      return { result: 'left' };
    case 'Cut':
      return { result: 'cut', error: outcome.error };
    case 'NoConnection':
      return refuse(request, response, { result: 'unreachable', cause: outcome.error, error: unreachable() });
    case 'Broken':
      return refuse(request, response, { result: 'broken', cause: outcome.error, error: brokenOff() });
  }
}

function pageRefused(reason: string): GatewayError {
  return new GatewayError('not_allowed', `The sidecar serves the programs of its pod, no web pages: ${reason}.`);
}

function noSuchTarget(): GatewayError {
  return new GatewayError('not_found', 'There is nothing at this request target.');
}

function noKey(problem: string): GatewayError {
  const message = `This pod's sidecar has no key to call the gateway with: ${problem}.`;
  return new GatewayError('not_ready', message, { retryAfterSeconds: 1 });
}

function unreachable(): GatewayError {
  const message = 'The gateway cannot be reached from this pod. Nothing was sent; try again.';
  return new GatewayError('upstream_error', message, { retryAfterSeconds: 1 });
}

function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The connection to the gateway ended before an answer came.');
}

interface Call extends AppCall {
  readonly path: string;
}

async function attempt(deps: ForwardDeps, call: Call, signal: AbortSignal): Promise<ExchangeOutcome> {
  const { wait, random, observe } = deps;
  const body = bodyOf(deps, call.request);
  for (let failures = 0; ; failures++) {
    const outcome = await send(deps, call, { body, signal });
    const waitMs = RETRY_AFTER_MS[failures];
    if (outcome.kind !== 'NoConnection' || waitMs === undefined || signal.aborted) {
      body?.discardRest();
      return outcome;
    }
    observe.retried();
    await wait(waitMs * (0.5 + random() / 2), signal);
  }
}

function bodyOf({ observe }: ForwardDeps, request: IncomingMessage): StreamedRequestBody | undefined {
  if (!hasBody(request)) return undefined;
  return new StreamedRequestBody(request, {
    onFirstRead: () => sendContinue(request),
    onBytes: (bytes) => observe.bytes('to_fleet', bytes),
  });
}

interface Sending {
  readonly body: StreamedRequestBody | undefined;
  readonly signal: AbortSignal;
}

function send(
  { fleet, key, observe }: ForwardDeps,
  { request, response, path, upgrade }: Call,
  { body, signal }: Sending,
): Promise<ExchangeOutcome> {
  const exchange = new ProxyExchange({
    response,
    signal,
    onHead: observe.head,
    onBytes: (bytes) => observe.bytes('to_app', bytes),
    relay:
      upgrade &&
      ((socket) => {
        fleet.countUpgraded(socket);
        return relayUpgrade(upgrade, socket, { onBytes: observe.bytes });
      }),
  });
  if (signal.aborted) return exchange.outcome;
  fleet.dispatch(
    {
      method: request.method ?? 'GET',
      path: joinPath(fleet.address, path),
      // the key may have been replaced since the previous attempt
      headers: fleetRequestHeaders(request.rawHeaders, key.current.header ?? ''),
      body: asUndiciBody(body),
      ...(upgrade && { upgrade: 'websocket' }),
    },
    exchange,
  );
  return exchange.outcome;
}

function asUndiciBody(body: StreamedRequestBody | undefined): NonNullable<Dispatcher.DispatchOptions['body']> | null {
  const iterable: unknown = body ?? null;
  // undici documents async iterables as bodies, but the type of dispatch omits them
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return iterable as NonNullable<Dispatcher.DispatchOptions['body']> | null;
}

interface Refusal {
  readonly result: RequestResult;
  /** The error that the app gets. */
  readonly error: GatewayError;
  /** The error for the log, if it says more. */
  readonly cause?: Error;
}

/** Sends the sidecar's own error, in the dialect of the path or the client. */
function refuse(request: IncomingMessage, response: ServerResponse, { result, error, cause }: Refusal): ForwardResult {
  const requestId = newRequestId();
  if (response.destroyed) return { result: 'left' };
  const dialect = errorDialectOf({ url: request.url ?? '', headers: request.headers });
  const { status, headers, body } = errorReply(error, dialect, requestId);
  // without a 100 Continue the client may send its body or not, so the connection cannot be reused
  const connection = awaitsContinue(request) ? { connection: 'close' } : {};
  response.writeHead(status, { ...headers, 'content-length': String(body.length), ...connection });
  response.end(request.method === 'HEAD' ? undefined : body);
  request.resume();
  return { result, error: cause ?? error, requestId };
}
