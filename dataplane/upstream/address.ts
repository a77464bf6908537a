/**
 * [P] Base URLs as each protocol's own SDK takes them: OpenAI's with /v1, Anthropic's without. A base URL may have a
 * path (a proxy's prefix), a slash at its end, and a query (an API version).
 */

export interface BaseAddress {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path without a slash at the end; '' at the root. */
  readonly prefix: string;
  /** Without the question mark; '' where there is none. */
  readonly query: string;
}

/** Throws TypeError where it is not an http or https URL. validate has refused those before. */
export function parseBaseUrl(baseUrl: string): BaseAddress {
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError('not an http or https URL');
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, ''), query: url.search.slice(1) };
}

/** The request target of a path below a base URL: prefix and path, then the path's query and the base's. */
export function joinPath({ prefix, query }: BaseAddress, path: string): string {
  const joined = prefix + path;
  if (query === '') return joined;
  return `${joined}${path.includes('?') ? '&' : '?'}${query}`;
}
