/** Named random numbers: the same seed and words give the same numbers, in whatever order they are drawn. */
import { createHash } from 'node:crypto';
import { randomFrom } from '../fuzz/random.ts';
import type { Random } from '../fuzz/random.ts';

export type Dice = Random;

export function diceOf(...words: readonly (string | number)[]): Dice {
  return randomFrom(createHash('sha256').update(words.join(' ')).digest().readUInt32LE());
}

/** Picks a name with a probability in proportion to its weight. */
export function weighted<T extends string>(dice: Dice, weights: Readonly<Record<T, number>>): T {
  const entries = Object.entries(weights) as [T, number][];
  let point = dice.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    point -= weight;
    if (point < 0) return name;
  }
  throw new RangeError('nothing to choose from');
}

/** A whole number from `least` to `most`. */
export function between(dice: Dice, least: number, most: number): number {
  return least + dice.int(most - least + 1);
}
