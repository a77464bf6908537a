/**
 * [P] PriceCatalog → exact prices, except for models that an older catalog prices.
 */
import type { PriceCatalog, PriceCatalogModel } from '#crds/types.gen.ts';
import { QuotaType } from '#snapshot/snapshot.gen.ts';
import type { Price, PriceCatalog as PriceCatalogMessage } from '#snapshot/snapshot.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings } from '../status/findings.ts';
import { namespacedName } from '#objects/resources.ts';
import { isSheet } from '#snapshot/catalog-prices.ts';
import { compareText } from '#snapshot/sorted.ts';
import { memoize } from './memoize.ts';
import { quoteNames } from './quote-names.ts';
import { readSheet } from './rates.ts';
import { FieldReader, refuseInvalid } from './translated.ts';
import type { Translated } from './translated.ts';

/** Defaults of a Token price. They cannot be in the schema, because a Request price must not have them. */
const DEFAULT_RATIO = '1';
const DEFAULT_CACHE_WRITE_RATIO = '1.25';

/** A parsed catalog. It claims its models only if it has no faults. */
export interface GatheredCatalog {
  readonly metadata: PriceCatalog['metadata'];
  readonly catalog: PriceCatalog;
  readonly ratioBaseUsdE9: bigint;
  readonly prices: readonly Price[];
  readonly faults: readonly string[];
  /** When prices count that do not count always. */
  readonly windows: ReadonlyMap<string, PriceWindow>;
}

interface PriceWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

const inForce = memoize<GatheredCatalog, GatheredCatalog>();
const gathered = memoize<PriceCatalog, GatheredCatalog>();
const translated = memoize<GatheredCatalog, Translated<PriceCatalogMessage>>();

/** Reads a catalog's decimals. */
export function gatherCatalog(catalog: PriceCatalog): GatheredCatalog {
  return gathered(catalog, [], () => readCatalog(catalog));
}

function readCatalog(catalog: PriceCatalog): GatheredCatalog {
  const fields = new FieldReader();
  const ratioBaseUsdE9 = fields.decimal('spec.ratioBaseUsd', catalog.spec.ratioBaseUsd);
  fields.expect(ratioBaseUsdE9 > 0n, 'spec.ratioBaseUsd must be above 0; for free models, set modelRatio to "0"');
  const prices = catalog.spec.models
    .map((model) => readPrice(fields, model))
    .sort((a, b) => compareText(a.name, b.name));
  const windows = readWindows(fields, catalog);
  return { metadata: catalog.metadata, catalog, ratioBaseUsdE9, prices, faults: fields.faults, windows };
}

/** The catalog with the prices that count at a moment. */
export function pricesInForce(catalog: GatheredCatalog, nowMs: number): GatheredCatalog {
  const { windows } = catalog;
  if (windows.size === 0) return catalog;
  const idle = [...windows]
    .filter(([, { fromMs, untilMs }]) => nowMs < fromMs || nowMs >= untilMs)
    .map(([name]) => name);
  return inForce(catalog, [idle.join('\n')], () => ({
    ...catalog,
    prices: catalog.prices.filter(({ name }) => !idle.includes(name)),
  }));
}

/** A price that counts always gives way to one that counts for a time. */
export function countsAlways({ windows }: GatheredCatalog, model: string): boolean {
  return !windows.has(model);
}

/** When a price next takes effect or expires; Infinity: never. */
export function nextPriceChange(catalogs: readonly GatheredCatalog[], nowMs: number): number {
  const moments = catalogs
    .flatMap(({ windows }) => [...windows.values()])
    .flatMap(({ fromMs, untilMs }) => [fromMs, untilMs])
    .filter((ms) => ms > nowMs && Number.isFinite(ms));
  return Math.min(...moments);
}

function readWindows(fields: FieldReader, { spec }: PriceCatalog): Map<string, PriceWindow> {
  const windows = new Map<string, PriceWindow>();
  for (const { name, validFrom, validUntil } of spec.models) {
    if (validFrom === undefined && validUntil === undefined) continue;
    const read = (field: string, text: string | undefined, fallback: number): number =>
      text === undefined ? fallback : Number(fields.time(`spec.models "${name}": ${field}`, text));
    windows.set(name, {
      fromMs: read('validFrom', validFrom, Number.NEGATIVE_INFINITY),
      untilMs: read('validUntil', validUntil, Number.POSITIVE_INFINITY),
    });
  }
  return windows;
}

/** True if the catalog's prices are costs of channels only. */
function isForCosts({ spec }: PriceCatalog): boolean {
  return spec.purpose === 'Costs';
}

/** The models that a catalog claims. */
export function claimedModels({ catalog, prices, faults }: GatheredCatalog): string[] {
  return faults.length > 0 || isForCosts(catalog) ? [] : prices.map(({ name }) => name);
}

/** How a catalog is used. */
interface CatalogUse {
  /** The models that older catalogs price, with these catalogs; absent: none. */
  readonly lost?: ReadonlyMap<string, GatheredCatalog> | undefined;
  /** True if a channel refers to it for its cost. */
  readonly isCost: boolean;
  /** The channels that it prices and no route has, as "route/channel". */
  readonly unknownChannels: readonly string[];
}

/** The channels that a catalog has prices for, as "route/channel". */
export function pricedChannels({ catalog }: GatheredCatalog): string[] {
  return [...new Set(catalog.spec.models.flatMap(({ channels = [] }) => channels.map(({ channel }) => channel)))];
}

/** The prices that count of a catalog, and all of them if channels refer to it for their cost. */
export function translateCatalog(catalog: GatheredCatalog, use: CatalogUse): Translated<PriceCatalogMessage> {
  return translated(catalog, [use.lost, use.isCost, use.unknownChannels.join('\n')], () => pricesOf(catalog, use));
}

function pricesOf(
  { catalog, ratioBaseUsdE9, prices, faults }: GatheredCatalog,
  { lost = new Map(), isCost, unknownChannels }: CatalogUse,
): Translated<PriceCatalogMessage> {
  const findings = findingsOf(catalog);
  if (faults.length > 0) return refuseInvalid(findings, faults);
  const forCosts = isForCosts(catalog);
  const kept = forCosts ? [] : prices.filter(({ name }) => !lost.has(name));
  // a price that counts for a time takes the place of another as it should
  const contested = new Map([...lost].filter(([model, winner]) => countsAlways(winner, model)));
  const models = forCosts ? prices.length : kept.length;
  const counted = {
    ...remarkOn(unknownChannels),
    ...withConflicts(findings, contested, kept.length),
    fields: { models },
  };
  if (kept.length === 0 && !isCost && !forCosts) return { findings: counted };
  const { namespace, name, generation } = findings;
  return {
    message: {
      namespace,
      name,
      generation: BigInt(generation),
      ratioBaseUsdE9,
      models: kept.filter((price) => !isSheet(price)),
      sheets: kept.filter(isSheet),
      ...(isCost && { costs: { models: prices } }),
    },
    findings: { ...counted, published: true },
  };
}

function remarkOn(unknown: readonly string[]): Pick<Findings, 'remark'> {
  if (unknown.length === 0) return {};
  const channels = `${unknown.length === 1 ? 'the channel' : 'the channels'} ${quoteNames(unknown)}`;
  const message = `No ModelRoute has ${channels}; the other prices apply.`;
  return { remark: { reason: 'ChannelNotFound', message } };
}

function withConflicts(findings: Findings, lost: ReadonlyMap<string, GatheredCatalog>, kept: number): Findings {
  if (lost.size === 0) return findings;
  const message = `${describeWinners(lost)} Still priced from here: ${kept} of ${kept + lost.size} models.`;
  if (kept === 0) return { ...findings, refused: { reason: 'Conflicted', message } };
  return {
    ...findings,
    remark: { reason: 'PartiallyConflicted', message },
    notReady: { reason: 'Conflicted', message },
  };
}

/** One sentence for each winning catalog. */
function describeWinners(lost: ReadonlyMap<string, GatheredCatalog>): string {
  const byWinner = new Map<string, string[]>();
  for (const [model, winner] of lost) {
    const id = namespacedName(winner.metadata);
    byWinner.set(id, [...(byWinner.get(id) ?? []), model]);
  }
  return [...byWinner]
    .sort(([a], [b]) => compareText(a, b))
    .map(
      ([winner, models]) =>
        `The PriceCatalog ${winner} takes precedence (the older object, then by name) for ${quoteNames(models)}.`,
    )
    .join(' ');
}

type RatioField =
  'modelRatio' | 'completionRatio' | 'cacheRatio' | 'cacheWriteRatio' | 'cacheWrite1hRatio' | 'requestUsd';

function readPrice(fields: FieldReader, model: PriceCatalogModel): Price {
  const read = (field: RatioField, fallback: string) =>
    fields.decimal(`spec.models "${model.name}": ${field}`, model[field] ?? fallback);
  const { name, vendor } = model;
  const sheet = readSheet(fields, model);
  if (model.quotaType === 'Request') {
    const free = {
      modelRatioE9: 0n,
      completionRatioE9: 0n,
      cacheRatioE9: 0n,
      cacheWriteRatioE9: 0n,
      cacheRatioDefaulted: false,
      cacheWriteRatioDefaulted: false,
    };
    const requestNanoUsd = model.requestUsd === undefined ? 0n : read('requestUsd', '');
    return { name, vendor, quotaType: QuotaType.REQUEST, ...free, requestNanoUsd, ...sheet };
  }
  return {
    name,
    vendor,
    quotaType: QuotaType.TOKEN,
    modelRatioE9: sheet.usdPerMillion ? 0n : read('modelRatio', ''),
    completionRatioE9: read('completionRatio', DEFAULT_RATIO),
    cacheRatioE9: read('cacheRatio', DEFAULT_RATIO),
    cacheWriteRatioE9: read('cacheWriteRatio', DEFAULT_CACHE_WRITE_RATIO),
    cacheRatioDefaulted: (model.cacheRatio ?? model.usdPerMillion?.['cacheRead']) === undefined,
    cacheWriteRatioDefaulted: (model.cacheWriteRatio ?? model.usdPerMillion?.['cacheWrite5m']) === undefined,
    ...(model.cacheWrite1hRatio === undefined ? {} : { cacheWrite1hRatioE9: read('cacheWrite1hRatio', '') }),
    requestNanoUsd: 0n,
    ...sheet,
  };
}
