/**
 * The admin port of a process: liveness, readiness, metrics, and the configuration in force. Only operators and their
 * tools use it. It serves no secret and no hash, and serves the configuration only to the same machine or to people
 * with the right to read it.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { foreignPage } from '../foreign-page.ts';
import { listenOn } from '../listen.ts';

/** A condition that must hold before the process accepts calls, or an advisory one. */
export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  /** The page shows that the check fails, and the process stays ready: other replicas would fail it too. */
  readonly advisory?: true;
  /** Says why it is not ok. */
  readonly detail?: string;
}

export interface AdminSources {
  /** A registry of prom-client. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  readonly readiness: () => readonly ReadinessCheck[] | Promise<readonly ReadinessCheck[]>;
  /** Returns what /config_dump shows, by name and already without secrets. */
  readonly dump: () => unknown;
  /**
   * Whether the bearer of this token may read /config_dump from another machine. Absent: only loopback connections may,
   * such as those of `kubectl port-forward`.
   */
  readonly mayDump?: (token: string) => Promise<boolean>;
}

export interface Admin {
  /** Resolves with the port in use; rejects if it cannot listen. */
  listen(host: string, port: number): Promise<number>;
  /** Closes all connections; resolves also if it never listened. */
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Page = (request: IncomingMessage) => Answer | Promise<Answer>;

/**
 * Creates the server. If a source throws, the response is a 500 without the error's message, which might hold a secret.
 */
export function createAdmin(sources: AdminSources): Admin {
  const pages = pagesOf(sources);
  let ownHost = '';
  const server = createServer((request, response) => {
    answer(pages, request, ownHost)
      .catch(() => json(500, { error: 'internal error' }))
      .then(
        (page) => send(request, response, page),
        () => response.destroy(),
      );
  });
  return {
    listen(host, port) {
      ownHost = host;
      return listenOn(server, { host, port });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pagesOf({ metrics, readiness, dump, mayDump }: AdminSources): ReadonlyMap<string, Page> {
  return new Map<string, Page>([
    ['/healthz', () => json(200, { status: 'ok' })],
    ['/readyz', async () => readinessPage(await readiness())],
    [
      '/metrics',
      async () => ({
        status: 200,
        headers: { 'content-type': metrics.contentType },
        body: await metrics.metrics(),
      }),
    ],
    ['/config_dump', async (request) => (await dumpRefusal(request, mayDump)) ?? json(200, dump())],
  ]);
}

const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Why a request that reaches this machine by loopback may come from a web page in a browser here. An address as Host
 * passes, as probes and meshes send it: no DNS name can be rebound to it.
 */
function pageRefusal({ socket, headers }: IncomingMessage, ownHost: string): string | undefined {
  if (!LOOPBACK.test(socket.remoteAddress ?? '')) return undefined;
  const host = headers.host?.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1') ?? '';
  return foreignPage(headers, isIP(host) > 0 ? (headers.host ?? '').replace(/:\d+$/, '') : ownHost);
}

/**
 * Decides who may see the dump, which shows accounts and credit: this machine, and people with the right to read it.
 */
async function dumpRefusal(
  { socket, headers }: IncomingMessage,
  mayDump: AdminSources['mayDump'],
): Promise<Answer | undefined> {
  if (LOOPBACK.test(socket.remoteAddress ?? '')) return undefined;
  if (!mayDump) return json(403, { error: 'only connections from this machine may read it, such as port-forward' });
  const token = /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) {
    const headers = { 'www-authenticate': 'Bearer' };
    return { ...json(401, { error: 'a Kubernetes token is required: authorization: Bearer …' }), headers };
  }
  return (await mayDump(token))
    ? undefined
    : json(403, { error: 'the token is not valid, or RBAC does not let its bearer get the path /config_dump' });
}

function readinessPage(checks: readonly ReadinessCheck[]): Answer {
  const failed = checks.filter(({ ok }) => !ok);
  const degraded = told(failed.filter(({ advisory }) => advisory));
  const further = degraded.length > 0 ? { degraded } : {};
  const blocking = told(failed.filter(({ advisory }) => !advisory));
  if (blocking.length > 0) return json(503, { status: 'not ready', not_ready: blocking, ...further });
  const passed = checks.filter(({ ok }) => ok).map(({ name }) => name);
  return json(200, { status: 'ready', checks: passed, ...further });
}

function told(failed: readonly ReadinessCheck[]): { readonly name: string; readonly detail: string }[] {
  return failed.map(({ name, detail = '' }) => ({ name, detail }));
}

async function answer(pages: ReadonlyMap<string, Page>, request: IncomingMessage, ownHost: string): Promise<Answer> {
  const { url = '', method } = request;
  const foreign = pageRefusal(request, ownHost);
  if (foreign !== undefined) return json(403, { error: `the admin port serves no web pages: ${foreign}` });
  const [path = ''] = url.split('?');
  const page = pages.get(path);
  if (!page) return json(404, { error: 'not found', paths: [...pages.keys()] });
  if (method === 'GET' || method === 'HEAD') return page(request);
  return { ...json(405, { error: 'method not allowed' }), headers: { allow: 'GET, HEAD' } };
}

function send(request: IncomingMessage, response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Fields to leave out: with a hash, an attacker can guess a weak key offline. */
const HASH_FIELDS: ReadonlySet<string> = new Set(['sha256', 'keyHash']);

/** Answers with indented JSON: maps as objects, sets as lists, and bigints as decimal strings. */
function json(status: number, value: unknown): Answer {
  const body = JSON.stringify(
    value,
    (name, part: unknown) => {
      if (HASH_FIELDS.has(name)) return '[redacted]';
      if (typeof part === 'bigint') return part.toString();
      if (part instanceof Map) return Object.fromEntries(part);
      if (part instanceof Set) return [...part];
      return part;
    },
    2,
  );
  return { status, body };
}
