/**
 * Connections to providers and token services: direct ones, or through forward proxies. Through a forward proxy each
 * connection is a tunnel (CONNECT), also for http, so that TLS ends at the provider and limits and timeouts are the same.
 */
import { EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { PROXY_ERROR } from './forward-proxy.ts';
import type { ForwardProxies } from './forward-proxy.ts';

export interface ConnectionOptions {
  /** Scheme, host and port of all requests, which connections without a forward proxy are made for. */
  readonly origin: string;
  readonly proxies: ForwardProxies | undefined;
  readonly connectMs: number;
  /** Certificate authorities to trust in place of Node's own, PEM. */
  readonly ca?: readonly string[] | undefined;
  readonly pool?: Pool.Options;
}

/** A forward proxy cannot be reached, or refuses a tunnel. The code is PROXY_ and its status, or the error's own code. */
class ForwardProxyError extends Error {
  override readonly name = 'ForwardProxyError';
  readonly code: string;
  constructor(code: string, cause?: unknown) {
    super(`the forward proxy makes no tunnel (${code})`, { cause });
    this.code = PROXY_ERROR + code;
  }
}

/** Connects to nothing before the first request. */
export function openConnections({ origin, proxies, connectMs, ca, pool }: ConnectionOptions): Dispatcher {
  const connect = { timeout: connectMs, ...(ca ? { ca: [...ca] } : {}) };
  if (!proxies) return new Pool(origin, { ...pool, connect });
  const tls = { ...connect, allowH2: false };
  return new EnvHttpProxyAgent({
    ...pool,
    httpProxy: proxies.http,
    httpsProxy: proxies.https,
    noProxy: proxies.except,
    proxyTunnel: true,
    connect,
    requestTls: tls,
    proxyTls: tls,
    clientFactory: (url, options) => new TunnelPool(url, { ...options, allowH2: false, headersTimeout: connectMs }),
  });
}

const OK = 200;

/** The connections to a forward proxy, whose failures are distinguished from those of the provider behind it. */
class TunnelPool extends Pool {
  override async connect(options: Omit<Dispatcher.ConnectOptions, 'origin'>): Promise<Dispatcher.ConnectData> {
    const { statusCode, socket, ...rest } = await super.connect(options).catch((error: unknown) => {
      throw new ForwardProxyError(codeOf(error), error);
    });
    if (statusCode === OK) return { statusCode, socket, ...rest };
    socket.on('error', () => undefined).destroy();
    throw new ForwardProxyError(String(statusCode));
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'FAILED';
}
