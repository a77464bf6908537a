/**
 * The console's HTTP server, on a port of its own. Hooks authenticate the request and check its origin and form token
 * before the handler runs; the result gets its layout and headers here.
 */
import csrfProtection from '@fastify/csrf-protection';
import { hash, hkdfSync, randomUUID } from 'node:crypto';
import fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { countGenerations } from '#manifests/generations.ts';
import { createLoader } from '#manifests/load-folder.ts';
import { AccessError } from './access/access.ts';
import type { ConsoleAccess, PersonAccess } from './access/access.ts';
import { withKeyAccess } from './access/key-access.ts';
import type { KeyDirectory } from './access/key-access.ts';
import { localState } from './access/shared-state.ts';
import type { SharedState } from './access/shared-state.ts';
import { ASSET_ROOT, loadAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import { assertFree, basePathOf, withoutBasePath } from './base-path.ts';
import { compressAnswer } from './compress.ts';
import { RequestRefused } from './describe-error.ts';
import { createGatewayCaller } from './playground/gateway-caller.ts';
import { MAX_FORM_BYTES } from './form.ts';
import { REQUEST_LIMITS, SECURITY_HEADERS } from './http.ts';
import { checkFormToken, checkSite, identify, readForm } from './hooks.ts';
import { parseQuery } from './request-schema.ts';
import { registerSignIn } from './sign-in.ts';
import { pathOf, sendErrorPage, sendRedirect, sendResult } from './reply.ts';
import type { RequestAndReply, ReplyContext } from './reply.ts';
import { loadApiKindsSync } from '#crds/load.ts';
import type { ConsoleDeps, ConsoleRoute } from './route.ts';
import { ROUTES } from './routes.ts';
import { createAuthenticator } from './session/authenticator.ts';
import type { ProxyHeader } from './session/authenticator.ts';
import { readLastChoice } from './session/last-choice.ts';
import { shareRevocations } from './session/revocations.ts';
import { SESSION_KEY_BYTES, registerSessions } from './session/session-cookies.ts';
import type { ConsoleTls } from './tls.ts';

export interface ConsoleOptions extends Omit<ConsoleDeps, 'state' | 'schemas' | 'loadManifests' | 'nextTurn'> {
  /** All keys: their holders sign in with them. undefined: nobody does. */
  readonly keys?: KeyDirectory;
  /** What all replicas share. Default: this process's own state, for as long as it runs. */
  readonly state?: SharedState;
  /** Seal sessions, 32 random bytes each, the same for all replicas: the first seals, all of them open. */
  readonly sealingKeys: readonly Uint8Array[];
  /** The header in which an authenticating proxy passes each person's token; undefined: people sign in here. */
  readonly proxyHeader?: ProxyHeader;
  /** Addresses and CIDR ranges of proxies whose X-Forwarded-For counts. Default: none's. */
  readonly trustedProxies?: readonly string[];
  /** Where people open the console. A path counts: every link, redirect and cookie is then below it. */
  readonly consoleUrl?: string | undefined;
  /** Default: plain http, for whatever ends TLS before it. */
  readonly serverFactory?: ConsoleTls['serverFactory'];
  /** Default: routes.ts. */
  readonly routes?: readonly ConsoleRoute[];
  /** Default: read from their folders. */
  readonly assets?: Assets;
}

export interface ConsoleServer {
  readonly port: number;
  /** Takes no new requests; resolves when the running ones have ended, at the latest after a few seconds. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 72_000;
const MAX_PARAM_LENGTH = 512;
const CLOSE_TIMEOUT_MS = 3_000;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const FORM = 'application/x-www-form-urlencoded';

interface ListenOptions {
  readonly listen: { readonly host: string; readonly port: number };
}

/** Rejects where it cannot listen on the port. */
export async function startConsole(options: ConsoleOptions & ListenOptions): Promise<ConsoleServer> {
  const app = buildConsole(options);
  await app.listen(options.listen);
  return {
    port: portOf(app),
    async close() {
      const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
      await app.close();
      clearTimeout(timer);
    },
  };
}

/** The server, not listening yet. @throws RangeError for a sealing key of another length, BasePathTaken. */
export function buildConsole(options: ConsoleOptions): FastifyInstance {
  const { routes = ROUTES, assets = loadAssets(), state = localState() } = options;
  const { sealingKeys, proxyHeader, nowMs } = options;
  const access = accessOf(options);
  const formKey = Buffer.from(hkdfSync('sha256', sealingKeys[0] ?? '', '', 'console binding', SESSION_KEY_BYTES));
  const revocations = shareRevocations(state);
  const basePath = basePathOf(options.consoleUrl);
  assertFree(basePath, [...routes.map(({ path }) => path), ASSET_ROOT, '/sign-in', '/sign-out']);
  const authenticator = createAuthenticator({ access, revocations, formKey, proxyHeader, basePath, nowMs });
  const callGateway = options.gatewayUrl === undefined ? undefined : createGatewayCaller(options.gatewayUrl);
  const schemas = loadApiKindsSync();
  const loadManifests: ConsoleDeps['loadManifests'] = (text) =>
    createLoader(
      { kinds: schemas, defaultNamespace: options.gatewayNamespace },
      countGenerations(0),
    )([{ path: '', text }]);
  const deps = { ...options, access, state, callGateway, schemas, loadManifests, nextTurn: () => nextTurn() };
  const context: ReplyContext = { deps, assets, authenticator, basePath };
  const app = createApp(options, context);
  registerSessions(app, sealingKeys);
  void app.register(csrfProtection, {
    sessionPlugin: '@fastify/secure-session',
    sessionKey: 'csrfSecret',
    getToken: ({ formToken }) => formToken,
  });
  app.decorateRequest('principal', undefined).decorateRequest('formToken', '').decorateRequest('seesPlatform', false);
  app.addHook('onRequest', async (request, reply) => {
    secure(request, reply);
  });
  app.addHook('onSend', compressAnswer);
  app.setErrorHandler((error, request, reply) => sendError(context, { request, reply }, error));
  app.setNotFoundHandler((request, reply) => sendError(context, { request, reply }, nothingHere()));
  registerAssets(app, assets);
  registerSignIn(app, context);
  for (const route of routes) registerPage(app, context, route);
  refuseOtherMethods(app, routes);
  return app;
}

/** Behind a proxy, only the proxy signs people in. */
function accessOf({
  access,
  keys,
  proxyHeader,
  keyHashOf = sha256,
  gatewayNamespace,
  nowMs,
}: ConsoleOptions): ConsoleAccess {
  if (!keys || proxyHeader !== undefined) return access;
  return withKeyAccess(access, { keys, keyHashOf, gatewayNamespace, nowMs });
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

function createApp(options: ConsoleOptions, context: ReplyContext): FastifyInstance {
  const { headersTimeout, requestTimeout, maxHeaderSize } = REQUEST_LIMITS;
  const app = fastify({
    logger: false,
    rewriteUrl: ({ url = '/' }) => withoutBasePath(url, context.basePath),
    // request.ip is then the last address of X-Forwarded-For that is not such a proxy's
    trustProxy: options.trustedProxies ? [...options.trustedProxies] : false,
    genReqId: () => `req_${randomUUID().replaceAll('-', '')}`,
    requestIdHeader: false,
    bodyLimit: MAX_FORM_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout,
    ...(options.serverFactory ? { serverFactory: options.serverFactory } : { http: { headersTimeout, maxHeaderSize } }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, querystringParser: parseQuery },
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      secure(request, reply);
      sendErrorPage(context, { request, reply }, error);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return app;
}

function nothingHere(): RequestRefused {
  return new RequestRefused(404, 'There is nothing here', {
    message: 'Check the address, or go on from the start page.',
  });
}

function secure({ id }: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(SECURITY_HEADERS).header('x-request-id', id);
}

/** One page: a form's site, the person, the form's token, the route's schemas, then the handler. */
function registerPage(app: FastifyInstance, context: ReplyContext, route: ConsoleRoute): void {
  const { method, path, params, query, form, handle } = route;
  const signedIn = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    (await identify(context, request, reply)) ? undefined : askToSignIn(context, { request, reply });
  app.route({
    method,
    url: path,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(form && { body: form }),
    },
    preValidation: method === 'POST' ? [checkSite, signedIn, readForm(form), checkFormToken] : signedIn,
    async handler(request, reply) {
      const { principal } = request;
      if (!principal) return askToSignIn(context, { request, reply });
      const { name } = principal.person.person;
      const answer = await handle({
        deps: context.deps,
        person: principal.person,
        csrf: reply.generateCsrf(),
        path: pathOf(request.url),
        params: params ? request.params : {},
        query: query ? request.query : {},
        form: form ? request.body : {},
        nowMs: context.deps.nowMs(),
        headOnly: request.method === 'HEAD',
        ownKeyText: principal.ownKeyText,
        lastChoice: () => readLastChoice(request, { person: name, basePath: context.basePath }),
        gone: goneSignal(reply),
      });
      if ('page' in answer) request.seesPlatform = await seesPlatform(principal.person, context);
      await sendResult(context, { request, reply }, answer);
      return reply;
    },
  });
}

/** Decides what the navigation offers; a page is shown without it too. */
async function seesPlatform(person: PersonAccess, { deps }: ReplyContext): Promise<boolean> {
  if (person.ownKey) return false;
  try {
    return await person.may('list', 'ModelRoute', { namespace: deps.gatewayNamespace });
  } catch (error) {
    if (error instanceof AccessError) return false;
    throw error;
  }
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Writes the error page, with the navigation if somebody is signed in. */
async function sendError(
  context: ReplyContext,
  { request, reply }: RequestAndReply,
  error: unknown,
): Promise<FastifyReply> {
  if (error instanceof AccessError && error.reason === 'SignedOut') return askToSignIn(context, { request, reply });
  // a failure here must not replace the first error
  if (!request.principal) await identify(context, request, reply).catch(() => undefined);
  sendErrorPage(context, { request, reply }, error);
  return reply;
}

/** Redirects a page to the sign-in page and back. Forms and scripts get an error, because their content is not kept. */
function askToSignIn(context: ReplyContext, { request, reply }: RequestAndReply): FastifyReply {
  const over = context.authenticator.clear(request, reply);
  request.principal = undefined;
  const isPage = request.method !== 'POST' && (request.headers['sec-fetch-dest'] ?? 'document') === 'document';
  if (isPage)
    return sendRedirect(context, reply, `/sign-in?next=${encodeURIComponent(request.url)}${over ? '&why=over' : ''}`);
  const isForm = request.method === 'POST';
  const message = isForm
    ? 'Nothing was changed. Sign in, open the page again and repeat the change.'
    : 'Sign in to go on.';
  sendErrorPage(context, { request, reply }, new AccessError('SignedOut', message));
  return reply;
}

function registerAssets(app: FastifyInstance, assets: Assets): void {
  app.get(`${ASSET_ROOT}*`, (request, reply) => {
    const found = assets.find(pathOf(request.url));
    if (!found) return reply.callNotFound();
    const cacheControl = found.exact ? 'public, max-age=31536000, immutable' : 'no-store';
    return reply.header('cache-control', cacheControl).type(found.asset.contentType).send(found.asset.body);
  });
}

/** A known path with another method: 405, and the methods that it has. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly ConsoleRoute[]): void {
  const methods = new Map<string, Set<string>>([
    ['/sign-in', new Set(['GET', 'POST'])],
    ['/sign-out', new Set(['POST'])],
    [`${ASSET_ROOT}*`, new Set(['GET'])],
  ]);
  for (const { method, path } of routes) methods.set(path, (methods.get(path) ?? new Set()).add(method));
  for (const [url, known] of methods) {
    const allow = [...known].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    app.route({
      method: METHODS.filter((method) => !known.has(method)),
      url,
      handler() {
        throw new RequestRefused(405, 'This is not possible here', {
          message: `Allowed here: ${allow}.`,
          headers: { allow },
        });
      },
    });
  }
}

function portOf(app: FastifyInstance): number {
  const address: AddressInfo | string | null = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
