/** What an order of images or videos costs at the prices of the fuzzers' scene, whoever reads it. */
import type { Order } from './greedy.ts';
import { CHEAP_SIZE, GENERATED } from './scene.ts';

/** In nano-USD; 0: its price has neither sizes nor seconds. */
export function dueOf({ models, ...order }: Order): bigint {
  const dues = models.map((model) => dueAt(GENERATED.get(model), order));
  return dues.reduce((most, due) => (due > most ? due : most), 0n);
}

function dueAt(price: ReturnType<(typeof GENERATED)['get']>, { count, seconds, sizes }: Omit<Order, 'models'>): bigint {
  if (!price) return 0n;
  const units = BigInt(count);
  if ('secondNanoUsd' in price) return units * BigInt(Math.ceil(seconds)) * price.secondNanoUsd;
  const isCheap = sizes.length > 0 && sizes.every((size) => size === CHEAP_SIZE);
  return units * (isCheap ? price.cheapNanoUsd : price.otherNanoUsd);
}
