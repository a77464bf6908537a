/** [P] A lower bound of what a call of a key costs: less than this pays for none. */
import type { ApiKey } from '#crds/types.gen.ts';
import { eachGeneration } from '#web/pricing/dollars.ts';
import type { PriceFigures, PriceList } from '#web/pricing/price-list.ts';

/**
 * Nano-USD of one input token and the least output, or of one generation (a second of a video); undefined: the key can
 * call no model.
 */
export function cheapestCallNanoUsd({ groups }: PriceList, { spec }: ApiKey): bigint | undefined {
  const costs = [...groups.get(spec.groupRef.name)?.offers ?? []]
    .filter(([model]) => spec.models?.includes(model) ?? true)
    .flatMap(([, { tiers, quotaType }]) => tiers.flat().flatMap(({ price }) =>
      price === undefined || quotaType === undefined ? []
        : eachGeneration(price).map((each) => leastCost(each, spec.quota.minOutputTokens))));
  return costs.reduce<bigint | undefined>((least, cost) => least === undefined || cost < least ? cost : least,
    undefined);
}

function leastCost({ perToken, perGeneration, denominator }: PriceFigures, minOutputTokens: number): bigint {
  return (perToken.input + perToken.output * BigInt(minOutputTokens) + perGeneration) / denominator;
}
