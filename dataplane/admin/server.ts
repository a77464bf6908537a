/**
 * The admin port of a process: liveness, readiness, metrics, and the configuration in force. It is for the people who
 * operate the process and for their tools only: it authenticates nobody and serves no secret.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOn } from '../listen.ts';

/** A condition that must hold before the process takes calls. */
export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  /** Says in words why it is not ok. */
  readonly detail?: string;
}

export interface AdminSources {
  /** A registry of prom-client. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  readonly readiness: () => readonly ReadinessCheck[] | Promise<readonly ReadinessCheck[]>;
  /** Returns what /config_dump shows, by name and already without secrets. */
  readonly dump: () => unknown;
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

type Page = () => Answer | Promise<Answer>;

/** Creates the server. A source that throws becomes a 500 without the error's message, which could hold anything. */
export function createAdmin(sources: AdminSources): Admin {
  const pages = pagesOf(sources);
  const server = createServer((request, response) => {
    answer(pages, request)
      .catch(() => json(500, { error: 'internal error' }))
      .then((page) => send(request, response, page), () => response.destroy());
  });
  return {
    listen: (host, port) => listenOn(server, { host, port }),
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

function pagesOf({ metrics, readiness, dump }: AdminSources): ReadonlyMap<string, Page> {
  return new Map<string, Page>([
    ['/healthz', () => json(200, { status: 'ok' })],
    ['/readyz', async () => readinessPage(await readiness())],
    ['/metrics', async () => ({
      status: 200, headers: { 'content-type': metrics.contentType }, body: await metrics.metrics(),
    })],
    ['/config_dump', () => json(200, dump())],
  ]);
}

function readinessPage(checks: readonly ReadinessCheck[]): Answer {
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length === 0) return json(200, { status: 'ready', checks: checks.map(({ name }) => name) });
  return json(503, { status: 'not ready', not_ready: failed.map(({ name, detail = '' }) => ({ name, detail })) });
}

async function answer(pages: ReadonlyMap<string, Page>, { url = '', method }: IncomingMessage): Promise<Answer> {
  const [path = ''] = url.split('?');
  const page = pages.get(path);
  if (!page) return json(404, { error: 'not found', paths: [...pages.keys()] });
  if (method === 'GET' || method === 'HEAD') return page();
  return { ...json(405, { error: 'method not allowed' }), headers: { allow: 'GET, HEAD' } };
}

function send(request: IncomingMessage, response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body), ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Answers with indented JSON: maps as objects, sets as lists, and bigints as decimal strings. */
function json(status: number, value: unknown): Answer {
  const body = JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'bigint') return part.toString();
    if (part instanceof Map) return Object.fromEntries(part);
    if (part instanceof Set) return [...part];
    return part;
  }, 2);
  return { status, body };
}
