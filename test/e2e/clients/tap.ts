/**
 * A proxy before the gateway that changes nothing and keeps every exchange. It passes on one request at a time, so that
 * whatever the providers are sent meanwhile belongs to that request.
 */
import { createServer, request as send } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';

/** A request, as a client sends it to the gateway or the gateway to a provider. */
export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Exchange {
  readonly request: SentRequest;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What the client has received. */
  readonly body: Buffer;
  /** What the providers were sent meanwhile. */
  readonly upstream: readonly SentRequest[];
}

export interface Tap {
  /** "http://127.0.0.1:port" */
  readonly url: string;
  /** The exchanges since the last call, in the order in which they began. */
  take(): readonly Exchange[];
  stop(): Promise<void>;
}

/** @param upstream all requests that the providers have been sent so far */
export async function startTap(gatewayUrl: string, upstream: () => readonly SentRequest[]): Promise<Tap> {
  let exchanges: Exchange[] = [];
  let last: Promise<void> = Promise.resolve();
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    const before = upstream().length;
    const answer = await passOn(gatewayUrl, incoming, request.body, response);
    exchanges.push({ request, ...answer, upstream: upstream().slice(before) });
  };
  // a client that asks for a WebSocket is answered by the gateway
  const server = createServer({ shouldUpgradeCallback: () => false }, (incoming, response) => {
    last = last
      .then(() => serve(incoming, response))
      .catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the tap has no address');
  return {
    url: `http://127.0.0.1:${address.port}`,
    take() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Reads a request to its end. */
export async function readRequest(incoming: IncomingMessage): Promise<SentRequest> {
  const body = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
  return { method: incoming.method ?? 'GET', path: incoming.url ?? '/', headers: incoming.headers, body };
}

async function passOn(
  gatewayUrl: string,
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<Pick<Exchange, 'status' | 'headers' | 'body'>> {
  const outgoing = send(gatewayUrl + (url ?? '/'), { method: method ?? 'GET', headers: rawHeaders });
  response.on('close', () => outgoing.destroy());
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
  const pieces: Buffer[] = [];
  for await (const piece of answer as AsyncIterable<Buffer>) {
    pieces.push(piece);
    response.write(piece);
  }
  response.end();
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) };
}
