/**
 * [P] Decides which headers cross the gateway. Only the headers on a list pass to the provider, because others can
 * change a call's price or destination: those of every protocol, of the provider's own protocol, and of the channel's
 * `allow.headers`. All headers pass back to the client except those of the connection, of the gateway's own account
 * and of the provider's infrastructure.
 */

import { valueOfAccount } from '../sealing/account-value.ts';

/** As Node's HTTP server gives them: lower-case names, repeated headers joined or as a list. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'http2-settings',
];

/** Headers that pass whatever the protocol: content negotiation, SDKs, retries, traces, parts of a video's content. */
const OF_EVERY_PROTOCOL = [
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'x-stainless-*',
  'idempotency-key',
  'x-client-request-id',
  'traceparent',
  'tracestate',
  'range',
  'if-range',
];

/** Names and beginnings of names, in lower case. */
export interface HeaderAllowList {
  /** Without the headers that never pass. */
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/** Headers of every protocol and these, in lower case; a '*' at the end of a name stands for any rest. */
export function allowHeaders(patterns: readonly string[]): HeaderAllowList {
  const all = [...OF_EVERY_PROTOCOL, ...patterns];
  return {
    names: new Set(all.filter((pattern) => !pattern.endsWith('*') && !isKeptBack(pattern))),
    prefixes: all.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1)),
  };
}

/** Whether two lists allow the same headers; one in another order counts as different. */
export function sameHeaders(a: HeaderAllowList, b: HeaderAllowList): boolean {
  return [...a.names].join() === [...b.names].join() && a.prefixes.join() === b.prefixes.join();
}

const NOT_TO_PROVIDER: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  // credentials and identities: the gateway has its own
  'authorization',
  'cookie',
  'cookie2',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'openai-organization',
  'openai-project',
  // set by the gateway itself
  'accept-encoding',
  'content-encoding',
  'x-request-id',
  'request-id',
  // conditions on an answer that the gateway never caches
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  // the path that the request took, and a browser's page
  'forwarded',
  'via',
  'x-real-ip',
  'true-client-ip',
  'origin',
  'referer',
  'baggage',
]);
const NOT_TO_PROVIDER_PREFIXES =
  /^(?:proxy-|x-forwarded-|x-modelgateway-|x-envoy-|x-original-|cf-|sec-|access-control-)/;

const NOT_TO_CLIENT: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'content-encoding',
  'date',
  'set-cookie',
  'set-cookie2',
  'cookie',
  'www-authenticate',
  'proxy-authenticate',
  // echoes of the gateway's credential
  'authorization',
  'authentication-info',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  // instructions to a browser or to a proxy in front of the gateway, about the gateway's own origin
  'clear-site-data',
  'refresh',
  'service-worker-allowed',
  'x-accel-redirect',
  'x-sendfile',
  // replaced by the gateway's own request id and advice on retries
  'x-request-id',
  'request-id',
  'apim-request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  // the gateway's account at the provider
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  // the provider's infrastructure
  'server',
  'via',
  'alt-svc',
  'strict-transport-security',
  'x-powered-by',
  'x-served-by',
  'nel',
  'report-to',
  'server-timing',
  'location',
  'content-location',
  'link',
  'content-security-policy',
]);
/** The last three are limits of the gateway's account, not of the caller's key. */
const NOT_TO_CLIENT_PREFIXES =
  /^(?:proxy-|x-modelgateway-|x-envoy-|cf-|x-amz|access-control-|x-ratelimit-|anthropic-ratelimit-|ratelimit)/;

/** Headers by which a provider recognizes a request that it has seen: two accounts' values must not meet there. */
const OF_ACCOUNT = ['idempotency-key', 'x-client-request-id'] as const;

/** Where requests go, and who pays for them. */
export interface HeaderScope {
  readonly allowed: HeaderAllowList;
  /** "namespace/name" of the account. */
  readonly account: string;
}

/**
 * The client's headers that pass to a provider, as a new object. The target's credential and default headers are added
 * when the request is sent.
 */
export function requestHeaders(headers: IncomingHeaders, { allowed, account }: HeaderScope): Record<string, string> {
  const passed = passingHeaders(headers, allowed);
  for (const name of OF_ACCOUNT) {
    const value = passed[name];
    if (value !== undefined) passed[name] = valueOfAccount(account, value);
  }
  return passed;
}

function passingHeaders(headers: IncomingHeaders, allowed: HeaderAllowList): Record<string, string> {
  const key = callerKey(headers);
  return filterHeaders(headers, (name, value) => {
    if (!allowed.names.has(name) && !beginsAsAllowed(name, allowed)) return false;
    // a proxy or a mistake can copy the key into any header
    return key === undefined || !value.includes(key);
  });
}

function beginsAsAllowed(name: string, { prefixes }: HeaderAllowList): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix)) && !isKeptBack(name);
}

/** Whether a header never passes, whatever a channel allows. */
function isKeptBack(name: string): boolean {
  return NOT_TO_PROVIDER.has(name) || NOT_TO_PROVIDER_PREFIXES.test(name);
}

/** A shorter text may be part of a header by chance. */
const MIN_KEY_LENGTH = 20;

/** The key by which the caller authenticates to the gateway. */
function callerKey(headers: IncomingHeaders): string | undefined {
  const shown = headers['authorization'] ?? headers['x-api-key'] ?? headers['x-goog-api-key'];
  if (typeof shown !== 'string') return undefined;
  const key = shown.slice(shown.lastIndexOf(' ') + 1);
  return key.length >= MIN_KEY_LENGTH ? key : undefined;
}

/**
 * Size of all headers that pass back, in characters. Clients and proxies read heads of 8 or 16 KiB, and a client that
 * cannot read the head has paid for an answer that it does not get.
 */
const MAX_TO_CLIENT = 8 * 1024;
/** A header line's colon, space and line break. */
const LINE_OVERHEAD = 4;

/** The provider's headers that pass back to the client, as a new object. Headers beyond MAX_TO_CLIENT are left out. */
export function responseHeaders(headers: IncomingHeaders): Record<string, string> {
  const passed = filterHeaders(headers, (name) => !NOT_TO_CLIENT.has(name) && !NOT_TO_CLIENT_PREFIXES.test(name));
  let size = 0;
  for (const [name, value] of Object.entries(passed)) size += lineSize(name, value);
  return size <= MAX_TO_CLIENT ? passed : truncateHeaders(passed);
}

function lineSize(name: string, value: string): number {
  return name.length + value.length + LINE_OVERHEAD;
}

/** Keeps the headers that fit, the content type first: without it no client can read the body. */
function truncateHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = {};
  let left = MAX_TO_CLIENT;
  for (const name of ['content-type', ...Object.keys(headers)]) {
    const value = headers[name];
    if (value === undefined || Object.hasOwn(kept, name) || lineSize(name, value) > left) continue;
    kept[name] = value;
    left -= lineSize(name, value);
  }
  return kept;
}

function filterHeaders(
  headers: IncomingHeaders,
  passes: (name: string, value: string) => boolean,
): Record<string, string> {
  const ofConnection = connectionOptions(headers['connection']);
  const passed: Record<string, string> = {};
  for (const [name, values] of Object.entries(headers)) {
    if (values === undefined || ofConnection.has(name)) continue;
    const value = typeof values === 'string' ? values : values.join(', ');
    if (passes(name, value)) passed[name] = value;
  }
  return passed;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** Headers that the sender declares to be meant for this connection only (RFC 9110, 7.6.1). */
function connectionOptions(connection: string | readonly string[] | undefined): ReadonlySet<string> {
  if (connection === undefined) return NO_OPTIONS;
  const list = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(
    list
      .toLowerCase()
      .split(',')
      .map((option) => option.trim()),
  );
}
