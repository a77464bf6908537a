/**
 * [P] Which headers cross the gateway. To the provider: everything that may matter to it (beta headers, tracing, unknown
 * ones), but nothing that belongs to the connection, to the client's credentials or to the way it came. Back to the client:
 * everything but what speaks of the connection, of the gateway's own account or of the provider's infrastructure.
 */

import type { Provider, ProviderKind } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';

/** What Node's HTTP server gives: lower-case names, repeated ones joined or as a list. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const HOP_BY_HOP = [
  'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'host',
  'content-length', 'http2-settings',
];

const NOT_TO_PROVIDER = new Set([
  ...HOP_BY_HOP,
  // credentials and identities: the gateway has its own
  'authorization', 'cookie', 'cookie2', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-auth-token', 'openai-organization', 'openai-project',
  // what the gateway says itself
  'accept-encoding', 'content-encoding', 'x-request-id', 'request-id',
  // conditions on an answer that the gateway never caches
  'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since',
  // the way the request came, and a browser's page
  'forwarded', 'via', 'x-real-ip', 'true-client-ip', 'origin', 'referer', 'baggage',
]);
const NOT_TO_PROVIDER_PREFIXES = ['proxy-', 'x-forwarded-', 'x-modelgateway-', 'x-envoy-', 'x-original-', 'cf-', 'sec-', 'access-control-'];
/** By kind of provider, with those that are meant for others. */
const PREFIXES = new Map<Provider, RegExp>();

const NOT_TO_CLIENT = new Set([
  ...HOP_BY_HOP, 'content-encoding', 'date', 'set-cookie', 'set-cookie2', 'www-authenticate', 'proxy-authenticate',
  // the gateway's request ids and its own advice on retries stand in their place
  'x-request-id', 'request-id', 'apim-request-id', 'retry-after', 'retry-after-ms', 'x-should-retry',
  // the gateway's account at the provider
  'openai-organization', 'openai-project', 'anthropic-organization-id',
  // the provider's infrastructure
  'server', 'via', 'alt-svc', 'strict-transport-security', 'x-powered-by', 'x-served-by', 'nel', 'report-to', 'server-timing',
  'location', 'content-location', 'link', 'content-security-policy',
]);
/** The last three: limits of the gateway's account, not of this key. */
const NOT_TO_CLIENT_PREFIXES = /^(?:proxy-|x-modelgateway-|x-envoy-|cf-|x-amz|access-control-|x-ratelimit-|anthropic-ratelimit-|ratelimit)/;

/** The client's headers that travel on to a provider of this protocol. Credentials are added by credentials.ts. */
export function requestHeaders(headers: IncomingHeaders, protocol: ProviderKind): Record<string, string> {
  return pick(headers, NOT_TO_PROVIDER, prefixesFor(providerOf(protocol)));
}

function prefixesFor(provider: Provider): RegExp {
  let prefixes = PREFIXES.get(provider);
  if (!prefixes) PREFIXES.set(provider, prefixes = new RegExp(`^(?:${[...NOT_TO_PROVIDER_PREFIXES, ...provider.foreignHeaders].join('|')})`));
  return prefixes;
}

/** The provider's headers that travel back to the client. */
export function responseHeaders(headers: IncomingHeaders): Record<string, string> {
  return pick(headers, NOT_TO_CLIENT, NOT_TO_CLIENT_PREFIXES);
}

/** A new object, which the caller may add to. */
function pick(headers: IncomingHeaders, kept: ReadonlySet<string>, keptPrefixes: RegExp): Record<string, string> {
  const named = connectionOptions(headers['connection']);
  const picked: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || kept.has(name) || keptPrefixes.test(name) || named?.has(name) === true) continue;
    picked[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return picked;
}

/** Headers that the sender declares to be meant for this connection only (RFC 9110, 7.6.1). */
function connectionOptions(connection: string | readonly string[] | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const list = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(list.toLowerCase().split(',').map((option) => option.trim()));
}
