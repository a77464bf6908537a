/** [P] The price list of the gateway as it is now, computed from the operator's copy of the objects. */
import type { CompiledPrice } from '#price/sheet.ts';
import { hasOwnPrice } from '#snapshot/catalog-prices.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import { Endpoint, Input } from '#snapshot/snapshot.gen.ts';
import type { DirectAccess, Group, Model, ModelRoute, Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Endpoint as EndpointName, ServedModel } from '#web/pricing/model-facts.ts';
import type { OfferingGroup, PricedCandidate, PricedOffer, PriceList } from '#web/pricing/price-list.ts';
import { generationUnit } from '#web/pricing/dollars.ts';
import { makePricingGroups, makePricingRows } from '#web/pricing/price-rows.ts';
import type { ModelPrice } from '#web/pricing/price-rows.ts';
import { indexPrices, priceAt } from '#price/model-prices.ts';
import type { PriceEntry } from '#price/model-prices.ts';
import { withoutTenants } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import type { Translator } from '#objects/translator.ts';
import type { ConsoleDeps } from '../route.ts';

/** Computed once per console, and once per list. */
export const compilers = new WeakMap<ConsoleDeps, ReturnType<typeof createPriceLists>>();

/** The prices of all groups as they are now. */
export function priceListOf(deps: ConsoleDeps): PriceList {
  let compile = compilers.get(deps);
  if (!compile) compilers.set(deps, (compile = createPriceLists(deps)));
  return compile(deps.resources(), deps.nowMs());
}

/** Names of models whose videos are priced by the second: a call must say how many. */
export function modelsBySecond(deps: ConsoleDeps): string[] {
  return priceListOf(deps)
    .pricing.rows.filter((row) => generationUnit(row) === 'second')
    .map(({ modelName }) => modelName);
}

/** The price list of the resources. Returns the same object while the resources that prices come from are the same. */
export function createPriceLists({
  gatewayNamespace,
  translator,
}: {
  readonly gatewayNamespace: string;
  readonly translator: Translator;
}): (resources: Resources, nowMs: number) => PriceList {
  let last: { readonly sources: readonly unknown[]; readonly list: PriceList; readonly untilMs: number } | undefined;
  return (resources, nowMs) => {
    const { groups, modelRoutes, priceCatalogs, malformed, secrets } = resources;
    const sources = [groups, modelRoutes, priceCatalogs, malformed, secrets];
    const isSame = last !== undefined && sources.every((source, index) => source === last?.sources[index]);
    if (last && isSame && nowMs < last.untilMs) return last.list;
    const { snapshot, nextChangeMs: untilMs = Number.POSITIVE_INFINITY } = translator.translate(
      withoutTenants(resources),
      {
        gatewayNamespace,
        nowMs,
      },
    );
    const list = compilePriceList(snapshot);
    last = { sources, list, untilMs };
    return list;
  };
}

/** What a proxy would show for this snapshot. */
export function compilePriceList({
  groups,
  routes,
  catalogs,
}: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'>): PriceList {
  const prices = indexPrices(catalogs);
  const offering = offeringGroups(groups, new Map(routes.map((route) => [route.name, route])), prices);
  return {
    pricing: {
      rows: makePricingRows({
        prices: prices.values(),
        groups: offering.values(),
        served: routes.flatMap(({ models }) => models.map(servedModel)),
      }),
      groups: makePricingGroups(
        groups.map(({ name, displayName, priceRatioE9, restricted, access }) => ({
          name,
          displayName,
          priceRatioE9,
          restricted,
          memberNames: access?.$case === 'automatic' ? access.value.members : undefined,
        })),
        (name) => [...(offering.get(name)?.offers.keys() ?? [])].some((model) => prices.has(model)),
      ),
    },
    groups: offering,
  };
}

export const ENDPOINTS: Readonly<Partial<Record<Endpoint, EndpointName>>> = {
  [Endpoint.CHAT]: 'Chat',
  [Endpoint.EMBEDDINGS]: 'Embeddings',
  [Endpoint.IMAGES]: 'Images',
  [Endpoint.VIDEOS]: 'Videos',
  [Endpoint.SPEECH]: 'Speech',
  [Endpoint.TRANSCRIPTIONS]: 'Transcriptions',
  [Endpoint.REALTIME]: 'Realtime',
};

export function servedModel({
  name,
  endpoints,
  inputs,
  contextTokens,
  maxOutputTokens,
}: Model): ServedModel & { readonly name: string } {
  return {
    name,
    contextTokens,
    maxOutputTokens,
    acceptsImages: inputs.includes(Input.IMAGE),
    endpoints: endpoints.flatMap((endpoint) => ENDPOINTS[endpoint] ?? []),
  };
}

export type Prices = ReadonlyMap<string, PriceEntry>;

/**
 * A Direct group serves what its routes have; an Automatic one what its members do, at the member's ratio times its
 * own.
 */
export function offeringGroups(
  groups: readonly Group[],
  routes: ReadonlyMap<string, ModelRoute>,
  prices: Prices,
): Map<string, OfferingGroup> {
  const direct = new Map(
    groups.flatMap(({ name, access, priceRatioE9 }) =>
      access?.$case === 'direct' ? [[name, { priceRatioE9, models: servedModels(access.value, routes) }] as const] : [],
    ),
  );
  return new Map(
    groups.map(({ name, displayName, access, priceRatioE9 }) => {
      const members = access?.$case === 'automatic' ? access.value.members : [name];
      const ownRatioE9 = access?.$case === 'automatic' ? priceRatioE9 : ONE_E9;
      const offers = new Map<string, PricedCandidate[]>();
      for (const member of members) {
        const { priceRatioE9: ratioE9, models } = direct.get(member) ?? { priceRatioE9: 0n, models: NO_MODELS };
        for (const [model, channels] of models) {
          const candidates = pricesOn(prices.get(model), ratioE9 * ownRatioE9, channels).map(
            (price): PricedCandidate => ({ group: member, price }),
          );
          offers.set(model, [...(offers.get(model) ?? []), ...candidates]);
        }
      }
      return [
        name,
        {
          name,
          displayName,
          offers: new Map([...offers].map(([model, candidates]) => [model, offerOf(prices.get(model), candidates)])),
        },
      ];
    }),
  );
}

export function offerOf(price: ModelPrice | undefined, candidates: readonly PricedCandidate[]): PricedOffer {
  return { quotaType: price?.quotaType, tiers: [candidates] };
}

export type ServedModels = ReadonlyMap<string, readonly string[]>;

export const NO_MODELS: ServedModels = new Map<string, never>();

/** Models that at least one channel may serve, with these channels as "route/channel". */
export function servedModels({ routes: entries }: DirectAccess, routes: ReadonlyMap<string, ModelRoute>): ServedModels {
  const served = entries.flatMap(({ route: name, models, channels }) => {
    const route = routes.get(name);
    const usable = (route?.channels ?? [])
      .filter((channel) => channel.drained !== true && (!channels || channels.names.includes(channel.name)))
      .map((channel) => `${name}/${channel.name}`);
    const names = (route?.models ?? [])
      .map((model) => model.name)
      .filter((model) => !models || models.names.includes(model));
    return usable.length === 0 ? [] : names.map((model) => ({ model, usable }));
  });
  return new Map(
    [...Map.groupBy(served, ({ model }) => model)].map(([model, some]) => [
      model,
      some.flatMap(({ usable }) => usable),
    ]),
  );
}

/** The prices of a model at a group's ratio: of each channel with a price of its own, and of all others. */
export function pricesOn(
  entry: PriceEntry | undefined,
  groupRatioE18: bigint,
  channels: readonly string[],
): (CompiledPrice | undefined)[] {
  if (!entry) return [undefined];
  const own = [...new Set(channels)].filter((id) => hasOwnPrice(entry.price, id));
  const prices = own.map((id) => priceAt(entry, groupRatioE18, id));
  return channels.every((id) => own.includes(id)) ? prices : [priceAt(entry, groupRatioE18), ...prices];
}
