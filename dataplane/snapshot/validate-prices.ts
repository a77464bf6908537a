/**
 * [P] What PriceCatalogs must hold: a price that is missing or there twice would bill wrongly without anybody noticing.
 */
import { FaultCollector } from './faults.ts';
import type { SnapshotFault } from './faults.ts';
import { QuotaType } from './snapshot.gen.ts';
import type { Price, PriceCatalog } from './snapshot.gen.ts';

/** Notes every fault of all catalogs, models that two of them price included. */
export function validateCatalogs(faults: SnapshotFault[], catalogs: readonly PriceCatalog[]): void {
  const priced = new Set<string>();
  for (const catalog of catalogs) {
    const to = new FaultCollector(faults, 'PriceCatalog', catalog);
    to.expect(catalog.ratioBaseUsdE9 > 0n, 'ratio_base_usd_e9: must be above 0');
    for (const price of catalog.models) {
      validatePrice(to, `models "${price.name}"`, price);
      to.expect(!priced.has(price.name), `models "${price.name}": priced twice`);
      priced.add(price.name);
    }
  }
}

function validatePrice(to: FaultCollector, path: string, price: Price): void {
  to.expect(price.name !== '', 'models: a name is empty');
  to.expect(price.quotaType !== QuotaType.UNSPECIFIED, `${path}: quota_type: required`);
  to.expect(price.requestNanoUsd >= 0n, `${path}: request_nano_usd: must not be negative`);
  const { modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, cacheWrite1hRatioE9 = 0n } = price;
  const ratios = [modelRatioE9, completionRatioE9, cacheRatioE9, cacheWriteRatioE9, cacheWrite1hRatioE9];
  to.expect(ratios.every((ratio) => ratio >= 0n), `${path}: a ratio is negative`);
}
