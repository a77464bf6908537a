/**
 * The gateway as a client of providers: one pool of undici's clients per channel, kept alive between calls, of as many connections as
 * there are calls in flight (concurrency is limited by slots, not here). HTTP/1.1, one request at a time on a connection. Redirects
 * are not followed, answers are asked for uncompressed, TLS is verified.
 */
import { joinPath, parseBaseUrl } from './address.ts';
import type { BaseAddress } from './address.ts';
import { credentialHeaders, headerList } from './credentials.ts';
import { Exchange } from './exchange.ts';
import { buildOneWriteConnector } from './one-write.ts';
import { sendOnce } from './once.ts';
import { UpstreamPool } from './pool.ts';
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamRequest, Upstreams, UpstreamTarget } from './upstream.ts';

const MAX_HEADER_BYTES = 32 * 1024;
/** Below the 5 seconds after which common servers close an idle connection without saying so; a server that does say is heeded. */
const KEEP_ALIVE_MS = 4000;

export interface UpstreamOptions {
  /** Further certificate authorities to trust, PEM; absent: Node's own. */
  readonly ca?: readonly string[];
}

export interface PooledUpstreams extends Upstreams {
  /** Closes the pools of all other targets; calls that run on them finish. */
  retain(targets: ReadonlyMap<string, UpstreamTarget>): void;
}

/** One channel's pool, and what is the same for all of its requests. */
interface ChannelPool {
  readonly pool: UpstreamPool;
  readonly base: BaseAddress;
  readonly credential: readonly string[];
}

export function createUpstreams(options: UpstreamOptions = {}): PooledUpstreams {
  const pools = new Map<UpstreamTarget, ChannelPool>();
  const closing = new Set<Promise<void>>();
  let closed = false;

  const retire = (target: UpstreamTarget, { pool }: ChannelPool): void => {
    pools.delete(target);
    // a pool's close only waits for its calls, and their failures are theirs
    const done = pool.close().catch(() => undefined).finally(() => closing.delete(done));
    closing.add(done);
  };

  const begin = (target: UpstreamTarget, request: UpstreamRequest): Exchange => {
    if (closed) throw new UpstreamFailure('Connect', 'the gateway is shutting down');
    let channel = pools.get(target);
    if (!channel) pools.set(target, channel = openPool(target, options));
    const exchange = new Exchange({ stream: request.stream, timeouts: target.timeouts, signal: request.signal });
    if (!exchange.over) dispatch(target, channel, request, exchange);
    return exchange;
  };

  return {
    // not asynchronous itself: there is nothing to wait for but the exchange
    send(target, request) {
      try {
        return begin(target, request).head;
      } catch (error) {
        return rejected(error);
      }
    },
    retain(targets) {
      for (const [target, channel] of pools) if (targets.get(target.id) !== target) retire(target, channel);
    },
    async close() {
      closed = true;
      for (const [target, channel] of pools) retire(target, channel);
      await Promise.all(closing);
    },
  };
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}

function openPool(target: UpstreamTarget, { ca }: UpstreamOptions): ChannelPool {
  const base = parseAddress(target);
  const pool = new UpstreamPool(base.origin, {
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // the exchange has its own limits, and knows what it waits for
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: buildOneWriteConnector({ allowH2: false, timeout: target.timeouts.connectMs, ...(ca ? { ca: [...ca] } : {}) }),
  });
  return { pool, base, credential: credentialHeaders(target) };
}

function parseAddress({ baseUrl }: UpstreamTarget): BaseAddress {
  try {
    return parseBaseUrl(baseUrl);
  } catch (error) {
    throw new UpstreamFailure('Connect', 'the channel\'s base URL cannot be used', error);
  }
}

function dispatch(target: UpstreamTarget, { pool, base, credential }: ChannelPool, request: UpstreamRequest, exchange: Exchange): void {
  const { body, length } = sendOnce(request.body);
  const headers = headerList(target.protocol, credential, request.headers);
  if (length !== undefined) headers.push('content-length', String(length));
  // one request at a time: there is nothing behind it that it could block, and undici need not look
  pool.dispatch({ method: request.method, path: joinPath(base, request.path), headers, body, blocking: false }, exchange);
}
