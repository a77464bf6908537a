/**
 * Connections to the fleet: one undici pool of HTTP/1.1 keep-alive connections without pipelining. Each connection is
 * replaced after some minutes, so that proxies that have joined the fleet get their share.
 */
import type { Duplex } from 'node:stream';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { parseBaseUrl } from '../upstream/address.ts';
import type { BaseAddress } from '../upstream/address.ts';

export interface FleetConnectionOptions {
  /** Such as https://model-gateway-tls.model-gateway.svc. */
  readonly url: string;
}

export interface FleetConnection {
  readonly address: BaseAddress;
  /** Reports everything to the handler, failures included. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Trusts only these certificate authorities (PEM) from now on; undefined: Node's own. Running requests continue. */
  trust(authorities: string | undefined): void;
  /** Counts a connection that was upgraded, and that the pool no longer knows, as busy until it is closed. */
  countUpgraded(socket: Duplex): void;
  connections(): { readonly busy: number; readonly idle: number };
  /** Resolves when the running requests have ended. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 5_000;
/** Shorter than the 72 seconds after which a proxy closes an idle connection. */
const KEEP_ALIVE_MS = 30_000;
const CONNECTION_TTL_MS = 5 * 60_000;
/** TCP keep-alive detects a peer that vanished without closing its connection. */
const TCP_KEEP_ALIVE_AFTER_MS = 15_000;
/** The longest timeout that a route may have; the fleet enforces the route's own. */
const RESPONSE_TIMEOUT_MS = 86_400_000;

/** Connects only with the first request. Throws TypeError if `url` is not an http or https URL. */
export function connectFleet({ url }: FleetConnectionOptions): FleetConnection {
  const address = parseBaseUrl(url);
  const closing = new Set<Promise<void>>();
  const upgraded = new Set<Duplex>();
  let trusted: string | undefined;
  let pool = openPool(address, trusted);
  const retire = (old: Pool): void => {
    // the pool waits for its requests, which report failures to their handlers
    const done = old
      .close()
      .catch(() => undefined)
      .finally(() => closing.delete(done));
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
    countUpgraded(socket) {
      upgraded.add(socket);
      socket.once('close', () => upgraded.delete(socket));
    },
    connections() {
      const { connected, free } = pool.stats;
      return { busy: connected - free + upgraded.size, idle: free };
    },
    async close() {
      retire(pool);
      await Promise.all(closing);
    },
  };
}

function openPool({ origin }: BaseAddress, authorities: string | undefined): Pool {
  return new Pool(origin, {
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientTtl: CONNECTION_TTL_MS,
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: RESPONSE_TIMEOUT_MS,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_AFTER_MS,
      ...(authorities === undefined ? {} : { ca: authorities }),
    },
  });
}
