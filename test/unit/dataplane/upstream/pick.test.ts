import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { orderCandidates, rankCandidates } from '../../../../dataplane/upstream/pick.ts';

test('returns every candidate once, tier after tier', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat({ max: 1000 }), { maxLength: 6 }), { maxLength: 5 }),
      fc.nat(),
      (weights, seed) => {
        const tiers = weights.map((tier, tierIndex) => tier.map((weight, index) => ({ weight, tierIndex, index })));
        const ordered = [...orderCandidates(tiers, () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31)];
        assert.deepEqual(
          ordered.map(({ tierIndex }) => tierIndex),
          tiers.flat().map(({ tierIndex }) => tierIndex),
        );
        assert.equal(new Set(ordered).size, tiers.flat().length);
      },
    ),
  );
});

test('chooses the first in proportion to the weights, exactly, over evenly spread numbers', () => {
  const tier = [{ weight: 1 }, { weight: 3 }, { weight: 6 }];
  const firsts = tier.map(() => 0);
  for (let i = 0; i < 1000; i++) {
    const [first] = orderCandidates([tier], () => i / 1000);
    firsts[tier.indexOf(first!)]!++;
  }
  assert.deepEqual(firsts, [100, 300, 600]);
});

test('chooses the second in proportion among the rest', () => {
  const tier = [{ weight: 1 }, { weight: 3 }, { weight: 6 }];
  const seconds = tier.map(() => 0);
  for (let i = 0; i < 400; i++) {
    const numbers = [0.99, i / 400][Symbol.iterator]();
    const [, second] = orderCandidates([tier], () => numbers.next().value ?? 0);
    seconds[tier.indexOf(second!)]!++;
  }
  assert.deepEqual(seconds, [100, 300, 0]);
});

test('needs no random number for a single candidate', () => {
  const only = { weight: 5 };
  assert.deepEqual([...orderCandidates([[only], []], () => assert.fail('asked'))], [only]);
});

const TIER = [
  { id: 'a', weight: 1 },
  { id: 'b', weight: 3 },
  { id: 'c', weight: 6 },
];
const idOf = ({ id }: { id: string }): string => id;
const firstOf = (tier: typeof TIER, conversation: number): string | undefined =>
  rankCandidates(tier, `conversation ${conversation}`, idOf)[0]?.id;

test('keeps one order for a conversation, whatever the order of the candidates', () => {
  for (let conversation = 0; conversation < 50; conversation++) {
    const order = rankCandidates(TIER, `${conversation}`, idOf);
    assert.deepEqual(rankCandidates(TIER.toReversed(), `${conversation}`, idOf), order);
    assert.equal(new Set(order).size, 3);
  }
});

test('spreads conversations in proportion to the weights', () => {
  const counts: Record<string, number> = { a: 0, b: 0, c: 0 };
  for (let n = 0; n < 10_000; n++) counts[firstOf(TIER, n) ?? '']!++;
  // five standard deviations of a share of 0.6 are 245
  for (const { id, weight } of TIER) assert.ok(Math.abs(counts[id]! - weight * 1000) < 250, `${id}: ${counts[id]}`);
});

test('moves only the conversations of a removed candidate, and to a candidate with more weight', () => {
  const without = TIER.filter(({ id }) => id !== 'b');
  const heavier = TIER.map((candidate) => (candidate.id === 'a' ? { ...candidate, weight: 5 } : candidate));
  for (let n = 0; n < 1000; n++) {
    const first = firstOf(TIER, n);
    if (first !== 'b') assert.equal(firstOf(without, n), first);
    const then = firstOf(heavier, n);
    assert.ok(then === first || then === 'a');
  }
});
