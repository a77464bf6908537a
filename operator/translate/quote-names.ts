/** [P] Quotes lists of names in messages. */
import { compareText } from '#snapshot/sorted.ts';

const MAX_NAMES = 10;

/** Quotes and sorts names; a long list is cut, with the number of further names. */
export function quoteNames(names: Iterable<string>): string {
  const sorted = [...new Set(names)].sort(compareText);
  const shown = sorted
    .slice(0, MAX_NAMES)
    .map((name) => `"${name}"`)
    .join(', ');
  return sorted.length > MAX_NAMES ? `${shown} and ${sorted.length - MAX_NAMES} more` : shown;
}
