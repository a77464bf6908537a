/**
 * The sidecar: a small proxy next to an app, on the pod's loopback address. It takes the app's requests, adds the pod's
 * key and forwards them to the fleet over TLS. The fleet does everything else: models, prices, money and retries. A
 * request goes through the server, forward.ts (key, attempts) and proxy-exchange.ts (bytes both ways).
 */
import { createServer, ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { listenOn } from '../listen.ts';
import type { ListenAddress } from '../listen.ts';
import { asksForWebSocket, hasBody, serveExpectations } from '../server/expect.ts';
import { createInFlight } from '../server/in-flight.ts';
import { closeAfterWriting } from '../server/last-response.ts';
import { refuseMalformed } from '../server/malformed.ts';
import { trackResponse } from '../server/open-responses.ts';
import { newRequestId } from '../server/request-id.ts';
import type { FleetConnection } from './fleet.ts';
import { forward } from './forward.ts';
import type { AppCall, ForwardResult } from './forward.ts';
import type { MountedKey } from './key.ts';
import type { SidecarMetrics } from './metrics.ts';

export interface SidecarOptions {
  readonly fleet: FleetConnection;
  readonly key: MountedKey;
  readonly metrics: SidecarMetrics;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
  readonly listen: ListenAddress;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly random: () => number;
}

export interface Sidecar {
  readonly port: number;
  /** Accepts no new connections. Resolves when the running requests have ended. */
  drain(): Promise<void>;
}

/** Longer than apps keep a connection idle, so that the apps close it first. */
const KEEP_ALIVE_MS = 120_000;
const HEADERS_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 64 * 1024;

/** Resolves once it listens; rejects if it cannot. */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { listen, clock, metrics } = options;
  const inFlight = createInFlight();
  let draining = false;
  const onCall = (call: AppCall): void => {
    trackResponse(call.request.socket, call.response);
    const begunMs = clock.monotonicMs();
    const end = inFlight.begin();
    // the app must not send another request on this connection
    if (draining) call.response.setHeader('connection', 'close');
    metrics.begun();
    void serve(options, call, begunMs).finally(end);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => onCall({ request, response });
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
      noDelay: true,
      shouldUpgradeCallback: mayUpgrade,
    },
    onRequest,
  );
  server.on('upgrade', (request, socket, head) => {
    // 'close' follows
    socket.on('error', () => undefined);
    if (socket instanceof Socket) onCall({ request, response: responseOn(socket, request), upgrade: { socket, head } });
  });
  server.on('clientError', (error, socket) => {
    if (socket instanceof Socket) refuseMalformed(error, socket, newRequestId());
  });
  serveExpectations(server, onRequest);
  const port = await listenOn(server, listen);
  return {
    port,
    async drain() {
      draining = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await inFlight.ended();
      server.closeAllConnections();
      await Promise.all([closed, options.fleet.close()]);
    },
  };
}

/** Requests that ask for another protocol are served as if they did not ask. */
function mayUpgrade(request: IncomingMessage): boolean {
  return request.method === 'GET' && asksForWebSocket(request.headers.upgrade) && !hasBody(request);
}

/** A response on a socket that Node has given away, which is closed after a response other than an upgrade. */
function responseOn(socket: Socket, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    closeAfterWriting(socket);
    socket.end();
  });
  return response;
}

/** Resolves when the response has been sent or its connection is closed. */
async function serve(options: SidecarOptions, call: AppCall, begunMs: number): Promise<void> {
  const { request, response } = call;
  const { fleet, key, metrics, log, clock, random } = options;
  const sinceMs = (): number => clock.monotonicMs() - begunMs;
  const closed = new Promise<void>((resolve) => {
    response.on('close', resolve);
  });
  const forwarded = await forward(
    {
      fleet,
      key,
      random,
      ownHost: options.listen.host,
      wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
      observe: { head: () => metrics.firstByte(sinceMs()), retried: metrics.retried, bytes: metrics.bytes },
    },
    call,
  );
  if (!response.closed) await closed;
  const status = response.headersSent ? response.statusCode : undefined;
  metrics.ended({ result: forwarded.result, status, durationMs: sinceMs() });
  const path = request.url?.split('?', 1)[0];
  writeLog(log, forwarded, { method: request.method, path, status, duration_ms: Math.round(sinceMs()) });
}

/** Logs only the error's code and message, because its other properties may contain what was sent. */
function writeLog(
  log: SidecarOptions['log'],
  { result, error, requestId }: ForwardResult,
  call: Readonly<Record<string, unknown>>,
): void {
  const code = error && 'code' in error ? String(error.code) : undefined;
  const line = {
    ...call,
    result,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(error ? { error: code ?? error.name, message: error.message } : {}),
  };
  if (result === 'answered' || result === 'left') log.debug(line, 'request');
  else log.warn(line, 'the fleet did not respond to a request');
}
