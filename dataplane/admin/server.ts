/**
 * The admin port of a process: is it alive, is it ready, its metrics, and the configuration that it works with. For operators
 * and their tools only: nothing here is authenticated, and nothing here holds a secret.
 */
import { fastify } from 'fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** One thing that must hold before the process takes calls. */
export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  /** In words, where it is not ok. */
  readonly detail?: string;
}

export interface AdminSources {
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
  readonly readiness: () => readonly ReadinessCheck[] | Promise<readonly ReadinessCheck[]>;
  /** What /config_dump shows, by name; already without secrets. */
  readonly dump: () => unknown;
}

export interface Admin {
  /** Resolves with the port in use. */
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export function createAdmin(sources: AdminSources): Admin {
  const app = fastify({ logger: false, forceCloseConnections: true });
  const paths = addRoutes(app, sources);
  app.setNotFoundHandler((request, reply) => answerUnknown(paths, request, reply));
  // an error's words could hold anything; they are for the log of whoever threw it
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    return reply.code(status).send({ error: status < 500 ? 'bad request' : 'internal error' });
  });
  return {
    async listen(host, port) {
      await app.listen({ host, port });
      const [address] = app.addresses();
      return typeof address === 'object' ? address.port : port;
    },
    close: () => app.close(),
  };
}

function addRoutes(app: FastifyInstance, { metrics, readiness, dump }: AdminSources): ReadonlySet<string> {
  app.get('/healthz', (_request, reply) => reply.send({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const checks = await readiness();
    const failed = checks.filter(({ ok }) => !ok);
    if (failed.length > 0) return reply.code(503).send({ status: 'not ready', not_ready: failed.map(({ name, detail = '' }) => ({ name, detail })) });
    return reply.send({ status: 'ready', checks: checks.map(({ name }) => name) });
  });
  app.get('/metrics', async (_request, reply) => reply.header('content-type', metrics.contentType).send(await metrics.render()));
  app.get('/config_dump', (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(dumpJson(dump())));
  return new Set(['/healthz', '/readyz', '/metrics', '/config_dump']);
}

function answerUnknown(paths: ReadonlySet<string>, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path = ''] = request.url.split('?');
  if (paths.has(path)) return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'method not allowed' });
  return reply.code(404).send({ error: 'not found', paths: [...paths] });
}

/** Indented JSON, with maps as objects, sets as lists and integers of 64 bits as decimal strings. */
function dumpJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part === 'bigint') return part.toString();
    if (part instanceof Map) return Object.fromEntries(part);
    if (part instanceof Set) return [...part];
    return part;
  }, 2);
}
