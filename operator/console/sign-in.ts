/** Signing in and out: the only pages that need nobody to be signed in. */
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseForm } from './form.ts';
import { RequestRefused } from './faults.ts';
import { pathWithin, sendFault, sendPage } from './reply.ts';
import type { Desk } from './reply.ts';
import type { Attempts } from './session/attempts.ts';
import { isCsrfToken, isSameSite } from './session/csrf.ts';
import { signInView } from './views/sign-in.ts';
import type { SignInFacts } from './views/sign-in.ts';

/** Why somebody is sent to the sign-in page, by the word in its address. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['over', 'Your session is over. Sign in again to go on where you were.'],
  ['out', 'You are signed out.'],
  ['out-here', 'You are signed out in this browser. It could not be noted for good: a copy of the session’s cookie may still open the console elsewhere, for at most eight hours.'],
]);
const ENDED_BY_PROXY = 'The sign-in of this console is done by the proxy before it, which sent no token, or one that is not valid. Sign in there and come back.';

/** /sign-in and /sign-out. */
export function registerSignIn(app: FastifyInstance, desk: Desk, attempts: Attempts): void {
  const { deps, door } = desk;
  const facts = (request: FastifyRequest, next: string): SignInFacts => ({
    place: deps.access.place, next, notice: NOTICES.get(queryOf(request).get('why') ?? ''), fault: undefined, fromElsewhere: request.headers['sec-fetch-site'] === 'cross-site',
  });

  app.get('/sign-in', (request, reply) => {
    const next = pathWithin(queryOf(request).get('next') ?? '/keys');
    if (door.proxied) return sendFault({ desk, reply, visitor: undefined }, new RequestRefused(401, 'You are not signed in', { message: ENDED_BY_PROXY }));
    sendPage({ desk, reply, visitor: undefined }, { title: 'Sign in', active: undefined, body: signInView(facts(request, next)) });
  });

  app.post('/sign-in', async (request, reply) => {
    const { headers } = request;
    const address = addressOf(request);
    const to = { desk, reply, visitor: undefined };
    const nowMs = deps.nowMs();
    if (door.proxied) throw new RequestRefused(401, 'You are not signed in', { message: ENDED_BY_PROXY });
    assertSameSite(request);
    const waitSeconds = attempts.wait(address, nowMs);
    if (waitSeconds > 0) throw tooMany(waitSeconds);
    const { fields } = parseForm(bodyOf(request), []);
    const next = pathWithin(fields.get('next') ?? '/keys');
    const token = (fields.get('token') ?? '').trim().replace(/^Bearer +/i, '');
    const admitted = await door.admit(token, headers, nowMs);
    if (admitted) {
      attempts.succeeded(address);
      deps.log.info({ person: admitted.person.person.name, address }, 'signed in to the console');
      void reply.header('set-cookie', admitted.cookies).redirect(next, 303);
      return reply;
    }
    attempts.failed(address, nowMs);
    deps.log.warn({ address, requestId: request.id }, 'a sign-in to the console failed');
    sendPage(to, { title: 'Sign in', active: undefined, body: signInView({ ...facts(request, next), fault: faultOf(token, deps.access.place) }) }, 422);
    return reply;
  });

  app.post('/sign-out', async (request, reply) => {
    const nowMs = deps.nowMs();
    assertSameSite(request);
    const visitor = await door.identify(request.headers, nowMs);
    if (visitor && !isCsrfToken(parseForm(bodyOf(request), []).csrf, visitor.csrfSecret)) throw staleForm();
    const { cookies, problem } = await door.signOut(request.headers, nowMs);
    if (problem) deps.log.warn({ err: problem, requestId: request.id }, 'a sign-out of the console holds in this process only');
    void reply.header('set-cookie', cookies).redirect(`/sign-in?why=${problem ? 'out-here' : 'out'}`, 303);
    return reply;
  });
}

/**
 * Who tries, as whatever stands before the console says it last: otherwise one stranger would have everybody wait who comes through
 * the same ingress. It counts attempts and is logged; whoever reaches the port directly may make it up, and nothing else depends on it.
 */
function addressOf({ headers, ip }: FastifyRequest): string {
  const last = [headers['x-forwarded-for'] ?? ''].flat().join().split(',').at(-1)?.trim() ?? '';
  return isIP(last) === 0 ? ip : last;
}

/** @throws RequestRefused where another site sent a form. */
export function assertSameSite({ headers }: FastifyRequest): void {
  const secFetchSite = headers['sec-fetch-site'];
  if (isSameSite({ host: headers.host, origin: headers.origin, secFetchSite: Array.isArray(secFetchSite) ? secFetchSite.join() : secFetchSite })) return;
  throw new RequestRefused(403, 'This form came from another site', { message: 'Nothing was changed. Only pages of the console may change something; open it directly and try again.' });
}

/** The form is of another session, or of none. */
export function staleForm(): RequestRefused {
  return new RequestRefused(403, 'This form is not of your session', {
    message: 'Nothing was changed. You have signed in anew since the page was opened, or it is not the console’s. Open the page again and repeat the change.',
  });
}

/** The posted bytes, as the body parser leaves them. */
export function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}

/** The query as the browser wrote it. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split(/\?(.*)/s)[1] ?? '');
}

function faultOf(token: string, place: SignInFacts['place']): string {
  if (token === '') return 'Required.';
  if (/[^\x21-\x7e]/.test(token)) return 'A token has neither spaces nor letters beyond ASCII in it: copy it again, whole and alone.';
  return place === 'Kubernetes' ? 'The cluster does not know this token, or it has expired. Make a new one and copy it whole.' : 'This is not the admin token. Copy it whole from its file.';
}

function tooMany(seconds: number): RequestRefused {
  return new RequestRefused(429, 'Too many failed sign-ins', {
    message: `Too many tokens that are not valid came from your address. Try again in ${Math.ceil(seconds / 60)} min.`, headers: { 'retry-after': String(seconds) },
  });
}
