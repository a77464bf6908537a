/** Joins regular expressions that match one after the other, for patterns longer than a line. */
export function pattern(...parts: readonly RegExp[]): RegExp {
  return new RegExp(parts.map(({ source }) => source).join(''));
}
