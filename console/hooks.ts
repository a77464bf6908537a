/** Fastify hooks that run before a page's handler. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler, preHandlerHookHandler } from 'fastify';
import { RequestRefused } from './describe-error.ts';
import { parseForm } from './form.ts';
import type { PostedForm } from './form.ts';
import type { ReplyContext } from './reply.ts';
import type { Principal } from './session/authenticator.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** undefined: nobody is signed in, or `identify` has not run yet. */
    principal: Principal | undefined;
    /** Empty until `checkForm` has read it. */
    posted: PostedForm;
  }
}

/** Refuses a form that another site sent. */
export const checkSite: preHandlerAsyncHookHandler = async ({ headers }) => {
  if (isSameSite(headers)) return;
  throw new RequestRefused(403, 'This form came from another site', {
    message: 'Nothing was changed. Only pages of the console may change something; open it directly and try again.',
  });
};

/** Whether a page of this site sent the form. Browsers without Sec-Fetch-Site or Origin are refused. */
export function isSameSite({ host, origin, 'sec-fetch-site': fetchSite }: IncomingHttpHeaders): boolean {
  // pages cannot forge Sec-Fetch-Site, and it stays correct behind a proxy that changes the Host header
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Identifies the signed-in person, and stores them on the request. */
export async function identify(
  { authenticator }: ReplyContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Principal | undefined> {
  const principal = await authenticator.identify(request, reply);
  request.principal = principal;
  if (principal) request.session = request.server.createSecureSession({ csrfSecret: principal.csrfSecret });
  return principal;
}

/** Reads the form, in which only `repeated` fields may come more than once. */
export function readForm(repeated: readonly string[] = []): preHandlerAsyncHookHandler {
  return async (request) => {
    request.posted = parseForm(bodyOf(request), repeated);
  };
}

/** Refuses a form without the token of this session. */
export const checkFormToken: preHandlerHookHandler = (request, reply, done) =>
  request.server.csrfProtection(request, reply, done);

/** The posted bytes, as the body parser leaves them. */
export function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}

/** The query as the browser wrote it. */
export function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split(/\?(.*)/s)[1] ?? '');
}
