/** [P] Which forward proxies lead to providers and token services: those of the environment, or that of a channel. */

/** The forward proxies of connections. */
export interface ForwardProxies {
  /** For http and https addresses: URLs, which may hold a credential; empty: none. Without `https`, `http` is for both. */
  readonly http: string;
  readonly https: string;
  /** The hosts that are connected to directly, written as in NO_PROXY. */
  readonly except: string;
}

/** A variable of the environment does not name a forward proxy. The message never quotes it: it may hold a password. */
export class InvalidForwardProxy extends Error {
  override readonly name = 'InvalidForwardProxy';
}

/** How the error code begins where a forward proxy is at fault; its HTTP status or the error's own code follows. */
export const PROXY_ERROR = 'PROXY_';

/** Whether the error code of a failed connection says that a forward proxy is at fault. */
export function isForwardProxyError(code: string): boolean {
  return code.startsWith(PROXY_ERROR);
}

/**
 * The machine itself, and the metadata servers of clouds. A forward proxy would reach its own machine there, and lead
 * past the network policies of this one.
 */
const LOCAL =
  'localhost,127.0.0.1,[::1],metadata.google.internal,169.254.169.254,169.254.170.2,169.254.170.23,' +
  'fd00:ec2::254,fd00:ec2::23';

/** What HTTP_PROXY, HTTPS_PROXY and NO_PROXY say, in small or capital letters. Throws InvalidForwardProxy. */
export function readForwardProxies(env: Readonly<Record<string, string | undefined>>): ForwardProxies | undefined {
  const http = readUrl(env, 'HTTP_PROXY');
  const https = readUrl(env, 'HTTPS_PROXY');
  if (http === '' && https === '') return undefined;
  return { http, https, except: `${readVariable(env, 'NO_PROXY')},${LOCAL}` };
}

/** The forward proxy that a channel names. */
export function forwardProxyOf(url: string): ForwardProxies {
  return { http: url, https: url, except: LOCAL };
}

/** Where forward proxies are, without their credentials; empty: there is none. */
export function placesOf({ http, https, except }: ForwardProxies): Record<'http' | 'https' | 'except', string> {
  return { http: originOf(http), https: originOf(https), except };
}

function readUrl(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = readVariable(env, name);
  if (value === '' || isProxyUrl(value)) return value;
  throw new InvalidForwardProxy(`${name}: not the URL of a forward proxy, such as http://proxy.example.com:3128`);
}

function readVariable(env: Readonly<Record<string, string | undefined>>, name: string): string {
  return (env[name.toLowerCase()] ?? env[name] ?? '').trim();
}

function isProxyUrl(value: string): boolean {
  const url = URL.parse(value);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return false;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return false;
  try {
    for (const part of [url.username, url.password]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function originOf(url: string): string {
  return url === '' ? '' : new URL(url).origin;
}
