/** Fastify hooks that run before a request is checked against its schemas. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest, preValidationAsyncHookHandler, preValidationHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import { RequestRefused } from './describe-error.ts';
import { parseForm } from './form.ts';
import type { ReplyContext } from './reply.ts';
import { repeatedFields } from './request-schema.ts';
import type { Principal } from './session/authenticator.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** undefined: nobody is signed in, or `identify` has not run yet. */
    principal: Principal | undefined;
    /** Whether the person may see the gateway's routes; false until the request has checked. */
    seesPlatform: boolean;
    /** The posted CSRF token; empty until `readForm` has read it. */
    formToken: string;
  }
}

/** Refuses a form that another site sent. */
export const checkSite: preValidationAsyncHookHandler = async ({ headers }) => {
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

/** Reads the form, in which only fields that its schema declares as lists may come more than once. */
export function readForm(schema?: TSchema): preValidationAsyncHookHandler {
  const repeated = repeatedFields(schema);
  return async (request) => {
    const { fields, csrf } = parseForm(bodyOf(request), repeated);
    request.formToken = csrf;
    request.body = {
      ...Object.fromEntries(fields),
      ...Object.fromEntries(repeated.map((name) => [name, fields.getAll(name)])),
    };
  };
}

/** Refuses a form without the token of this session. */
export const checkFormToken: preValidationHookHandler = (request, reply, done) =>
  request.server.csrfProtection(request, reply, done);

/** The posted bytes, as the body parser leaves them. */
export function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : new Uint8Array();
}
