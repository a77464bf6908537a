/**
 * [P] In which order a call tries its candidates: tier after tier, and within a tier at random by weight, so that the first
 * choice falls on each in proportion to its weight, and the next one likewise among the rest.
 */

/**
 * Candidates in the order of one call. Lazy: most calls take the first and stop.
 * @param random a number in [0, 1)
 */
export function* orderCandidates<T extends { readonly weight: number }>(tiers: readonly (readonly T[])[], random: () => number): Generator<T, void, undefined> {
  for (const tier of tiers) {
    if (tier.length === 1) yield* tier;
    else yield* shuffle(tier, random);
  }
}

function* shuffle<T extends { readonly weight: number }>(tier: readonly T[], random: () => number): Generator<T, void, undefined> {
  const left = [...tier];
  let total = left.reduce((sum, { weight }) => sum + weight, 0);
  while (left.length > 0) {
    const [picked] = left.splice(indexAt(left, random() * total), 1);
    if (!picked) return;
    total -= picked.weight;
    yield picked;
  }
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
