/**
 * [P] The order in which a call tries its candidates: tier after tier. Within a tier a weighted shuffle gives each
 * candidate the first place in proportion to its weight, and the next place likewise among the rest.
 */

interface Weighted {
  readonly weight: number;
}

/**
 * Candidates in the order of one call.
 * @param random a number in [0, 1)
 */
export function orderCandidates<T extends Weighted>(
  tiers: readonly (readonly T[])[], random: () => number,
): readonly T[] {
  return tiers.flatMap((tier) => (tier.length === 1 ? tier : shuffle(tier, random)));
}

function shuffle<T extends Weighted>(tier: readonly T[], random: () => number): T[] {
  const left = [...tier];
  const shuffled: T[] = [];
  let total = left.reduce((sum, { weight }) => sum + weight, 0);
  while (left.length > 0) {
    const [picked] = left.splice(indexAt(left, random() * total), 1);
    if (!picked) break;
    total -= picked.weight;
    shuffled.push(picked);
  }
  return shuffled;
}

/** The index of the candidate whose share of the weights covers this point of [0, total). */
function indexAt(items: readonly Weighted[], point: number): number {
  let passed = 0;
  for (const [index, { weight }] of items.entries()) {
    passed += weight;
    if (point < passed) return index;
  }
  return items.length - 1;
}
