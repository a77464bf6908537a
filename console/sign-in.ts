/** Signing in and out: the only pages that need nobody to be signed in. */
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ConsoleAccess } from './access/access.ts';
import { RequestRefused } from './describe-error.ts';
import { checkSite, identify, readForm } from './hooks.ts';
import { textField } from './components/field.ts';
import { formActions, postForm } from './components/form.ts';
import { notice } from './components/notice.ts';
import { pathWithin, sendPage, sendRedirect } from './reply.ts';
import type { ReplyContext } from './reply.ts';
import { formText, queryText } from './request-schema.ts';
import { limitSignIns } from './session/sign-in-limit.ts';
import { homeOf } from './paths.ts';
import { dropLastChoice } from './session/last-choice.ts';

/** Why people are sent to the sign-in page, by the word in its address. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['over', 'Your session is over. Sign in again to continue.'],
  ['out', 'You are signed out.'],
  [
    'out-here',
    'You are signed out in this browser. This could not be stored: a copy of the session’s cookie ' +
      'may still open the console elsewhere, for at most eight hours.',
  ],
]);
const ENDED_BY_PROXY =
  'The proxy in front of this console signs people in. It sent no token, or one that is not ' +
  'valid. Sign in there and come back.';

const SIGN_IN_QUERY = Type.Object({ next: Type.Optional(Type.String()), why: queryText() });
const SIGN_IN_FORM = Type.Object({ next: formText(), token: formText() });

/** Adds /sign-in and /sign-out. */
export function registerSignIn(app: FastifyInstance, context: ReplyContext): void {
  registerSignInPage(app, context);
  registerSignOut(app, context);
}

function registerSignInPage(app: FastifyInstance, context: ReplyContext): void {
  const { deps, authenticator } = context;
  const limit = limitSignIns();
  const facts = (request: FastifyRequest, next: string, why = ''): SignInFacts => ({
    backend: deps.access.backend,
    takesKeys: deps.access.takesKeys ?? false,
    next,
    why: NOTICES.get(why),
    error: undefined,
    fromElsewhere: request.headers['sec-fetch-site'] === 'cross-site',
  });
  const refuseProxied = async (): Promise<void> => {
    if (authenticator.proxied) throw new RequestRefused(401, 'You are not signed in', { message: ENDED_BY_PROXY });
  };

  const checkLimit = async (request: FastifyRequest): Promise<void> => {
    const retryAfter = limit.retryAfter(addressOf(request), deps.nowMs());
    if (retryAfter > 0) throw tooMany(retryAfter);
  };

  app.get<{ Querystring: Static<typeof SIGN_IN_QUERY> }>(
    '/sign-in',
    { preValidation: refuseProxied, schema: { querystring: SIGN_IN_QUERY } },
    (request, reply) => {
      const { next = '/keys', why } = request.query;
      const body = signInView(facts(request, pathWithin(next), why));
      sendPage(context, { request, reply }, { title: 'Sign in', active: undefined, body });
    },
  );

  const post = {
    preValidation: [refuseProxied, checkSite, checkLimit, readForm(SIGN_IN_FORM)],
    schema: { body: SIGN_IN_FORM },
  };
  app.post<{ Body: Static<typeof SIGN_IN_FORM> }>('/sign-in', post, async (request, reply) => {
    const address = addressOf(request);
    const next = pathWithin(request.body.next ?? '/keys');
    const token = (request.body.token ?? '').trim().replace(/^Bearer +/i, '');
    const person = await authenticator.signIn(token, request, reply);
    if (person) {
      limit.succeeded(address);
      deps.log.info({ person: person.person.name, address }, 'signed in to the console');
      return sendRedirect(context, reply, next === '/keys' ? homeOf(person) : next);
    }
    limit.failed(address, deps.nowMs());
    deps.log.warn({ address, requestId: request.id }, 'a sign-in to the console failed');
    const body = signInView({ ...facts(request, next), error: signInError(token, deps.access) });
    sendPage(context, { request, reply }, { title: 'Sign in', active: undefined, body }, 422);
    return reply;
  });
}

function registerSignOut(app: FastifyInstance, context: ReplyContext): void {
  const { deps, authenticator } = context;
  app.post(
    '/sign-out',
    {
      preValidation: [
        checkSite,
        async (request, reply) => {
          await identify(context, request, reply);
        },
        readForm(),
        // people who are signed out already have no form token
        (request, reply, done) => (request.principal ? request.server.csrfProtection(request, reply, done) : done()),
      ],
    },
    async (request, reply) => {
      const problem = await authenticator.signOut(request, reply);
      dropLastChoice({ request, reply }, context.basePath);
      if (problem)
        deps.log.warn({ err: problem, requestId: request.id }, 'a sign-out of the console holds in this process only');
      return sendRedirect(context, reply, `/sign-in?why=${problem ? 'out-here' : 'out'}`);
    },
  );
}

/**
 * The client address for rate limiting and the log: of the connection, or as trusted proxies report it (createApp).
 */
function addressOf({ ip, socket }: FastifyRequest): string {
  return isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip;
}

function signInError(token: string, { backend, takesKeys = false }: ConsoleAccess): string {
  if (token === '') return 'Required.';
  if (/[^\x21-\x7e]/.test(token))
    return 'A token has no spaces and only ASCII characters: copy it again, all of it and nothing else.';
  if (takesKeys && token.startsWith('sk-'))
    return 'No key in force matches: this one may be incomplete, switched off, expired or rotated.';
  return backend === 'Kubernetes'
    ? 'The cluster does not know this token, or it has expired. Make a new one and copy it whole.'
    : 'This is not the admin token. Copy it whole from its file.';
}

function tooMany(seconds: number): RequestRefused {
  return new RequestRefused(429, 'Too many failed sign-ins', {
    message: `Too many tokens that are not valid came from your address. Try again in ${Math.ceil(seconds / 60)} min.`,
    headers: { 'retry-after': String(seconds) },
  });
}

interface SignInFacts {
  readonly backend: ConsoleAccess['backend'];
  /** An API key opens its own page. */
  readonly takesKeys: boolean;
  /** Where to go then; a path of the console. */
  readonly next: string;
  /** Why the page is shown; undefined: the person opened it themselves. */
  readonly why: string | undefined;
  /** What was wrong with the token that was tried last. */
  readonly error: string | undefined;
  /** A link led here from another site, so the browser did not say whether somebody is signed in. */
  readonly fromElsewhere: boolean;
}

interface SignInText {
  readonly lede: Html;
  readonly hint: Html;
  readonly label: string;
}

/** The content of <main>. */
function signInView({ backend, takesKeys, next, why, error, fromElsewhere }: SignInFacts): Html {
  const { lede, hint, label } = SIGN_IN_TEXTS[backend];
  return html`<h1>Sign in</h1>
    ${why === undefined ? NOTHING : notice(why, { role: 'status' })}${fromElsewhere ? goOn(next) : NOTHING}
    <p class="lede">${lede}</p>
    ${postForm(
      { action: '/sign-in', csrf: undefined, style: 'form section', hidden: { next } },
      html`<div class="field">${hint} ${takesKeys ? KEY_HINT : NOTHING}</div>
        ${textField({
          field: 'token',
          label: `${label}${takesKeys ? ' or API key' : ''}`,
          value: '',
          errors: error === undefined ? [] : [{ field: 'token', message: error }],
          attributes: TOKEN_INPUT,
          alert: true,
        })}
        ${formActions({ submit: 'Sign in' })}`,
    )}`;
}

const TOKEN_INPUT = html`type="password" autocomplete="off" autocapitalize="off" spellcheck="false" required autofocus`;

function goOn(next: string): Html {
  return notice(
    html`You followed a link from another site. If you are signed in already, <a href="${next}">go on to the page</a>.`,
  );
}

const KEY_HINT = html`<p class="hint">
  With an API key (<code>sk-…</code>) you see that key alone: what it may spend, what it has spent, its calls, its
  models and examples. It changes nothing.
</p>`;

const SIGN_IN_TEXTS: Readonly<Record<ConsoleAccess['backend'], SignInText>> = {
  Kubernetes: {
    lede: html`Sign in with a token of this cluster. The console does everything with it, so you see and change here
      exactly what you may see and change with <code>kubectl</code>.`,
    hint: html`<p class="hint">A token for a service account, good for eight hours:</p>
      <pre class="code"><code>kubectl create token NAME --namespace NAMESPACE --duration 8h</code></pre>`,
    label: 'Token',
  },
  Files: {
    lede: html`Enter the admin token of this gateway. It was printed when the gateway first started.`,
    hint: html`<p class="hint">It is kept in the data folder:</p>
      <pre class="code"><code>cat DATA-FOLDER/console/admin-token</code></pre>`,
    label: 'Admin token',
  },
};
