/**
 * [P] The order in which a call tries its candidates: tier after tier. Within a tier, candidates are ordered by weight:
 * each has the first place in proportion to its weight, and the next place likewise among the rest. The order is drawn
 * at random, or from the call's conversation: then all calls of the conversation have the same order, at every replica,
 * and a candidate that joins or leaves changes the first place of its own share of conversations only.
 */
import { hash } from 'node:crypto';

interface Weighted {
  readonly weight: number;
}

/**
 * Candidates in the order of one call, drawn at random.
 * @param random a number in [0, 1)
 */
export function orderCandidates<T extends Weighted>(
  tiers: readonly (readonly T[])[],
  random: () => number,
): readonly T[] {
  return tiers.flatMap((tier) => (tier.length === 1 ? tier : shuffle(tier, random)));
}

/**
 * Candidates of one tier in the order of a conversation, by weighted rendezvous hashing: each waits for an
 * exponentially distributed time at a rate of its weight, and the shortest wait is first.
 * @param idOf the candidate's id, which is the same at all replicas
 */
export function rankCandidates<T extends Weighted>(
  tier: readonly T[],
  conversation: string,
  idOf: (candidate: T) => string,
): readonly T[] {
  if (tier.length === 1) return tier;
  return tier
    .map((candidate) => ({ candidate, wait: -Math.log(uniform(conversation, idOf(candidate))) / candidate.weight }))
    .sort((a, b) => a.wait - b.wait)
    .map(({ candidate }) => candidate);
}

const BITS = 48;

/** A number in (0, 1), evenly distributed over conversations and ids. */
function uniform(conversation: string, id: string): number {
  const digest = hash('sha256', `${conversation}\n${id}`, 'buffer');
  return (digest.readUIntBE(0, BITS / 8) + 0.5) / 2 ** BITS;
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
