/** [P] Converts a call's record to what it consumed, and prices that by another catalog. */
import { ONE_E9 } from '#snapshot/decimal.ts';
import { billOf } from '#price/price.ts';
import type { Consumption, PartUsage, TokenDetails, Uses } from '#price/price.ts';
import { USES } from '#price/sheet.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { UsageRecord } from './record.ts';
import type { BillLine } from '#price/bill.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { priceAt } from '#price/model-prices.ts';
import type { PriceEntry } from '#price/model-prices.ts';

/** The part of a record that decides its price. */
export type PricedCall = Pick<UsageRecord, 'model' | 'group' | 'channel' | 'keyUid' | 'tokens' | 'lines'>;

/** A state of the catalogs. */
export interface Catalogs {
  readonly prices: ReadonlyMap<string, PriceEntry>;
  /** Ratios in billionths by the group's name; a group without an entry has ratio 1. */
  readonly groupRatiosE9: ReadonlyMap<string, bigint>;
  /** The automatic groups of keys, by the keys' uids. */
  readonly automaticGroups: ReadonlyMap<string, AutomaticRatio>;
}

/** The own ratio of an automatic group in billionths; it counts for calls that its members served. */
export interface AutomaticRatio {
  readonly ratioE9: bigint;
  readonly members: ReadonlySet<string>;
}

export interface Repriced {
  readonly nanoUsd: bigint;
  /** What the call used that this catalog does not price; empty if it prices everything. */
  readonly unpriced: readonly string[];
}

/** Returns a function that prices calls by one state of the catalogs. */
export function createPricer({ prices, groupRatiosE9, automaticGroups }: Catalogs): (call: PricedCall) => Repriced {
  const compiled = new Map<string, CompiledPrice | undefined>();
  const priceOf = (model: string, { group, channel, keyUid }: PricedCall): CompiledPrice | undefined => {
    const automatic = automaticGroups.get(keyUid);
    const ownE9 = automatic?.members.has(group) ? automatic.ratioE9 : ONE_E9;
    const ratioE18 = (groupRatiosE9.get(group) ?? ONE_E9) * ownE9;
    const id = `${model}\n${ratioE18}\n${channel}`;
    if (!compiled.has(id)) {
      const entry = prices.get(model);
      compiled.set(id, entry && priceAt(entry, ratioE18, channel));
    }
    return compiled.get(id);
  };
  return (call) => {
    const price = priceOf(call.model, call);
    if (!price) return { nanoUsd: 0n, unpriced: [`model ${call.model}`] };
    const consumption = consumptionOf(call, (model) => priceOf(model, call));
    return { nanoUsd: billOf(price, consumption).costNanoUsd, unpriced: unpricedOf(call, price, priceOf) };
  };
}

const TOKEN_CLASS: Readonly<Record<string, keyof TokenCounts>> = {
  input: 'input',
  cacheRead: 'cached',
  cacheWrite5m: 'cacheWrite5m',
  cacheWrite1h: 'cacheWrite1h',
  output: 'output',
};
const DETAILS: Readonly<Record<string, keyof TokenDetails>> = {
  audioInput: 'audioInput',
  imageInput: 'imageInput',
  reasoning: 'reasoning',
  audioOutput: 'audioOutput',
  imageOutput: 'imageOutput',
};
const OF_INPUT: ReadonlySet<string> = new Set(['audioInput', 'imageInput']);

/**
 * Groups lines by request: the lines of one request follow each other, and have each class once. A record of an older
 * version has only its tokens.
 */
function consumptionOf(
  { lines = [], tokens }: PricedCall,
  priceOf: (model: string) => CompiledPrice | undefined,
): Consumption {
  const generated = generatedOf(lines);
  const uses: Uses = Object.fromEntries(USES.map((use) => [use, quantityOf(lines, use)]));
  const requests = splitRequests(
    lines.filter(({ dimension }) => TOKEN_CLASS[dimension] !== undefined || DETAILS[dimension] !== undefined),
  );
  if (requests.length === 0) return { tokens, ...generated, uses };
  return { tokens, ...generated, uses, parts: requests.map((request) => partOf(request, priceOf)) };
}

/** Seconds are those of all videos together, or of the audio. */
function generatedOf(lines: readonly BillLine[]): Pick<Consumption, 'generations' | 'made'> {
  const seconds = quantityOf(lines, 'second');
  if (seconds > 0) {
    const { size } = lines.find(({ dimension }) => dimension === 'second') ?? {};
    return { generations: 1, made: { seconds, size } };
  }
  const [audioSeconds, characters] = [quantityOf(lines, 'audioSecond'), quantityOf(lines, 'character')];
  if (audioSeconds + characters > 0) return { generations: 1, made: { seconds: audioSeconds, characters } };
  const { size, quality } = lines.find(({ dimension }) => dimension === 'generation') ?? {};
  return { generations: quantityOf(lines, 'generation'), made: { size, quality } };
}

function quantityOf(lines: readonly BillLine[], name: string): number {
  return lines.reduce((sum, { dimension, quantity }) => (dimension === name ? sum + quantity : sum), 0);
}

function splitRequests(lines: readonly BillLine[]): BillLine[][] {
  const requests: BillLine[][] = [];
  for (const line of lines) {
    const current = requests.at(-1);
    const first = current?.[0];
    const joins =
      current &&
      first &&
      marksOf(first) === marksOf(line) &&
      !current.some(({ dimension }) => dimension === line.dimension);
    if (joins) current.push(line);
    else requests.push([line]);
  }
  return requests;
}

function marksOf({ model, serviceTier, above, region }: BillLine): string {
  return [model, serviceTier, above, region].join();
}

/** Adds parts of the input and of the output, such as audio, to the whole as well. */
function tokensOf(lines: readonly BillLine[]): Pick<PartUsage, 'tokens' | 'details'> {
  const tokens: Record<keyof TokenCounts, number> = { ...NO_TOKENS };
  const details: Partial<Record<keyof TokenDetails, number>> = {};
  for (const { dimension, quantity } of lines) {
    const detail = DETAILS[dimension];
    if (detail) details[detail] = quantity;
    tokens[TOKEN_CLASS[dimension] ?? (OF_INPUT.has(dimension) ? 'input' : 'output')] += quantity;
  }
  return { tokens, details };
}

function partOf(lines: readonly BillLine[], priceOf: (model: string) => CompiledPrice | undefined): PartUsage {
  const { model, serviceTier, region } = lines[0] ?? {};
  const price = model === undefined ? undefined : priceOf(model);
  return {
    ...tokensOf(lines),
    ...(serviceTier !== undefined && { serviceTiers: [serviceTier] }),
    ...(region !== undefined && { regions: [region] }),
    ...(model !== undefined && price && { other: { model, price } }),
  };
}

function unpricedOf(
  call: PricedCall,
  price: CompiledPrice,
  priceOf: (model: string, call: PricedCall) => CompiledPrice | undefined,
): string[] {
  const lacking = (call.lines ?? []).flatMap(({ dimension, serviceTier, region, model }) => {
    const own = model === undefined ? price : priceOf(model, call);
    if (!own) return [`model ${model}`];
    return [
      ...(serviceTier !== undefined && !own.serviceTiers.has(serviceTier) ? [`service tier ${serviceTier}`] : []),
      ...(region !== undefined && !own.regions.has(region) ? [`region ${region}`] : []),
      ...(isUnpricedClass(dimension, own) ? [dimension] : []),
    ];
  });
  return [...new Set(lacking)];
}

function isUnpricedClass(
  dimension: string,
  { priced, perUse, perGeneration, perImage, perSecond, perAudio }: CompiledPrice,
): boolean {
  if (dimension === 'audioInput' || dimension === 'audioOutput') return !priced.has(dimension);
  const use = USES.find((name) => name === dimension);
  if (use) return !perUse.has(use);
  // a price by tokens has no rate for seconds or generations, and a price by generations none for tokens
  if (dimension === 'second') return perSecond === undefined;
  if (dimension === 'audioSecond' || dimension === 'character') return perAudio?.unit !== dimension;
  return dimension === 'generation' && perGeneration === 0n && perImage.length === 0;
}
