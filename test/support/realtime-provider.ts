/** A provider of OpenAI's realtime API that a test plays: it records events of clients, and sends what the test says. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';

export type Event = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ProvidedSession {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's events so far. */
  readonly events: readonly Event[];
  /** Resolves with the next event of a type, now or when it arrives; each is returned once. */
  next(type: string): Promise<Event>;
  send(event: object): void;
  /** Begins and ends a response that writes `text`, with this usage. */
  respond(id: string, text: string, usage: object | undefined): void;
  close(code: number, reason?: string): void;
  /** Breaks the connection without a closing handshake. */
  terminate(): void;
  readonly closed: Promise<number>;
  readonly socket: WebSocket;
}

export interface RealtimeProvider {
  /** "http://127.0.0.1:port", without a path. */
  readonly url: string;
  session(index: number): Promise<ProvidedSession>;
  /** Refuses sessions from now on with this status and body; undefined: it takes them. */
  refuse(refusal: { readonly status: number; readonly body: object } | undefined): void;
  readonly count: number;
  /** Requests for sessions that were refused. */
  readonly refusedCount: number;
  stop(): Promise<void>;
}

/** The session as OpenAI begins it, with server VAD. */
export const SESSION = {
  type: 'realtime',
  object: 'realtime.session',
  id: 'sess_1',
  model: 'up-realtime',
  max_output_tokens: 'inf',
  instructions: '',
  audio: { input: { format: { type: 'audio/pcm', rate: 24_000 }, turn_detection: { type: 'server_vad' } } },
};

/** The usage of a response: text alone, unless there are details. */
export function usage(input: number, output: number, details: object = {}): object {
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: { text_tokens: input, audio_tokens: 0, image_tokens: 0, cached_tokens: 0 },
    output_token_details: { text_tokens: output, audio_tokens: 0 },
    ...details,
  };
}

/** A request for a WebSocket, which is accepted, or refused on its socket. */
export interface SocketRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly accept: (onOpen: (client: WebSocket) => void) => void;
}

export interface SocketServer {
  /** "http://127.0.0.1:port", without a path. */
  readonly url: string;
  /** Breaks the connections that are open. */
  readonly stop: () => Promise<void>;
}

export async function startSocketServer(onRequest: (request: SocketRequest) => void): Promise<SocketServer> {
  const open = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(404).end());
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  server.on('upgrade', (request, socket, head) =>
    onRequest({ request, socket, accept: (onOpen) => sockets.handleUpgrade(request, socket, head, onOpen) }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

export async function startRealtimeProvider(options: { readonly silent?: boolean } = {}): Promise<RealtimeProvider> {
  const sessions: ProvidedSession[] = [];
  const waiting: (() => void)[] = [];
  let refusedCount = 0;
  let refusal: { readonly status: number; readonly body: object } | undefined;
  const { url, stop } = await startSocketServer(({ request, socket, accept }) => {
    if (refusal) {
      refusedCount++;
      const body = JSON.stringify(refusal.body);
      socket.end(
        `HTTP/1.1 ${refusal.status} No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n` +
          `connection: close\r\n\r\n${body}`,
      );
      return;
    }
    accept((client) => {
      const session = provide(client, { path: request.url ?? '', headers: request.headers });
      sessions.push(session);
      if (!options.silent) session.send({ type: 'session.created', event_id: 'event_1', session: SESSION });
      for (const wake of waiting.splice(0)) wake();
    });
  });
  return {
    url,
    get count() {
      return sessions.length;
    },
    get refusedCount() {
      return refusedCount;
    },
    async session(index) {
      for (;;) {
        const session = sessions[index];
        if (session) return session;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    refuse(given) {
      refusal = given;
    },
    stop,
  };
}

function provide(socket: WebSocket, head: Pick<ProvidedSession, 'path' | 'headers'>): ProvidedSession {
  const events: Event[] = [];
  const read = new Set<Event>();
  const waiting: (() => void)[] = [];
  const closed = Promise.withResolvers<number>();
  socket.on('error', () => undefined);
  socket.on('close', (code) => closed.resolve(code));
  socket.on('message', (data) => {
    events.push(JSON.parse((data as Buffer).toString('utf8')) as Event);
    for (const wake of waiting.splice(0)) wake();
  });
  const send = (event: object): void => socket.send(JSON.stringify(event));
  return {
    ...head,
    events,
    socket,
    closed: closed.promise,
    async next(type) {
      for (;;) {
        const event = events.find((each) => each.type === type && !read.has(each));
        if (event) {
          read.add(event);
          return event;
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    send,
    respond(id, text, used) {
      send({ type: 'response.created', event_id: `${id}_a`, response: { id, status: 'in_progress' } });
      send({ type: 'response.output_text.delta', event_id: `${id}_b`, response_id: id, delta: text });
      send({ type: 'response.done', event_id: `${id}_c`, response: { id, status: 'completed', usage: used } });
    },
    close: (code, reason = '') => socket.close(code, reason),
    terminate: () => socket.terminate(),
  };
}
