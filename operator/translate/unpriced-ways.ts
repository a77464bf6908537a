/** [P] What calls may ask for of a route's models and no price says, so that such calls are refused. */
import { pricesOf } from '#snapshot/catalog-prices.ts';
import { Allowance, Endpoint, QuotaType } from '#snapshot/snapshot.gen.ts';
import type { Model, Price, Snapshot } from '#snapshot/snapshot.gen.ts';

/** A model of a route, and the ways of calling it that are refused for lack of a price. */
export interface UnpricedWays {
  readonly route: string;
  readonly model: string;
  /** As the fields of a PriceCatalog name them. */
  readonly ways: readonly string[];
}

/** Chat models with a price; whatever a route's `allow` names passes without one. */
export function unpricedWays({ routes, catalogs }: Pick<Snapshot, 'routes' | 'catalogs'>): UnpricedWays[] {
  const prices = new Map(catalogs.flatMap(pricesOf).map((price) => [price.name, price]));
  return routes.flatMap(({ name: route, models }) =>
    models.flatMap((model) => {
      const price = prices.get(model.name);
      if (!price || !model.endpoints.includes(Endpoint.CHAT) || price.quotaType !== QuotaType.TOKEN) return [];
      const ways = waysWithoutPrice(price, model);
      return ways.length === 0 ? [] : [{ route, model: model.name, ways }];
    }),
  );
}

function waysWithoutPrice({ usdPerMillion, serviceTiers, perUse, regions }: Price, { allow }: Model): string[] {
  const tiers = new Set(serviceTiers.map(({ name }) => name));
  const lacks: readonly (readonly [way: string, isPriced: boolean, allowance?: Allowance])[] = [
    ...['priority', 'flex', 'fast'].map(
      (tier) => [`serviceTiers.${tier}`, tiers.has(tier), Allowance.SERVICE_TIERS] as const,
    ),
    ['regions', regions.length > 0, Allowance.SERVICE_TIERS],
    ['perUse.webSearchUsd', perUse?.webSearchNanoUsd !== undefined, Allowance.SERVER_TOOLS],
    ['perUse.webFetchUsd', perUse?.webFetchNanoUsd !== undefined, Allowance.SERVER_TOOLS],
    ['perUse.fileSearchUsd', perUse?.fileSearchNanoUsd !== undefined, Allowance.SERVER_TOOLS],
    ['usdPerMillion.audioInput', usdPerMillion?.audioInput !== undefined],
    ['usdPerMillion.audioOutput', usdPerMillion?.audioOutput !== undefined],
  ];
  return lacks
    .filter(([, isPriced, allowance]) => !isPriced && !(allowance && allow.includes(allowance)))
    .map(([way]) => way);
}
