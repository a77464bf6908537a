/** [P] Validates PriceCatalogs: a missing or repeated price would silently lead to wrong bills. */
import { pricesOf } from './catalog-prices.ts';
import { FaultCollector } from './faults.ts';
import type { SnapshotFault } from './faults.ts';
import { QuotaType } from './snapshot.gen.ts';
import type { ContextTier, Price, PriceCatalog, Rates } from './snapshot.gen.ts';

/** Adds every fault of all catalogs, including models that two of them price. */
export function validateCatalogs(faults: SnapshotFault[], catalogs: readonly PriceCatalog[]): void {
  const priced = new Set<string>();
  for (const catalog of catalogs) {
    const to = new FaultCollector(faults, 'PriceCatalog', catalog);
    to.expect(catalog.ratioBaseUsdE9 > 0n, 'ratio_base_usd_e9: must be above 0');
    for (const price of pricesOf(catalog)) {
      validatePrice(to, `models "${price.name}"`, price);
      to.expect(!priced.has(price.name), `models "${price.name}": priced twice`);
      priced.add(price.name);
    }
    for (const price of catalog.costs?.models ?? []) validatePrice(to, `costs "${price.name}"`, price);
  }
}

function validatePrice(to: FaultCollector, path: string, price: Price): void {
  to.expect(price.name !== '', 'models: a name is empty');
  to.expect(price.quotaType !== QuotaType.UNSPECIFIED, `${path}: quota_type: required`);
  to.expect(price.requestNanoUsd >= 0n, `${path}: request_nano_usd: must not be negative`);
  const { modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, cacheWrite1hRatioE9 = 0n } = price;
  const ratios = [modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, cacheWrite1hRatioE9];
  to.expect(
    ratios.every((ratio) => ratio >= 0n),
    `${path}: a ratio is negative`,
  );
  validateTable(to, path, price);
  const { webSearchNanoUsd = 0n, webFetchNanoUsd = 0n, fileSearchNanoUsd = 0n } = price.perUse ?? {};
  const uses = [webSearchNanoUsd, webFetchNanoUsd, fileSearchNanoUsd];
  to.expect(
    uses.every((nanoUsd) => nanoUsd >= 0n),
    `${path}: per_use: must not be negative`,
  );
  validateGenerations(to, path, price);
  for (const own of price.channelRates) {
    const at = `${path}: channel_rates "${own.channel}"`;
    const kinds = [own.usdPerMillion, own.requestNanoUsd].filter((kind) => kind !== undefined);
    to.expect(kinds.length === 1, `${at}: needs one kind of price`);
    to.expect((own.requestNanoUsd ?? 0n) >= 0n, `${at}: request_nano_usd: must not be negative`);
    validateTable(to, at, own);
  }
  for (const tier of price.serviceTiers) {
    const at = `${path}: service_tiers "${tier.name}"`;
    const { multiplierE9, usdPerMillion } = tier;
    to.expect((multiplierE9 === undefined) !== (usdPerMillion === undefined), `${at}: needs one kind of price`);
    validateTable(to, at, tier);
  }
}

function validateGenerations(to: FaultCollector, path: string, price: Price): void {
  const { perSecondNanoUsd = 0n, perMinuteNanoUsd = 0n, perMillionCharactersNanoUsd = 0n } = price;
  const bySize = [...price.perImage, ...price.perSecond].map(({ nanoUsd }) => nanoUsd);
  const generations = [perSecondNanoUsd, perMinuteNanoUsd, perMillionCharactersNanoUsd, ...bySize];
  to.expect(
    generations.every((nanoUsd) => nanoUsd >= 0n),
    `${path}: per_image, per_second, per_minute, per_million_characters: must not be negative`,
  );
}

function validateTable(
  to: FaultCollector,
  path: string,
  { usdPerMillion, contextTiers }: Pick<Price, 'usdPerMillion' | 'contextTiers'>,
): void {
  validateRates(to, path, usdPerMillion);
  for (const tier of contextTiers) {
    const at = `${path}: context_tiers ${tier.above}`;
    to.expect(tier.above > 0, `${at}: above: must be above 0`);
    to.expect(tier.usdPerMillion !== undefined || hasMultiplier(tier), `${at}: needs a price`);
    validateRates(to, at, tier.usdPerMillion);
  }
}

function hasMultiplier({ inputMultiplierE9, outputMultiplierE9 }: ContextTier): boolean {
  return (inputMultiplierE9 ?? outputMultiplierE9) !== undefined;
}

/** Requires the input's rate, from which absent classes are derived. */
function validateRates(to: FaultCollector, path: string, rates: Rates | undefined): void {
  to.expect(rates === undefined || rates.input !== undefined, `${path}: usd_per_million: input: required`);
}
