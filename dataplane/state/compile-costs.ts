/** [P] Compiles what channels cost the platform, from the PriceCatalogs that they refer to. */
import type { PriceCatalog } from '#snapshot/snapshot.gen.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import { priceAt, priceEntry } from '#price/model-prices.ts';
import type { PriceEntry } from '#price/model-prices.ts';
import type { CompiledChannel } from './compile-routes.ts';

/** The cost of a model on a channel; undefined: unknown. */
export type CostOf = (channel: Pick<CompiledChannel, 'target' | 'cost'>, model: string) => CompiledPrice | undefined;

/** Compiles each cost when it is first asked for, because all groups share it. */
export function compileCosts(catalogs: readonly PriceCatalog[]): CostOf {
  const entries = new Map(
    catalogs.flatMap((catalog) => (catalog.costs ? [[catalog.name, entriesOf(catalog)] as const] : [])),
  );
  const compiled = new Map<string, CompiledPrice | undefined>();
  return ({ target, cost }, model) => {
    if (!cost) return undefined;
    const id = `${target.id}\n${model}`;
    if (!compiled.has(id)) {
      const entry = entries.get(cost.catalog)?.get(model);
      compiled.set(id, entry && priceAt(entry, cost.multiplierE9 * ONE_E9, target.id));
    }
    return compiled.get(id);
  };
}

function entriesOf(catalog: PriceCatalog): ReadonlyMap<string, PriceEntry> {
  return new Map((catalog.costs?.models ?? []).map((price) => [price.name, priceEntry(catalog, price)]));
}
