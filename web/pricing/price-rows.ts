/** [P] Builds the price list's rows and groups from the catalogs and from what groups offer. */
import { roundHalfUp } from '#price/exact.ts';
import { compareText } from '../compare-text.ts';
import { modelFacts } from './model-facts.ts';
import type { ModelFacts, ServedModel } from './model-facts.ts';
import type { Dimensions } from './dimensions.ts';
import type { PriceFigures, PricingGroup, PricingRow } from './price-list.ts';

/** A model's price as a catalog has it. Ratios are billionths. */
interface CatalogPrice extends Dimensions {
  readonly name: string;
  readonly vendor: string;
  readonly modelRatioE9: bigint;
  readonly completionRatioE9: bigint;
  readonly cacheRatioE9: bigint;
  readonly cacheWriteRatioE9: bigint;
  /** Undefined: 1.6 times cacheWriteRatio. */
  readonly cacheWrite1hRatioE9?: bigint | undefined;
  readonly requestNanoUsd: bigint;
  /** The catalog gives none; the ratio above is the default. */
  readonly cacheRatioDefaulted: boolean;
  readonly cacheWriteRatioDefaulted: boolean;
}

/** A model's price before any group's ratio. */
export interface ModelPrice {
  readonly price: CatalogPrice;
  readonly quotaType: 'Token' | 'Request';
  readonly ratioBaseE9: bigint;
  /** The price at group ratio 1. */
  readonly figures: PriceFigures;
}

/** What rows need to know of a group: the models that it offers. */
interface GroupModels {
  readonly displayName: string;
  readonly offers: ReadonlyMap<string, unknown>;
}

/** What the rows are made from. */
interface RowSources {
  readonly prices: Iterable<ModelPrice>;
  readonly groups: Iterable<GroupModels>;
  /** The models of all routes. */
  readonly served: Iterable<ServedModel & { readonly name: string }>;
}

/** Every priced model, by name; one that no group offers has no group. */
export function makePricingRows({ prices, groups, served }: RowSources): PricingRow[] {
  const enabled = displayNamesByModel(groups);
  const byName = Map.groupBy(served, ({ name }) => name);
  return [...prices]
    .map((entry) => {
      const routed = byName.get(entry.price.name);
      const groupNames = [...(enabled.get(entry.price.name) ?? [])].sort(compareText);
      return pricingRow(entry, groupNames, routed && modelFacts(routed));
    })
    .sort((a, b) => compareText(a.modelName, b.modelName));
}

/** A group as the configuration has it. */
interface ConfiguredGroup extends Omit<PricingGroup, 'members'> {
  /** Names of an Automatic group's members; undefined: it is Direct. */
  readonly memberNames: readonly string[] | undefined;
}

/** The groups that `isShown`, by display name. */
export function makePricingGroups(
  groups: readonly ConfiguredGroup[],
  isShown: (name: string) => boolean,
): PricingGroup[] {
  const byName = new Map(groups.map((group) => [group.name, group]));
  return groups
    .filter(({ name }) => isShown(name))
    .map(({ name, displayName, priceRatioE9, restricted, memberNames }) => ({
      name,
      displayName,
      priceRatioE9,
      restricted,
      members: memberNames?.flatMap((memberName) => {
        const member = byName.get(memberName);
        if (!member) return [];
        const priceRatioE18 = priceRatioE9 * member.priceRatioE9;
        return [{ name: memberName, displayName: member.displayName, priceRatioE18 }];
      }),
    }))
    .sort((a, b) => compareText(a.displayName, b.displayName) || compareText(a.name, b.name));
}

function displayNamesByModel(groups: Iterable<GroupModels>): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const { displayName, offers } of groups) {
    for (const model of offers.keys()) {
      const known = names.get(model);
      if (known) known.add(displayName);
      else names.set(model, new Set([displayName]));
    }
  }
  return names;
}

const E9 = 10n ** 9n;

/** An absolute price as ratios of $1, which are rounded where they have more than nine places. */
function asRatios(entry: ModelPrice): ModelPrice {
  const { usdPerMillion } = entry.price;
  if (!usdPerMillion) return entry;
  const { input = 0n, output, cacheRead, cacheWrite5m, cacheWrite1h } = usdPerMillion;
  const ratio = (rate: bigint | undefined, fallback: bigint): bigint =>
    rate === undefined || input === 0n ? fallback : roundHalfUp(rate * E9, input);
  return {
    ...entry,
    ratioBaseE9: E9,
    price: {
      ...entry.price,
      modelRatioE9: input,
      completionRatioE9: ratio(output, E9),
      cacheRatioE9: ratio(cacheRead, E9),
      cacheWriteRatioE9: ratio(cacheWrite5m, (E9 * 5n) / 4n),
      ...(cacheWrite1h !== undefined && { cacheWrite1hRatioE9: ratio(cacheWrite1h, 2n * E9) }),
    },
  };
}

function pricingRow(entry: ModelPrice, enabledGroups: readonly string[], facts: ModelFacts | undefined): PricingRow {
  const { price, quotaType, ratioBaseE9, figures } = asRatios(entry);
  const { usdPerMillion, contextTiers, serviceTiers, perUse, regions, perImage, perSecond, perSecondNanoUsd } = price;
  const { perMinuteNanoUsd, perMillionCharactersNanoUsd } = price;
  const { channelPrices = [], channelRates = [] } = price;
  const generatesTokens = facts === undefined || facts.endpoints.includes('Chat');
  return {
    modelName: price.name,
    vendor: price.vendor,
    quotaType,
    ratioBaseE9,
    modelRatioE9: price.modelRatioE9,
    completionRatioE9: price.completionRatioE9,
    cacheRatioE9: price.cacheRatioE9,
    cacheWriteRatioE9: price.cacheWriteRatioE9,
    cacheWrite1hRatioE10:
      price.cacheWrite1hRatioE9 === undefined ? price.cacheWriteRatioE9 * 16n : price.cacheWrite1hRatioE9 * 10n,
    stated: {
      output: generatesTokens,
      cache: !price.cacheRatioDefaulted,
      cacheWrite5m: generatesTokens || !price.cacheWriteRatioDefaulted,
      cacheWrite1h: generatesTokens || !price.cacheWriteRatioDefaulted || price.cacheWrite1hRatioE9 !== undefined,
    },
    requestNanoUsd: price.requestNanoUsd,
    figures,
    isInDollars: usdPerMillion !== undefined,
    dimensions: {
      usdPerMillion,
      contextTiers,
      serviceTiers,
      perUse,
      regions,
      perImage,
      perSecond,
      perSecondNanoUsd,
      perMinuteNanoUsd,
      perMillionCharactersNanoUsd,
      channelPrices,
      channelRates,
    },
    enabledGroups,
    facts,
  };
}
