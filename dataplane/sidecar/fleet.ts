/**
 * Connections to the fleet: one undici pool, kept alive between requests, HTTP/1.1, one request at a time on a connection. Each
 * connection is replaced after some minutes, so that proxies which have joined the fleet get their share.
 */
import type { Dispatcher, Pool } from 'undici';
import { parseBaseUrl } from '../upstream/address.ts';
import type { BaseAddress } from '../upstream/address.ts';
import { FleetPool } from './pool.ts';

export interface FleetOptions {
  /** Such as https://model-gateway-tls.model-gateway.svc. */
  readonly url: string;
}

export interface Fleet {
  readonly address: BaseAddress;
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Trusts these authorities from now on, PEM, whatever was trusted before; undefined: Node's own. Requests that run go on. */
  trust(authorities: string | undefined): void;
  connections(): { readonly busy: number; readonly idle: number };
  /** Waits for the requests that run. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 64 * 1024;
const CONNECT_MS = 5_000;
/** Shorter than the 72 seconds after which a proxy closes an idle connection. */
const KEEP_ALIVE_MS = 30_000;
const CONNECTION_AGE_MS = 5 * 60_000;
/** A peer that is gone without a word is found out by the system. */
const PROBE_AFTER_MS = 15_000;
/** Nothing that a route's timeouts allow is longer: a whole answer may take a day, a stream be silent for an hour. */
const HEAD_MS = 86_400_000;
const SILENCE_MS = 86_400_000;

/** Nothing is connected before the first request. */
export function connectFleet({ url }: FleetOptions): Fleet {
  const address = parseBaseUrl(url);
  const closing = new Set<Promise<void>>();
  let trusted: string | undefined;
  let pool = openPool(address, trusted);
  const retire = (old: Pool): void => {
    // a pool's close only waits for its requests, and their failures are theirs
    const done = old.close().catch(() => undefined).finally(() => closing.delete(done));
    closing.add(done);
  };
  return {
    address,
    dispatch: (options, handler) => void pool.dispatch(options, handler),
    trust(authorities) {
      if (authorities === trusted) return;
      trusted = authorities;
      retire(pool);
      pool = openPool(address, authorities);
    },
    connections() {
      const { connected, free } = pool.stats;
      return { busy: connected - free, idle: free };
    },
    async close() {
      retire(pool);
      await Promise.all(closing);
    },
  };
}

function openPool({ origin }: BaseAddress, authorities: string | undefined): Pool {
  return new FleetPool(origin, {
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientTtl: CONNECTION_AGE_MS,
    headersTimeout: HEAD_MS,
    bodyTimeout: SILENCE_MS,
    connect: { timeout: CONNECT_MS, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS, ...authorities === undefined ? {} : { ca: authorities } },
  });
}
