/**
 * [P] The path below which people reach the console, as in https://example.com/llm/console. Pages name one another from
 * the console's own root; the path comes before their addresses where a response leaves, and goes where a request comes.
 */

/** The attributes whose values lead somewhere, with an address of the console. Text has no quotes, so none matches. */
const ADDRESS = /(\s(?:href|src|action|formaction)=")(?=\/(?!\/))/g;

/** The path of the console's URL without a slash at the end; '' at the root of a host, and without a URL. */
export function basePathOf(consoleUrl: string | undefined): string {
  return consoleUrl === undefined ? '' : new URL(consoleUrl).pathname.replace(/\/+$/, '');
}

/** Markup whose addresses are below the path. */
export function withBasePath(markup: string, basePath: string): string {
  return basePath === '' ? markup : markup.replace(ADDRESS, `$1${basePath}`);
}

/** A request's URL as the console knows it, whether or not the proxy in front has removed the path. */
export function withoutBasePath(url: string, basePath: string): string {
  if (basePath === '' || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest.startsWith('/')) return rest;
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url;
}

/** The path of --console-url is that of a page, so that requests below it would have two meanings. */
export class BasePathTaken extends Error {
  override readonly name = 'BasePathTaken';
}

/** Throws BasePathTaken if a page has the path. */
export function assertFree(basePath: string, pages: readonly string[]): void {
  const first = firstOf(basePath);
  if (first !== '' && pages.some((path) => firstOf(path) === first))
    throw new BasePathTaken(`--console-url: the console cannot be below /${first}, because a page of it is called so.`);
}

function firstOf(path: string): string {
  return path.split('/')[1] ?? '';
}
