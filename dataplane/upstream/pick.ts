/**
 * [P] In which order a call tries its candidates: tier after tier, and within a tier at random by weight, so that the first
 * choice falls on each in proportion to its weight, and the next one likewise among the rest.
 */

/**
 * Candidates in the order of one call.
 * @param random a number in [0, 1)
 */
export function orderCandidates<T extends { readonly weight: number }>(tiers: readonly (readonly T[])[], random: () => number): readonly T[] {
  const [first] = tiers;
  if (first && tiers.length === 1 && first.length === 1) return first;
  return tiers.flatMap((tier) => (tier.length === 1 ? tier : shuffle(tier, random)));
}

function shuffle<T extends { readonly weight: number }>(tier: readonly T[], random: () => number): T[] {
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

/** The index whose share of the weights holds this point of [0, total). */
function indexAt(items: readonly { readonly weight: number }[], point: number): number {
  let passed = 0;
  for (const [index, { weight }] of items.entries()) {
    passed += weight;
    if (point < passed) return index;
  }
  return items.length - 1;
}
