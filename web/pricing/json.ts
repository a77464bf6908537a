/**
 * [P] The price list for programs: `GET /pricing.json`. Decimals are strings, what does not apply is null.
 */
import { formatDecimal } from '../decimal.ts';
import { dimensionsJson, ratesJson } from './dimensions.ts';
import type { DimensionsJson, StatedRates } from './dimensions.ts';
import { generationUnit } from './dollars.ts';
import { modelFactsJson } from './model-facts.ts';
import type { ModelFactsJson } from './model-facts.ts';
import type { PriceList, PricingGroup, PricingRow } from './price-list.ts';

interface PricingJson {
  readonly object: 'list';
  readonly currency: 'USD';
  readonly groups: readonly PricingJsonGroup[];
  readonly data: readonly PricingJsonRow[];
}

interface PricingJsonGroup {
  readonly name: string;
  readonly display_name: string;
  readonly type: 'Direct' | 'Automatic';
  /** null: Automatic, whose members have ratios. */
  readonly price_ratio: string | null;
  /** In order of preference, at the ratios that calls through this group pay; null: Direct. */
  readonly members: readonly PricingJsonMember[] | null;
}

interface PricingJsonMember {
  readonly name: string;
  readonly display_name: string;
  readonly price_ratio: string;
}

interface PricingJsonRow extends FactsOrNull, DimensionsJson {
  readonly model_name: string;
  readonly vendor: string;
  readonly quota_type: 'Token-based' | 'Per-request';
  readonly ratio_base_usd: string | null;
  readonly model_ratio: string | null;
  readonly completion_ratio: string | null;
  readonly cache_ratio: string | null;
  readonly cache_write_ratio: string | null;
  readonly cache_write_1h_ratio: string | null;
  readonly request_usd: string | null;
  /** Some channels have other prices; what a group pays ranges over those that serve it. Absent: none has. */
  readonly varies_by_channel?: true;
  /** Display names. */
  readonly enabled_groups: readonly string[];
}

/** A model's facts; all null where no route serves the model. */
type FactsOrNull = { readonly [F in keyof ModelFactsJson]: ModelFactsJson[F] | null };

export const QUOTA_TYPE_NAMES = { Token: 'Token-based', Request: 'Per-request' } as const;

const NOT_SERVED: FactsOrNull = {
  endpoints: null,
  input_modalities: null,
  output_modalities: null,
  context_length: null,
  max_output_tokens: null,
};

/** The whole list, in the order of the state. */
export function pricingJson(pricing: PriceList['pricing']): PricingJson {
  return {
    object: 'list',
    currency: 'USD',
    groups: pricing.groups.map(jsonGroup),
    data: pricing.rows.map(jsonRow),
  };
}

function jsonGroup({ name, displayName, priceRatioE9, members }: PricingGroup): PricingJsonGroup {
  return {
    name,
    display_name: displayName,
    type: members ? 'Automatic' : 'Direct',
    price_ratio: members ? null : formatDecimal(priceRatioE9),
    members:
      members?.map((member) => ({
        name: member.name,
        display_name: member.displayName,
        price_ratio: formatE18(member.priceRatioE18),
      })) ?? null,
  };
}

/** A decimal of 10^-18, as the product of two ratios is. */
function formatE18(value: bigint): string {
  const fraction = String(value % 10n ** 18n)
    .padStart(18, '0')
    .replace(/0+$/, '');
  return `${value / 10n ** 18n}${fraction === '' ? '' : `.${fraction}`}`;
}

function jsonRow(row: PricingRow): PricingJsonRow {
  const perToken = row.quotaType === 'Token';
  const { stated } = row;
  // the ratios of a price in dollars are only for comparison
  const byRatio = perToken && !row.isInDollars;
  const ofToken = (billionths: bigint, isStated = true): string | null =>
    byRatio && isStated ? formatDecimal(billionths) : null;
  return {
    model_name: row.modelName,
    vendor: row.vendor,
    quota_type: QUOTA_TYPE_NAMES[row.quotaType],
    ratio_base_usd: ofToken(row.ratioBaseE9),
    model_ratio: ofToken(row.modelRatioE9),
    completion_ratio: ofToken(row.completionRatioE9, stated.output),
    cache_ratio: ofToken(row.cacheRatioE9, stated.cache),
    cache_write_ratio: ofToken(row.cacheWriteRatioE9, stated.cacheWrite5m),
    cache_write_1h_ratio: byRatio && stated.cacheWrite1h ? formatE10(row.cacheWrite1hRatioE10) : null,
    request_usd: perToken || generationUnit(row) !== 'request' ? null : formatDecimal(row.requestNanoUsd),
    ...dimensionsJson(row.dimensions),
    ...(perToken &&
      row.dimensions.usdPerMillion && { usd_per_million: dollarsJson(row, row.dimensions.usdPerMillion) }),
    ...(variesByChannel(row) && { varies_by_channel: true }),
    enabled_groups: row.enabledGroups,
    ...(row.facts ? modelFactsJson(row.facts) : NOT_SERVED),
  };
}

/** Dollars as the catalog states them; cache writes that it does not state have their defaults. */
function dollarsJson({ stated }: PricingRow, rates: StatedRates): Readonly<Record<string, string>> {
  const { input = 0n, cacheWrite5m } = rates;
  return {
    ...(stated.cacheWrite5m && { cache_write_5m: formatE18((input * E9 * 5n) / 4n) }),
    ...(stated.cacheWrite1h && {
      cache_write_1h: formatE18(cacheWrite5m === undefined ? input * E9 * 2n : (cacheWrite5m * E9 * 8n) / 5n),
    }),
    ...ratesJson(rates),
  };
}

const E9 = 10n ** 9n;

function variesByChannel({ dimensions: { channelPrices = [], channelRates = [] } }: PricingRow): boolean {
  return channelPrices.length > 0 || channelRates.length > 0;
}

/** A decimal of 10^-10, which the 1-hour ratio needs: 1.6 times a decimal of nine places has ten. */
export function formatE10(value: bigint): string {
  const lastDigit = value % 10n;
  const nine = value / 10n;
  if (lastDigit === 0n) return formatDecimal(nine);
  return `${formatDecimal(nine, 9)}${lastDigit}`;
}
