/** [P] The path of a request's URL, and its query without the question mark; both as the client sent them. */
export function splitUrl(url: string): { readonly path: string; readonly query: string } {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return { path, query };
}
