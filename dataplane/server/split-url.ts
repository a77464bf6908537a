/** [P] Splits a request's URL into its path and its query (without the question mark), and decodes neither. */
export function splitUrl(url: string): { readonly path: string; readonly query: string } {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return { path, query };
}
