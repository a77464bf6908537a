/**
 * [P] Pieces of the sentences that statuses say.
 */

const MOST_NAMES = 10;

/** Names in quotes, sorted; of many only the first ones and how many more there are. */
export function listNames(names: Iterable<string>): string {
  const sorted = [...new Set(names)].sort(compareText);
  const shown = sorted.slice(0, MOST_NAMES).map((name) => `"${name}"`).join(', ');
  return sorted.length > MOST_NAMES ? `${shown} and ${sorted.length - MOST_NAMES} more` : shown;
}

/** Order by code units, the same on every machine. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
