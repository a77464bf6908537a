/** Reproducible random numbers: the same seed gives the same numbers (xorshift128, seeded by splitmix32). */

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** In [0, below). */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A source of its own, so that one case's consumption does not change the next case. */
  fork(): Random;
}

export function randomFrom(seed: number): Random {
  let mixed = seed >>> 0;
  const mix = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let [a, b, c, d] = [mix() || 1, mix(), mix(), mix()];
  const bits = (): number => {
    const t = (a ^ (a << 11)) >>> 0;
    [a, b, c] = [b, c, d];
    d = (d ^ (d >>> 19) ^ t ^ (t >>> 8)) >>> 0;
    return d;
  };
  const random: Random = {
    next: () => bits() / 2 ** 32,
    int: (below) => Math.floor((bits() / 2 ** 32) * below),
    chance: (probability) => bits() / 2 ** 32 < probability,
    pick(items) {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[random.int(items.length)] as (typeof items)[number];
    },
    fork: () => randomFrom(bits()),
  };
  return random;
}
