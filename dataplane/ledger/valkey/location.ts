/**
 * [P] Parses the URL of a ledger on Valkey: `valkey://user:password@host:port/0?…`, or `valkeys://` for TLS. `redis://`
 * and `rediss://` mean the same. Several hosts, or `cluster=true`, stand for a Valkey Cluster.
 */

export interface ValkeyLocation {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  readonly cluster: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** The path of a file with the password. Every new connection reads it, so that the password can be rotated. */
  readonly passwordFile: string | undefined;
  /** The path of the trusted CA certificates in PEM; undefined: Node's default CA certificates. */
  readonly caFile: string | undefined;
  readonly database: number;
  /** The prefix of every key. */
  readonly prefix: string;
  /** How many replicas must confirm an operation (WAIT) before the ledger acknowledges it. */
  readonly wait: number;
  /** Usage records kept per account; those of the last hour are always kept. */
  readonly records: number;
  /** How long a call waits for the server's reply before it is refused, in milliseconds. */
  readonly timeoutMs: number;
}

const DEFAULT_PORT = 6379;
const DEFAULT_RECORDS = 10_000;
const TIMEOUT_MS = { least: 50, most: 2_000, default: 200 } as const;
const SCHEME = /^(?:valkey|redis)(s?):\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/(\d*))?(?:\?(.*))?$/i;
const PARAMETERS = ['cluster', 'prefix', 'wait', 'records', 'timeout-ms', 'ca-file', 'password-file'];

export function isValkeyUrl(text: string): boolean {
  return /^(?:valkeys?|rediss?):/i.test(text);
}

/** Throws an Error whose message says what is wrong with the URL, without its password. */
export function parseValkeyUrl(text: string): ValkeyLocation {
  const match = SCHEME.exec(text);
  if (!match) throw new Error('It must be valkey://HOST:PORT or valkeys://USER:PASSWORD@HOST:PORT.');
  const [, tls, credentials, hostList = '', database, query] = match;
  const parameters = parseParameters(query);
  const hosts = hostList.split(',').map(parseHost);
  const cluster = hosts.length > 1 || parameters.get('cluster') === 'true';
  const location = {
    hosts,
    cluster,
    tls: tls !== '',
    ...parseCredentials(credentials),
    database: Number(database ?? 0),
    prefix: parameters.get('prefix') ?? 'mgw',
    passwordFile: parameters.get('password-file'),
    caFile: parameters.get('ca-file'),
    wait: parseCount(parameters, 'wait', 0),
    records: parseCount(parameters, 'records', DEFAULT_RECORDS),
    timeoutMs: parseTimeout(parameters),
  };
  if (cluster && location.database !== 0) throw new Error('A Valkey Cluster has only database 0.');
  if (!/^[\w.:-]{1,64}$/.test(location.prefix))
    throw new Error("The parameter prefix of the ledger's URL must be 1 to 64 letters, digits and . : _ -");
  return location;
}

function parseParameters(query = ''): ReadonlyMap<string, string> {
  const parameters = new Map(new URLSearchParams(query));
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw new Error(`The ledger's URL has an unknown parameter ${unknown}; it may have ${PARAMETERS.join(', ')}.`);
  return parameters;
}

function parseHost(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits ?? DEFAULT_PORT);
  if (host === undefined || port > 65_535)
    throw new Error("The ledger's URL needs a host, such as valkey://127.0.0.1:6379.");
  return { host, port };
}

function parseCredentials(text: string | undefined): Pick<ValkeyLocation, 'username' | 'password'> {
  if (text === undefined) return { username: undefined, password: undefined };
  const [username = '', ...rest] = text.split(':');
  const decoded = (part: string): string | undefined => (part === '' ? undefined : decodeURIComponent(part));
  return { username: decoded(username), password: decoded(rest.join(':')) };
}

function parseTimeout(parameters: ReadonlyMap<string, string>): number {
  const timeoutMs = parseCount(parameters, 'timeout-ms', TIMEOUT_MS.default);
  const { least, most } = TIMEOUT_MS;
  if (timeoutMs < least || timeoutMs > most)
    throw new Error(`The parameter timeout-ms of the ledger's URL must be ${least} to ${most} milliseconds.`);
  return timeoutMs;
}

function parseCount(parameters: ReadonlyMap<string, string>, name: string, otherwise: number): number {
  const text = parameters.get(name);
  if (text === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`The parameter ${name} of the ledger's URL must be a whole number.`);
  return Number(text);
}

/** The URL without user and password, for logs and error messages. */
export function describeLocation({ hosts, tls, database, cluster }: ValkeyLocation): string {
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  return `valkey${tls ? 's' : ''}://${list}${cluster ? ' (Cluster)' : `/${database}`}`;
}

/**
 * The shards of a Cluster divide these buckets among themselves. A single server has one bucket, so that one batch
 * carries all operations of a turn of the event loop.
 */
const CLUSTER_BUCKETS = 64;

/** The key prefix of each bucket, such as `{mgw0}:`, whose hash tag keeps the bucket in one hash slot. */
export function bucketBases({ prefix, cluster }: Pick<ValkeyLocation, 'prefix' | 'cluster'>): string[] {
  return Array.from({ length: cluster ? CLUSTER_BUCKETS : 1 }, (_, index) => `{${prefix}${index}}:`);
}

/** The index of the bucket of an account or of a concurrency slot: the FNV-1a hash of its id, modulo `buckets`. */
export function bucketOf(text: string, buckets: number): number {
  if (buckets === 1) return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % buckets;
}
