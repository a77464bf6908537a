/**
 * The console's HTTP edge, on a port of its own: who asks, from where, and whether the form is theirs is settled here, in one
 * place, before any page's handler runs; what the handler answers gets its frame and headers here as well.
 */
import { hkdfSync, randomUUID } from 'node:crypto';
import fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import { AccessError } from './access/access.ts';
import { rememberHere } from './access/memory.ts';
import type { ConsoleMemory } from './access/memory.ts';
import { ASSET_ROOT, loadAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import { RequestRefused } from './faults.ts';
import { MOST_FORM_BYTES, parseForm } from './form.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { pathOf, sendAnswer, sendFault } from './reply.ts';
import type { Desk } from './reply.ts';
import type { ConsoleDeps, ConsoleRoute } from './route.ts';
import { REQUEST_LIMITS } from './request-limits.ts';
import { ROUTES } from './routes.ts';
import { countAttempts } from './session/attempts.ts';
import { csrfToken, isCsrfToken } from './session/csrf.ts';
import { openDoor } from './session/door.ts';
import type { ProxyHeader, Visitor } from './session/door.ts';
import { rememberPeople } from './session/people.ts';
import { SEALING_KEY_BYTES, createSealing } from './session/sealing.ts';
import { rememberSignedOut } from './session/signed-out.ts';
import type { ConsoleTls } from './tls.ts';
import { assertSameSite, bodyOf, queryOf, registerSignIn, staleForm } from './sign-in.ts';

export interface ConsoleOptions extends Omit<ConsoleDeps, 'memory'> {
  /** What all replicas remember together. Default: what this process does, for as long as it runs. */
  readonly memory?: ConsoleMemory;
  /** Of sealing, 32 random bytes each, the one in use first; the same for all replicas. */
  readonly sealingKeys: readonly Uint8Array[];
  /** The header in which an authenticating proxy hands on each person's token; undefined: people sign in here. */
  readonly proxyHeader?: ProxyHeader;
  /** Default: plain http, for whatever ends TLS before it. */
  readonly serverFactory?: ConsoleTls['serverFactory'];
  /** Default: routes.ts. */
  readonly routes?: readonly ConsoleRoute[];
  /** Default: read from their folders. */
  readonly assets?: Assets;
}

export interface ConsoleServer {
  readonly port: number;
  /** No new requests; resolves when the running ones have ended, at the latest after a few seconds. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 72_000;
const LONGEST_PARAM = 512;
const CLOSE_MS = 3_000;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const FORM = 'application/x-www-form-urlencoded';

/** Rejects where the port cannot be had. */
export async function startConsole(options: ConsoleOptions & { readonly listen: { readonly host: string; readonly port: number } }): Promise<ConsoleServer> {
  const app = buildConsole(options);
  await app.listen(options.listen);
  return {
    port: portOf(app),
    async close() {
      const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_MS);
      await app.close();
      clearTimeout(timer);
    },
  };
}

/** The server, not listening yet. */
export function buildConsole(options: ConsoleOptions): FastifyInstance {
  const { routes = ROUTES, assets = loadAssets(), memory = rememberHere(), sealingKeys, proxyHeader, access } = options;
  const sealing = createSealing(sealingKeys);
  const bindingKey = Buffer.from(hkdfSync('sha256', sealingKeys[0] ?? '', '', 'console binding', SEALING_KEY_BYTES));
  const door = openDoor({ people: rememberPeople(access), sealing, signedOut: rememberSignedOut(memory), bindingKey, proxyHeader });
  const desk: Desk = { deps: { ...options, memory }, assets, door };
  const { headersTimeout, requestTimeout, maxHeaderSize } = REQUEST_LIMITS;
  const app = fastify({
    logger: false,
    genReqId: () => `req_${randomUUID().replaceAll('-', '')}`,
    requestIdHeader: false,
    bodyLimit: MOST_FORM_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout,
    ...options.serverFactory ? { serverFactory: options.serverFactory } : { http: { headersTimeout, maxHeaderSize } },
    routerOptions: { maxParamLength: LONGEST_PARAM },
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildValidator: withoutSchemas, buildSerializer: withoutSchemas } },
    frameworkErrors: (error, request, reply) => {
      dress(request, reply);
      sendFault({ desk, reply, visitor: undefined }, error);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    dress(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendFramed(desk, { request, reply }, error));
  app.setNotFoundHandler((request, reply) => sendFramed(desk, { request, reply }, new RequestRefused(404, 'There is nothing here', { message: 'Check the address, or go on from the start page.' })));
  registerAssets(app, assets);
  registerSignIn(app, desk, countAttempts());
  for (const route of routes) app.route({ method: route.method, url: route.path, handler: (request, reply) => visit(desk, route, { request, reply }) });
  refuseOtherMethods(app, routes);
  return app;
}

/** No route has a schema; given nothing, fastify loads two compilers for them. */
function withoutSchemas(): never {
  throw new Error('a route has a schema');
}

function dress({ id }: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(SECURITY_HEADERS).header('x-request-id', id);
}

/** What went wrong before any page, with the frame of whoever is signed in. */
async function sendFramed(desk: Desk, { request, reply }: Exchange, error: unknown): Promise<FastifyReply> {
  const visitor = await desk.door.identify(request.headers, desk.deps.nowMs()).catch(() => undefined); // the page says the first fault
  sendFault({ desk, reply, visitor }, error);
  return reply;
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** One request of a page: who, from where, with which form; then its handler. Never rejects. */
async function visit(desk: Desk, route: ConsoleRoute, { request, reply }: Exchange): Promise<FastifyReply> {
  let visitor: Visitor | undefined;
  try {
    const nowMs = desk.deps.nowMs();
    if (route.method === 'POST') assertSameSite(request);
    visitor = await desk.door.identify(request.headers, nowMs);
    if (!visitor) return askToSignIn(desk, { request, reply }, nowMs);
    if (visitor.cookies.length > 0) void reply.header('set-cookie', visitor.cookies);
    const form = route.method === 'POST' ? checkedForm(request, route, visitor) : new URLSearchParams();
    const answer = await route.handle({
      deps: desk.deps, person: visitor.person, csrf: csrfToken(visitor.csrfSecret), path: pathOf(request.url), params: paramsOf(request), query: queryOf(request), form, nowMs, headOnly: request.method === 'HEAD',
    });
    await sendAnswer({ desk, reply, visitor }, answer);
  } catch (error) {
    if (error instanceof AccessError && error.fault === 'SignedOut') return askToSignIn(desk, { request, reply }, desk.deps.nowMs());
    sendFault({ desk, reply, visitor }, error);
  }
  return reply;
}

/** @throws RequestRefused */
function checkedForm(request: FastifyRequest, { repeated = [] }: ConsoleRoute, { csrfSecret }: Visitor): URLSearchParams {
  const { fields, csrf } = parseForm(bodyOf(request), repeated);
  if (!isCsrfToken(csrf, csrfSecret)) throw staleForm();
  return fields;
}

/** A page leads to the sign-in and back again; what a form would have changed is not kept, and a script is told plainly. */
function askToSignIn(desk: Desk, { request, reply }: Exchange, nowMs: number): FastifyReply {
  const cookies = desk.door.dismiss(request.headers, nowMs);
  void reply.removeHeader('set-cookie');
  if (cookies.length > 0) void reply.header('set-cookie', cookies);
  const isPage = request.method !== 'POST' && (request.headers['sec-fetch-dest'] ?? 'document') === 'document';
  if (isPage) return reply.redirect(`/sign-in?next=${encodeURIComponent(request.url)}${cookies.length > 0 ? '&why=over' : ''}`, 303);
  sendFault({ desk, reply, visitor: undefined }, new AccessError('SignedOut', request.method === 'POST' ? 'Nothing was changed. Sign in, open the page again and repeat the change.' : 'Sign in to go on.'));
  return reply;
}

function paramsOf({ params }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(Object.entries(params ?? {}).flatMap(([name, value]) => typeof value === 'string' ? [[name, value]] : []));
}

function registerAssets(app: FastifyInstance, assets: Assets): void {
  app.get(`${ASSET_ROOT}*`, (request, reply) => {
    const found = assets.find(pathOf(request.url));
    if (!found) return reply.callNotFound();
    const keep = found.exact ? 'public, max-age=31536000, immutable' : 'no-store';
    return reply.header('cache-control', keep).type(found.asset.contentType).send(found.asset.body);
  });
}

/** A known path with another method: 405 and what is possible. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly ConsoleRoute[]): void {
  const methods = new Map<string, Set<string>>([['/sign-in', new Set(['GET', 'POST'])], ['/sign-out', new Set(['POST'])], [`${ASSET_ROOT}*`, new Set(['GET'])]]);
  for (const { method, path } of routes) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [url, known] of methods) {
    const allow = [...known].flatMap((method) => method === 'GET' ? ['GET', 'HEAD'] : [method]).join(', ');
    app.route({
      method: METHODS.filter((method) => !known.has(method)), url,
      handler() { throw new RequestRefused(405, 'This is not possible here', { message: `Possible are: ${allow}.`, headers: { allow } }); },
    });
  }
}

function portOf(app: FastifyInstance): number {
  const address: AddressInfo | string | null = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
