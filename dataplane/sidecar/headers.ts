/**
 * [P] Which headers cross the sidecar: all but those of the connection (RFC 9110, 7.6.1) and the app's credentials, in the sender's
 * own order and spelling. The gateway decides what travels further.
 */

const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings']);
const NOT_TO_FLEET = new Set([
  ...OF_THE_CONNECTION, 'host', 'expect',
  // whatever the app took for its credential: the sidecar's takes its place
  'authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'cookie',
]);

/** The list as undici takes it: name, value, name, value. `rawHeaders` is Node's, of the same form. */
export function toFleet(rawHeaders: readonly string[], authorization: string): string[] {
  const named = namedByConnection(rawHeaders);
  const list = ['authorization', authorization];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const lower = name.toLowerCase();
    if (!NOT_TO_FLEET.has(lower) && !named.has(lower)) list.push(name, value);
  }
  return list;
}

/** An answer's headers as undici gives them: lower-case names, repeated ones as a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The answer's headers for the app. `mayTrail`: its answer will be chunked and not without a body, so that fields after the body
 * can be announced and sent.
 */
export function toApp(headers: AnswerHeaders, mayTrail: boolean): Record<string, string | string[]> {
  const { connection } = headers;
  const named = connection === undefined ? NOTHING : optionsOf(connection);
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || OF_THE_CONNECTION.has(name) || named.has(name)) continue;
    kept[name] = typeof value === 'string' ? value : [...value];
  }
  const { trailer } = headers;
  if (mayTrail && trailer !== undefined) kept['trailer'] = typeof trailer === 'string' ? trailer : trailer.join(', ');
  return kept;
}

const NOTHING: ReadonlySet<string> = new Set();

function namedByConnection(rawHeaders: readonly string[]): ReadonlySet<string> {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'connection');
  return values.length === 0 ? NOTHING : optionsOf(values);
}

function optionsOf(connection: string | readonly string[]): ReadonlySet<string> {
  return new Set((typeof connection === 'string' ? connection : connection.join(',')).toLowerCase().split(',').map((option) => option.trim()));
}

/** The path and query of a request target; undefined: it names no path here, such as `*`. */
export function pathOf(target: string): string | undefined {
  if (target.startsWith('/')) return target;
  const [, path] = /^https?:\/\/[^/?#]*([/?][^#]*)?$/i.exec(target) ?? [];
  if (path === undefined) return /^https?:\/\//i.test(target) ? '/' : undefined;
  return path.startsWith('/') ? path : `/${path}`;
}
