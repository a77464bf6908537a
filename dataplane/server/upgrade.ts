/**
 * The upgrade of a request to a session over a WebSocket. All refusals precede it, as HTTP; requests that ask for another
 * protocol, or at another path, are served as if they did not ask.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import { GatewayError } from '../errors.ts';
import { HeldBytes } from '../memory-budget.ts';
import { openMessageSocket } from '../message-socket.ts';
import type { MessageSocket } from '../message-socket.ts';
import { authenticateHead } from '../pipeline/authenticate.ts';
import type { Caller, Received } from '../pipeline/context.ts';
import { REALTIME_PATH, readSessionCall } from '../pipeline/endpoints/realtime.ts';
import { ClientDisconnected } from '../pipeline/failures.ts';
import { createRecord } from '../pipeline/pipeline.ts';
import { MAX_MESSAGE_BYTES } from '../pipeline/realtime/open-session.ts';
import { serveSession } from '../pipeline/realtime/serve-session.ts';
import { bodyOf } from './body.ts';
import { checkHead } from './check-head.ts';
import type { Connections } from './connections.ts';
import type { ServerDeps } from './deps.ts';
import { asksForWebSocket } from './expect.ts';
import { checkProcess, tooManyConnections } from './early-refusal.ts';
import { toGatewayError } from './error-handler.ts';
import { requestIdHeaders } from './reply-error.ts';
import { report } from './report.ts';
import { newRequestId } from './request-id.ts';
import { splitUrl } from './split-url.ts';
import { readSubprotocols } from './subprotocols.ts';
import { UpgradeReply } from './upgrade-reply.ts';

const PROTOCOL = 'realtime';
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Whether a request is for a session. */
export function asksForSession({ method, url = '', headers }: IncomingMessage): boolean {
  return method === 'GET' && asksForWebSocket(headers.upgrade) && splitUrl(url).path === REALTIME_PATH;
}

/** Serves sessions on the server's connections. */
export function serveUpgrades(app: FastifyInstance, deps: ServerDeps, connections: Connections): void {
  const upgrades = new Upgrades(deps, connections);
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrades.serve({ request, socket, head });
  });
}

/** A request as Node hands it over; nothing else reads its socket. */
interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

class Upgrades {
  readonly #deps: ServerDeps;
  readonly #connections: Connections;
  readonly #ids = new WeakMap<IncomingMessage, string>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (protocols) => protocols.has(PROTOCOL) && PROTOCOL,
  });

  constructor(deps: ServerDeps, connections: Connections) {
    this.#deps = deps;
    this.#connections = connections;
    this.#sockets.on('headers', (lines: string[], request: IncomingMessage) => {
      for (const [name, value] of Object.entries(requestIdHeaders(this.#ids.get(request) ?? '')))
        lines.push(`${name}: ${value}`);
    });
  }

  serve(upgrade: Upgrade): void {
    const { request, socket } = upgrade;
    const id = newRequestId();
    this.#ids.set(request, id);
    const arrived = { id, arrivedAt: this.#deps.clock.monotonicMs(), url: request.url ?? '' };
    const reply = new UpgradeReply(socket, { requestId: id });
    let caller: Caller;
    try {
      caller = this.#admit(request);
    } catch (error) {
      const failure = toGatewayError(this.#deps, id, error);
      const endpoint = 'realtime' as const;
      const seen = { ...arrived, endpoint, caller: undefined, failure, attempts: undefined };
      report(this.#deps, seen, reply.fail(failure));
      return;
    }
    void this.#serve(upgrade, receive(this.#deps, { ...arrived, request, caller, reply }), caller);
  }

  /** Throws GatewayError. */
  #admit(request: IncomingMessage): Caller {
    checkProcess(this.#deps, request.socket);
    checkHead(request);
    const caller = authenticateHead(this.#deps, headersOf(request));
    if (!this.#connections.claim(request.socket, caller.key.uid)) throw tooManyConnections();
    const { 'sec-websocket-key': key = '', 'sec-websocket-version': version } = request.headers;
    if (HANDSHAKE_KEY.test(key) && version === '13') return caller;
    throw new GatewayError('invalid_request', 'This is no handshake of a WebSocket of version 13.');
  }

  async #serve(upgrade: Upgrade, received: Received, { key }: Caller): Promise<void> {
    const deps = this.#deps;
    const ended = deps.inFlight.begin();
    const held = new HeldBytes(deps.memory, key);
    try {
      const record = createRecord(deps, received, { keepAlive: () => undefined, stop: () => undefined });
      await serveSession(deps, record, {
        upgrade: () => this.#complete(upgrade, held),
        onDrain: (drain) => deps.shutdown.onDrain(drain),
      });
    } catch (error) {
      // the pipeline sends every error itself, so one that gets here is a defect
      deps.defect(received.requestId, error);
      upgrade.socket.destroy();
    } finally {
      ended();
    }
  }

  /** Rejects with ClientDisconnected. */
  #complete({ request, socket, head }: Upgrade, held: HeldBytes): Promise<MessageSocket> {
    return new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new ClientDisconnected());
      socket.once('close', () => reject(new ClientDisconnected()));
      this.#sockets.handleUpgrade(request, socket, head, (client) => {
        resolve(openMessageSocket(client, { socket, hold: (bytes) => held.set(bytes) }));
      });
    });
  }
}

interface Arrived {
  readonly id: string;
  readonly arrivedAt: number;
  readonly url: string;
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly reply: UpgradeReply;
}

function receive(
  { clock }: Pick<ServerDeps, 'clock'>,
  { id, arrivedAt, url, request, caller, reply }: Arrived,
): Received {
  return {
    requestId: id,
    createdMs: clock.nowMs(),
    arrivedAt,
    endpoint: 'realtime',
    dialect: 'OpenAI',
    errorDialect: 'OpenAI',
    headers: headersOf(request),
    keyHash: caller.keyHash,
    body: bodyOf({}),
    read: readSessionCall(new URLSearchParams(splitUrl(url).query)),
    reply,
    hold: () => undefined,
  };
}

/** The headers, with a browser's key where other clients send theirs. */
function headersOf({ headers }: IncomingMessage): Received['headers'] {
  const { 'sec-websocket-protocol': offered = '', ...rest } = headers;
  const { keys } = readSubprotocols(offered);
  if (keys.length === 0) return rest;
  const key = keys.join(', ');
  return { ...rest, ...(rest.authorization === undefined ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }) };
}
