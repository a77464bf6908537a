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
/** As many names come again and again; which ones is up to clients and providers, so that no more are remembered. */
const MOST_NAMES = 500;
const LONGEST_NAME = 64;

/** Which names pass. The few that nearly all messages have are looked at once. */
class Gate {
  readonly #stopped: ReadonlySet<string>;
  readonly #stoppedPrefixes: RegExp;
  readonly #known = new Map<string, boolean>();

  constructor(stopped: ReadonlySet<string>, stoppedPrefixes: RegExp) {
    this.#stopped = stopped;
    this.#stoppedPrefixes = stoppedPrefixes;
  }

  passes(name: string): boolean {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const passes = !this.#stopped.has(name) && !this.#stoppedPrefixes.test(name);
    if (this.#known.size < MOST_NAMES && name.length <= LONGEST_NAME) this.#known.set(name, passes);
    return passes;
  }
}

/** By kind of provider, without what is meant for others. */
const TO_PROVIDERS = new Map<Provider, Gate>();

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
const TO_CLIENT = new Gate(NOT_TO_CLIENT, NOT_TO_CLIENT_PREFIXES);

/** The client's headers that travel on to a provider of this protocol. Credentials are added by credentials.ts. */
export function requestHeaders(headers: IncomingHeaders, protocol: ProviderKind): Record<string, string> {
  return pick(headers, gateTo(providerOf(protocol)), keyIn(headers));
}

/** Shorter texts may be in a header by chance. */
const LEAST_KEY = 20;

/** The caller's key: a copy of it in a header of any other name (a proxy's, a slip of the pen) is not the provider's to see either. */
function keyIn(headers: IncomingHeaders): string | undefined {
  const shown = headers['authorization'] ?? headers['x-api-key'];
  if (typeof shown !== 'string') return undefined;
  const key = shown.slice(shown.lastIndexOf(' ') + 1);
  return key.length >= LEAST_KEY ? key : undefined;
}

function gateTo(provider: Provider): Gate {
  let gate = TO_PROVIDERS.get(provider);
  if (!gate) TO_PROVIDERS.set(provider, gate = new Gate(NOT_TO_PROVIDER, new RegExp(`^(?:${[...NOT_TO_PROVIDER_PREFIXES, ...provider.foreignHeaders].join('|')})`)));
  return gate;
}

/**
 * Of names and values that travel back, in characters. Clients and the proxies before them read heads of some 8 or 16 KiB, and a client
 * that cannot read the head has paid for an answer that it does not get.
 */
const MOST_TO_CLIENT = 8 * 1024;
/** Of a line in a head: a colon, a space and the line's end. */
const AROUND = 4;

/** The provider's headers that travel back to the client: a new object; those that are too long, or too many, are left out. */
export function responseHeaders(headers: IncomingHeaders): Record<string, string> {
  const picked = pick(headers, TO_CLIENT);
  let size = 0;
  for (const name of Object.keys(picked)) size += sizeOf(picked, name);
  return size <= MOST_TO_CLIENT ? picked : fitting(picked);
}

function sizeOf(headers: Readonly<Record<string, string>>, name: string): number {
  return name.length + (headers[name]?.length ?? 0) + AROUND;
}

/** The answer's type first: without it nobody knows what the body is. */
function fitting(headers: Readonly<Record<string, string>>): Record<string, string> {
  const fit: Record<string, string> = {};
  let left = MOST_TO_CLIENT;
  for (const name of ['content-type', ...Object.keys(headers)]) {
    const text = headers[name];
    if (text === undefined || Object.hasOwn(fit, name) || sizeOf(headers, name) > left) continue;
    fit[name] = text;
    left -= sizeOf(headers, name);
  }
  return fit;
}

/** A new object, which the caller may add to. */
function pick(headers: IncomingHeaders, gate: Gate, secret?: string): Record<string, string> {
  const named = connectionOptions(headers['connection']);
  const picked: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || !gate.passes(name) || named?.has(name) === true) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    if (secret === undefined || !text.includes(secret)) picked[name] = text;
  }
  return picked;
}

/** Headers that the sender declares to be meant for this connection only (RFC 9110, 7.6.1). */
function connectionOptions(connection: string | readonly string[] | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const list = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(list.toLowerCase().split(',').map((option) => option.trim()));
}
