/**
 * [P] Selects the headers that cross the sidecar: all but those of the connection (RFC 9110, 7.6.1) and the app's
 * credentials, in the sender's order and spelling. The gateway decides which it forwards. Also detects requests of
 * foreign web pages.
 */
import { readSubprotocols } from '../server/subprotocols.ts';

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];
const NOT_TO_APP: ReadonlySet<string> = new Set(HOP_BY_HOP);
const NOT_TO_FLEET: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'host',
  'expect',
  // any credentials of the app: the sidecar's key replaces them
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
]);

/** May contain a credential. */
const SUBPROTOCOLS = 'sec-websocket-protocol';

/** Both lists alternate names and values: `rawHeaders` as from Node, the result as for undici. */
export function fleetRequestHeaders(rawHeaders: readonly string[], authorization: string): string[] {
  const ofConnection = namedByConnection(rawHeaders);
  const list = ['authorization', authorization];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const lower = name.toLowerCase();
    if (NOT_TO_FLEET.has(lower) || ofConnection.has(lower)) continue;
    const sent = lower === SUBPROTOCOLS ? readSubprotocols(value).protocols.join(', ') : value;
    if (sent !== '' || value === '') list.push(name, sent);
  }
  return list;
}

/** A response's headers as from undici: lower-case names, repeated headers as a list. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The response's headers for the app. @param mayHaveTrailers keeps the header that announces trailers */
export function appResponseHeaders(
  headers: AnswerHeaders,
  mayHaveTrailers: boolean,
): Record<string, string | string[]> {
  const { connection } = headers;
  const ofConnection = connection === undefined ? NO_OPTIONS : optionsOf(connection);
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || NOT_TO_APP.has(name) || ofConnection.has(name)) continue;
    kept[name] = typeof value === 'string' ? value : [...value];
  }
  const { trailer } = headers;
  if (mayHaveTrailers && trailer !== undefined)
    kept['trailer'] = typeof trailer === 'string' ? trailer : trailer.join(', ');
  return kept;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

function namedByConnection(rawHeaders: readonly string[]): ReadonlySet<string> {
  const isConnection = (name: string | undefined): boolean => name?.toLowerCase() === 'connection';
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && isConnection(rawHeaders[index - 1]));
  return values.length === 0 ? NO_OPTIONS : optionsOf(values);
}

function optionsOf(connection: string | readonly string[]): ReadonlySet<string> {
  const list = typeof connection === 'string' ? connection : connection.join(',');
  return new Set(
    list
      .toLowerCase()
      .split(',')
      .map((option) => option.trim()),
  );
}

/** The path and query of a request target; undefined if it has none, such as `*`. */
export function requestPath(target: string): string | undefined {
  if (target.startsWith('/')) return target;
  const [, path] = /^https?:\/\/[^/?#]*([/?][^#]*)?$/i.exec(target) ?? [];
  if (path === undefined) return /^https?:\/\//i.test(target) ? '/' : undefined;
  return path.startsWith('/') ? path : `/${path}`;
}
