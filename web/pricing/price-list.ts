/**
 * [P] The price page's data: models and groups with their ratios, and each group's price of each model. It is computed
 * from a snapshot; a proxy's State has this shape.
 */
import type { CompiledPrice, RateClass } from '#price/sheet.ts';
import type { TokenCounts } from '#price/tokens.ts';
import type { Dimensions } from './dimensions.ts';
import type { ModelFacts } from './model-facts.ts';

export type TokenClass = keyof TokenCounts;

/** Parts of the input or of the output that may have a price of their own. */
export type DetailClass = Exclude<RateClass, TokenClass>;

/** A price as a group pays it: what calls are billed by. */
export type PriceFigures = Omit<CompiledPrice, 'highest' | 'priced'>;

/** One model. Ratios are billionths. */
export interface PricingRow {
  readonly modelName: string;
  readonly vendor: string;
  readonly quotaType: 'Token' | 'Request';
  readonly ratioBaseE9: bigint;
  readonly modelRatioE9: bigint;
  readonly completionRatioE9: bigint;
  readonly cacheRatioE9: bigint;
  readonly cacheWriteRatioE9: bigint;
  /**
   * Which of them pages show as prices: ratios that the catalog states, and for a model that generates tokens also the
   * completion ratio and those of cache writes, whose defaults cost more than input.
   */
  readonly stated: {
    readonly output: boolean;
    readonly cache: boolean;
    readonly cacheWrite5m: boolean;
    readonly cacheWrite1h: boolean;
  };
  /** In 10^-10, so that the default (cacheWriteRatio x 1.6) is exact. */
  readonly cacheWrite1hRatioE10: bigint;
  readonly requestNanoUsd: bigint;
  /** The price at group ratio 1. */
  readonly figures: PriceFigures;
  /** The catalog states dollars: the ratios are rounded, and are not what is billed. */
  readonly isInDollars: boolean;
  readonly dimensions: Dimensions;
  /** Display names, sorted. */
  readonly enabledGroups: readonly string[];
  /** undefined: no route serves it. */
  readonly facts: ModelFacts | undefined;
}

export interface PricingGroup {
  readonly name: string;
  readonly displayName: string;
  readonly priceRatioE9: bigint;
  /** Not open to all namespaces: only who uses the group sees it. */
  readonly restricted: boolean;
  /** An Automatic group's members, in order of preference; undefined: the group is Direct. */
  readonly members: readonly PricingMember[] | undefined;
}

export interface PricingMember {
  readonly name: string;
  readonly displayName: string;
  /** The member's ratio times the Automatic group's, in 10^-18. */
  readonly priceRatioE18: bigint;
}

/** A model as one group offers it. */
export interface PricedOffer {
  readonly quotaType: 'Token' | 'Request' | undefined;
  /** Who may serve a call, and at what price; an Automatic group's members have prices of their own. */
  readonly tiers: readonly (readonly PricedCandidate[])[];
}

export interface PricedCandidate {
  /** The Direct group that serves the call. */
  readonly group: string;
  /** undefined: no price. */
  readonly price: PriceFigures | undefined;
}

export interface OfferingGroup {
  readonly name: string;
  readonly displayName: string;
  /** Offers by model. */
  readonly offers: ReadonlyMap<string, PricedOffer>;
}

export interface PriceList {
  readonly pricing: { readonly groups: readonly PricingGroup[]; readonly rows: readonly PricingRow[] };
  /** Groups by name. */
  readonly groups: ReadonlyMap<string, OfferingGroup>;
}

/**
 * The part that a caller may see: groups that are open to all namespaces, and its own. Other groups' names and
 * discounts are between the platform team and the tenants that it admits to them. `ownGroup`: its name, if it is
 * restricted.
 */
export function visibleTo({ pricing, groups }: PriceList, ownGroup: string | undefined): PriceList {
  const shown = pricing.groups.filter(({ name, restricted }) => !restricted || name === ownGroup);
  if (shown.length === pricing.groups.length) return { pricing, groups };
  const names = new Set(shown.map(({ name }) => name));
  const displayNames = new Set(shown.map(({ displayName }) => displayName));
  return {
    pricing: {
      groups: shown,
      rows: pricing.rows.map((row) => ({
        ...row,
        enabledGroups: row.enabledGroups.filter((displayName) => displayNames.has(displayName)),
      })),
    },
    groups: new Map([...groups].filter(([name]) => names.has(name))),
  };
}
