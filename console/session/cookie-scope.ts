/** Where the console's cookies belong: their names, paths and flags follow from how people reach it. */
import type { IncomingHttpHeaders } from 'node:http';
import { RequestRefused } from '../describe-error.ts';

/** Where a browser keeps a cookie of the console. */
export interface CookieScope {
  /** False: plain http to this machine. */
  readonly secure: boolean;
  /** Of the Host header; empty where it names none, and over https. */
  readonly port: string;
  /** The path below which people reach the console; '' at a host's root. */
  readonly basePath: string;
}

const LOOPBACK = /^(?:localhost|[a-z0-9-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** A cookie's name in a scope. Browsers require the path / of a cookie with the prefix __Host-. */
export function cookieName({ secure, port, basePath }: CookieScope, name: string): string {
  const prefix = secure ? (basePath === '' ? '__Host-' : '__Secure-') : '';
  const suffixes = [port, basePath.slice(1).replaceAll('/', '.')].filter((suffix) => suffix !== '');
  return [`${prefix}${name}`, ...suffixes].join('-');
}

/** The attributes of a cookie in a scope: no script and no other site gets it. */
export function cookieOptions({ secure, basePath }: CookieScope): {
  readonly path: string;
  readonly httpOnly: true;
  readonly sameSite: 'strict';
  readonly secure: boolean;
} {
  return { path: basePath === '' ? '/' : basePath, httpOnly: true, sameSite: 'strict', secure };
}

/** Where a request may have cookies of the console: to this machine, browsers send the secure ones over http, too. */
export function cookieScopes({ host }: IncomingHttpHeaders, basePath: string): CookieScope[] {
  const { name, port } = splitHost(host);
  const secure = { secure: true, port: '', basePath };
  return LOOPBACK.test(name) ? [secure, { secure: false, port, basePath }] : [secure];
}

/**
 * The scope of a new cookie. The page's origin tells whether it came over https, since a TLS-terminating proxy
 * forwards plain http. @throws RequestRefused over plain http from another machine.
 */
export function newCookieScope({ host, origin }: IncomingHttpHeaders, basePath: string): CookieScope {
  const { name, port } = splitHost(host);
  const scheme = origin !== undefined && URL.canParse(origin) ? new URL(origin).protocol : undefined;
  if (scheme === 'https:') return { secure: true, port: '', basePath };
  if (LOOPBACK.test(name)) return { secure: false, port, basePath };
  if (scheme === undefined) return { secure: true, port: '', basePath };
  throw new RequestRefused(403, 'Signing in needs https', {
    message:
      'Over plain http anybody on the way could read your token. Reach the console by https, or on this ' +
      'machine itself ' +
      '(http://localhost), for example with kubectl port-forward.',
  });
}

function splitHost(host = ''): { name: string; port: string } {
  const [, name = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return { name, port };
}
