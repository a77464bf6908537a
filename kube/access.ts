/**
 * Access to the API server: address, certificates and credentials from a kubeconfig file or the pod's ServiceAccount.
 * client-node reads them, including exec plugins and rotated token files; undici makes the connections.
 */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, ProxyAgent } from 'undici';
import type { Dispatcher, buildConnector } from 'undici';

/** One API server with the operator's credential. */
export interface KubeAccess {
  /** Without a trailing slash. */
  readonly server: string;
  /** The pod's own namespace, or that of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** Returns connections and headers for one request, with the current credential. */
  open(): Promise<{ readonly dispatcher: Dispatcher; readonly headers: Readonly<Record<string, string>> }>;
  /** Reports that the credential was refused, so that it is read again before the next request. */
  refused(): void;
  close(): Promise<void>;
}

/** Access that can also use other people's tokens. */
export interface SharedAccess extends KubeAccess {
  /**
   * Access to the same server with another person's bearer token. It uses separate connections, because the operator's
   * client certificate would authenticate as the operator whatever token is sent. It is closed together with this one.
   */
  as(token: string): KubeAccess;
}

interface AccessOptions {
  /** A kubeconfig file; absent: kubectl's default, or in a pod its ServiceAccount. */
  readonly kubeconfig?: string;
  readonly nowMs: () => number;
}

/**
 * How often token files and client certificates are read again. Tokens are rotated long before they expire.
 */
const REFRESH_MS = 30_000;
const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * How much of a response, and of all responses of a connection, the API server may send before it is read. It cuts off
 * a watch that takes its events too slowly, and a run of the controller must not count as slow.
 */
const WINDOWS = { initialWindowSize: 2 * 1024 * 1024, connectionWindowSize: 8 * 1024 * 1024 };
/** The most connections for all people together. */
const PEOPLES_CONNECTIONS = 64;
/** The server that client-node returns if it finds no configuration. */
const NOTHING_FOUND = 'http://localhost:8080';

/** The API server or a credential cannot be found; the message says what to do. */
export class NoKubeAccess extends Error {
  override readonly name = 'NoKubeAccess';
}

/** Finds the API server. Throws NoKubeAccess if there is none. */
export function openAccess({ kubeconfig, nowMs }: AccessOptions): SharedAccess {
  const config = loadConfig(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (!cluster || cluster.server === NOTHING_FOUND)
    throw new NoKubeAccess(
      `No Kubernetes API server${kubeconfig === undefined ? '' : ` in ${kubeconfig}`}. In a pod, mount the ` +
        'token of the ServiceAccount; elsewhere, set a kubeconfig file with --kubeconfig or KUBECONFIG.',
    );
  const pool = openPool(cluster.proxyUrl);
  const peoples = openPool(cluster.proxyUrl, PEOPLES_CONNECTIONS);
  const server = cluster.server.replace(/\/+$/, '');
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  let current:
    | {
        readonly atMs: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly dispatcher: Dispatcher;
        readonly forPeople: Dispatcher;
      }
    | undefined;
  const open = async (): Promise<NonNullable<typeof current>> => {
    if (!current || nowMs() - current.atMs > REFRESH_MS) {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      const { ca, rejectUnauthorized, servername } = options;
      current = {
        atMs: nowMs(),
        headers: headersOf(options),
        dispatcher: pool.for(options),
        forPeople: peoples.for({ ca, rejectUnauthorized, servername }),
      };
    }
    return current;
  };
  return {
    server,
    namespace,
    open,
    as: (token) => ({
      server,
      namespace,
      open: async () => ({ dispatcher: (await open()).forPeople, headers: { authorization: `Bearer ${token}` } }),
      refused: () => undefined, // nothing to read again: the token is the person's
      close: async () => undefined,
    }),
    refused() {
      current = undefined;
    },
    async close() {
      await Promise.all([pool.close(), peoples.close()]);
    },
  };
}

function loadConfig(kubeconfig: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    const words = error instanceof Error ? error.message : 'it cannot be read';
    throw new NoKubeAccess(
      `The kubeconfig${kubeconfig === undefined ? '' : ` ${kubeconfig}`} cannot be used: ${words}`,
      { cause: error },
    );
  }
  return config;
}

/** Connections for one set of certificates. A new set replaces the old one, whose requests may finish. */
function openPool(
  proxyUrl: string | undefined,
  connections?: number,
): { for(options: RequestOptions): Dispatcher; close(): Promise<void> } {
  let known: { readonly print: string; readonly dispatcher: Agent | ProxyAgent } | undefined;
  const closing = new Set<Promise<void>>();
  return {
    for(options) {
      const tls = tlsOf(options);
      const print = JSON.stringify(tls); // JSON.stringify includes the bytes of Buffers
      if (known?.print === print) return known.dispatcher;
      if (known) closing.add(known.dispatcher.close());
      const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, timeout: CONNECT_TIMEOUT_MS };
      const bound = connections === undefined ? {} : { connections };
      const dispatcher =
        proxyUrl === undefined
          ? new Agent({ connect, ...WINDOWS, ...bound })
          : new ProxyAgent({ uri: proxyUrl, requestTls: connect, ...WINDOWS, ...bound });
      known = { print, dispatcher };
      return dispatcher;
    },
    async close() {
      await known?.dispatcher.destroy();
      await Promise.all(closing);
    },
  };
}

function tlsOf({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: RequestOptions): buildConnector.BuildOptions {
  const given = Object.entries({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername }).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return Object.fromEntries(given);
}

function headersOf({ headers, auth }: RequestOptions): Readonly<Record<string, string>> {
  const given = Array.isArray(headers) ? {} : (headers ?? {});
  const texts = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), String(value)] as const],
  );
  const basic = auth ? [['authorization', `Basic ${Buffer.from(auth).toString('base64')}`] as const] : [];
  return Object.fromEntries([...basic, ...texts]);
}
