/**
 * Opens a WebSocket to a provider, through the same forward proxies as requests and with the same trust. A response other
 * than 101 is returned with the beginning of its body. Redirects are not followed.
 */
import { Agent as HttpAgent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { addAbortSignal } from 'node:stream';
import { WebSocket } from 'ws';
import { openMessageSocket } from '../message-socket.ts';
import type { MessageSocket } from '../message-socket.ts';
import type { BaseAddress } from './address.ts';
import { PROXY_ERROR } from './forward-proxy.ts';
import type { ForwardProxies } from './forward-proxy.ts';
import { UpstreamFailure } from './upstream.ts';
import type { SocketRequest, UpstreamResponse } from './upstream.ts';

export interface SocketOptions {
  readonly base: BaseAddress;
  readonly proxies: ForwardProxies | undefined;
  readonly ca: readonly string[] | undefined;
  /** For the connection and the response's head. */
  readonly timeoutMs: number;
  /** All headers of the request. */
  readonly headers: Readonly<Record<string, string>>;
}

type Opened = MessageSocket | UpstreamResponse;

/** `path`: with prefix and query. Rejects with UpstreamFailure. */
export function openSocket(options: SocketOptions, path: string, request: SocketRequest): Promise<Opened> {
  const { base, timeoutMs, headers } = options;
  const socket = new WebSocket(base.origin.replace(/^http/, 'ws') + path, [], {
    agent: agentOf(options),
    headers: withoutFraming(headers),
    handshakeTimeout: timeoutMs,
    maxPayload: request.maxMessageBytes,
    perMessageDeflate: false,
    followRedirects: false,
  });
  const { signal } = request;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, false));
      socket.terminate();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => signal.removeEventListener('abort', onAbort);
    socket.on('error', (error) => {
      settled();
      reject(new UpstreamFailure('Connect', 'the WebSocket was not opened', withCode(error, options.proxies)));
    });
    socket.once('unexpected-response', (_request, response) => {
      settled();
      resolve(refusalOf(response, signal));
    });
    socket.once('open', () => {
      settled();
      resolve(openMessageSocket(socket));
    });
  });
}

/** A socket has a connection of its own, so that nothing is kept alive. */
function agentOf({ base, proxies, ca }: SocketOptions): HttpAgent {
  const proxyEnv = proxies && {
    HTTP_PROXY: proxies.http,
    HTTPS_PROXY: proxies.https || proxies.http,
    NO_PROXY: proxies.except,
  };
  const options = { ...(proxyEnv && { proxyEnv }) };
  if (base.origin.startsWith('http:')) return new HttpAgent(options);
  return new HttpsAgent({ ...options, ...(ca && { ca: [...ca] }) });
}

/** A handshake has no body, and frames are not compressed. */
function withoutFraming(headers: SocketOptions['headers']): Record<string, string> {
  const { 'content-type': _type, 'accept-encoding': _encoding, ...rest } = headers;
  return rest;
}

function refusalOf(response: IncomingMessage, signal: AbortSignal): UpstreamResponse {
  const headers = Object.entries(response.headers).map(
    ([name, value = '']) => [name, typeof value === 'string' ? value : value.join(', ')] as const,
  );
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    body: readRefusalBody(signal, addAbortSignal(signal, response)),
  };
}

/** Throws UpstreamFailure. */
async function* readRefusalBody(signal: AbortSignal, response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (signal.aborted) throw new UpstreamFailure('Aborted', 'the exchange was aborted', error);
    throw new UpstreamFailure('Cut', 'the provider broke its response off', error);
  }
}

/** A forward proxy that makes no tunnel is told apart from a provider. */
function withCode(error: Error, proxies: ForwardProxies | undefined): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'FAILED';
  return proxies && code.startsWith('ERR_PROXY') ? Object.assign(error, { code: `${PROXY_ERROR}FAILED` }) : error;
}
