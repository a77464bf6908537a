/** [P] Suggests existing names that resemble a wrong reference. */
import { compareText } from '#snapshot/sorted.ts';
import { quoteNames } from './quote-names.ts';

const MAX_SUGGESTIONS = 3;

/** A sentence with the existing names nearest to `wrong`, with a leading space; empty if there are none. */
export function suggestNames(wrong: string, existing: Iterable<string>): string {
  const ranked = [...new Set(existing)]
    .map((name) => ({ name, distance: editDistance(wrong, name) }))
    .sort((a, b) => a.distance - b.distance || compareText(a.name, b.name));
  const tolerance = Math.max(1, Math.floor(wrong.length / 3));
  const similar = ranked.filter(({ distance }) => distance <= tolerance).slice(0, MAX_SUGGESTIONS);
  if (similar.length > 0) return ` Did you mean ${similar.map(({ name }) => `"${name}"`).join(' or ')}?`;
  if (ranked.length === 0) return '';
  const nearest = quoteNames(ranked.slice(0, MAX_SUGGESTIONS).map(({ name }) => name));
  const more = ranked.length - MAX_SUGGESTIONS;
  return more > 0 ? ` There are ${nearest} and ${more} more.` : ` There is ${nearest}.`;
}

/** Levenshtein's distance: how many insertions, deletions and substitutions turn one text into the other. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
