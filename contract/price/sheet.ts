/**
 * [P] A catalog's price as a group pays it: a rate for each class of tokens, context tier and service tier, and prices
 * of whatever else is charged. All are integers over one denominator, so that only the sum of a call is rounded.
 */
import type { GenerationRate } from './generation.ts';
import type {
  ContextTier,
  Price,
  Rates as StatedRates,
  SecondPrice,
  ServiceTier,
  UsePrices,
} from '#snapshot/snapshot.gen.ts';

/** Classes of tokens. Each token of a call is in exactly one: a cached or written token is in no modality's class. */
export type RateClass =
  | 'input'
  | 'cached'
  | 'cacheWrite5m'
  | 'cacheWrite1h'
  | 'audioInput'
  | 'imageInput'
  | 'output'
  | 'reasoning'
  | 'audioOutput'
  | 'imageOutput';
export type Rates = Readonly<Record<RateClass, bigint>>;

/** Tools that a provider runs and charges by use. */
export const USES = ['webSearch', 'webFetch', 'fileSearch'] as const;
export type UseName = (typeof USES)[number];

/** The audio that a price is for: seconds that are read, or characters that are spoken. */
export type AudioUnit = 'audioSecond' | 'character';

/** How many units a price in a catalog is for: a minute, or a million characters. */
export const AUDIO_UNITS: Readonly<Record<AudioUnit, number>> = { audioSecond: 60, character: 1_000_000 };

/** What else is priced by the unit. */
const BY_UNIT: ReadonlySet<string> = new Set(['generation', 'second', ...USES]);

/** How many units of a dimension the rate of a bill's line is for. */
export function unitsOf(dimension: string): number {
  if (dimension === 'audioSecond') return AUDIO_UNITS.audioSecond;
  return BY_UNIT.has(dimension) ? 1 : 1_000_000;
}

/** The price of one second or character. */
export interface AudioRate {
  readonly unit: AudioUnit;
  readonly rate: bigint;
}

/** Rates of a request whose whole input exceeds a number of tokens. */
export interface TierRates {
  readonly above: number;
  readonly perToken: Rates;
}

/** Rates by the size of a request's input. */
export interface RateTable {
  readonly perToken: Rates;
  /** Ascending by `above`. */
  readonly contextTiers: readonly TierRates[];
}

/**
 * A price as a group pays it, compiled once per snapshot. The numerators share one denominator, a power of ten, or six
 * times one where a minute has a price: cost = ⌊(Σ n·numerator)/denominator + ½⌋ nano-USD. The price's own rates are
 * those of the standard service tier.
 */
export interface CompiledPrice extends RateTable {
  readonly serviceTiers: ReadonlyMap<string, RateTable>;
  /** Audio classes with a price; a call with audio of another class is refused. */
  readonly priced: ReadonlySet<'audioInput' | 'audioOutput'>;
  /** Tools that have a price. */
  readonly perUse: ReadonlyMap<UseName, bigint>;
  /** The multiplier of the rates in each region, in billionths. */
  readonly regions: ReadonlyMap<string, bigint>;
  readonly perGeneration: bigint;
  /** In place of perGeneration, by size and quality; empty: it has none. */
  readonly perImage: readonly GenerationRate[];
  /** In place of perGeneration, by size, times the seconds; undefined: it has none. */
  readonly perSecond: readonly GenerationRate[] | undefined;
  /** In place of perGeneration; absent: it has none. */
  readonly perAudio?: AudioRate;
  readonly denominator: bigint;
  /** Of all its rates. */
  readonly highest: ReadonlyMap<Rates, HighestClasses>;
}

/** A price without what follows from its rates. */
export type StatedPrice = Omit<CompiledPrice, 'highest'>;

/** The classes with the highest rates among those that any text can be, by which the most that a call costs is found. */
export interface HighestClasses {
  readonly input: RateClass;
  /** Where the request writes to a one-hour cache. */
  readonly inputWithOneHour: RateClass;
  readonly output: RateClass;
}

/** A catalog's price of one model, before any group's ratio. All figures are billionths (10⁻⁹). */
export interface CatalogPrice
  extends
    Pick<Price, 'modelRatioE9' | 'completionRatioE9' | 'cacheRatioE9' | 'cacheWriteRatioE9' | 'requestNanoUsd'>,
    Partial<
      Pick<
        Price,
        | 'cacheWrite1hRatioE9'
        | 'usdPerMillion'
        | 'contextTiers'
        | 'serviceTiers'
        | 'perUse'
        | 'regions'
        | 'perImage'
        | 'perSecond'
        | 'perSecondNanoUsd'
        | 'perMinuteNanoUsd'
        | 'perMillionCharactersNanoUsd'
      >
    > {
  readonly quotaType: 'Token' | 'Request';
  /** USD per million input tokens at model ratio 1. */
  readonly ratioBaseUsdE9: bigint;
}

const ONE_E9 = 10n ** 9n;
const ONE_E10 = 10n ** 10n;
const ONE_E18 = 10n ** 18n;
/** Unscaled rates are in 10⁻²⁸ USD per million tokens: model ratio 10⁻⁹, ratio base 10⁻⁹, class ratio 10⁻¹⁰. */
const RATE_PER_E9 = 10n ** 19n;
/** Unscaled rates times a group ratio of 10⁻¹⁸, per 10⁶ tokens, in nano-USD. */
const TOKEN_DENOMINATOR = 10n ** BigInt(28 + 6 + 18 - 9);
const FREE: Rates = {
  input: 0n,
  cached: 0n,
  cacheWrite5m: 0n,
  cacheWrite1h: 0n,
  audioInput: 0n,
  imageInput: 0n,
  output: 0n,
  reasoning: 0n,
  audioOutput: 0n,
  imageOutput: 0n,
};
const NONE: ReadonlySet<never> = new Set<never>();
const NOTHING: ReadonlyMap<never, never> = new Map<never, never>();

/**
 * A model's price at a group's ratio, on a channel.
 * @param groupRatioE18 the serving group's ratio (10⁻⁹) times the automatic group's, or times 10⁹
 * @param channelE9 the channel's multiplier (10⁻⁹); absent: 1
 */
export function compilePrice(price: CatalogPrice, groupRatioE18: bigint, channelE9?: bigint): CompiledPrice {
  return withHighest(reducePrice(scaledPrice(price, groupRatioE18, channelE9)));
}

const TEXT_INPUT: readonly RateClass[] = ['input', 'cached', 'cacheWrite5m'];
const OUTPUT: readonly RateClass[] = ['output', 'reasoning', 'imageOutput'];

/** Completes a price with what follows from its rates. */
export function withHighest(price: StatedPrice): CompiledPrice {
  const rates = [price, ...price.serviceTiers.values()]
    .flatMap((table) => [table, ...table.contextTiers])
    .map(({ perToken }) => perToken);
  return { ...price, highest: new Map(rates.map((each) => [each, highestClasses(each)])) };
}

function highestClasses(rates: Rates): HighestClasses {
  return {
    input: highestOf(rates, TEXT_INPUT),
    inputWithOneHour: highestOf(rates, [...TEXT_INPUT, 'cacheWrite1h']),
    output: highestOf(rates, OUTPUT),
  };
}

/** The class with the highest rate; of equal ones, the first. */
export function highestOf(rates: Rates, names: readonly RateClass[]): RateClass {
  return names.reduce((highest, name) => (rates[name] > rates[highest] ? name : highest));
}

function scaledPrice(price: CatalogPrice, groupRatioE18: bigint, channelE9: bigint | undefined): StatedPrice {
  const { usdPerMillion, contextTiers = [], serviceTiers = [], perUse, regions = [] } = price;
  const one = hasMultipliers(price) || channelE9 !== undefined ? ONE_E9 : 1n;
  // context tier, service tier and region
  const tokenScale = groupRatioE18 * (channelE9 ?? one) * one;
  const unitScale = tokenScale * one * one;
  const units = one ** 4n;
  if (price.quotaType === 'Request') {
    return {
      perToken: FREE,
      contextTiers: [],
      serviceTiers: NOTHING,
      priced: NONE,
      regions: NOTHING,
      perUse: NOTHING,
      ...generationPrices(price, unitScale),
      ...audioPrice(price, unitScale, ONE_E18 * units),
    };
  }
  const rates = usdPerMillion ? fillRates(usdPerMillion) : ratioRates(price);
  const source: TableSource = { rates, contextTiers, one };
  return {
    ...rateTable(source, tokenScale * one),
    serviceTiers: mapOf(serviceTiers.map((tier) => [tier.name, serviceTable(tier, source, tokenScale)])),
    priced: pricedClasses(usdPerMillion),
    perUse: perUse ? usePrices(perUse, unitScale * (TOKEN_DENOMINATOR / ONE_E18)) : NOTHING,
    regions: mapOf(regions.map(({ name, multiplierE9 }) => [name, multiplierE9])),
    perGeneration: 0n,
    perImage: [],
    perSecond: undefined,
    denominator: TOKEN_DENOMINATOR * units,
  };
}

/** A region multiplies a rate by billionths, so that its rates keep that many zeros. */
const REGION_ZEROS = 9;

/** The same price over the smallest denominator that is a power of ten, which keeps its integers short. */
function reducePrice(price: StatedPrice): StatedPrice {
  const tables = [price, ...price.serviceTiers.values()];
  const tokenRates = tables
    .flatMap((table) => [table, ...table.contextTiers])
    .flatMap(({ perToken }) => valuesOf(perToken));
  const kept = price.regions.size > 0 ? REGION_ZEROS : 0;
  const others = [
    price.perGeneration,
    ...price.perUse.values(),
    ...[...price.perImage, ...(price.perSecond ?? []), ...audioRates(price)].map(({ rate }) => rate),
  ];
  const shared = Math.min(
    zerosOf(price.denominator),
    ...tokenRates.filter((rate) => rate !== 0n).map((rate) => zerosOf(rate) - kept),
    ...others.filter((rate) => rate !== 0n).map(zerosOf),
  );
  return shared > 0 ? divided(price, 10n ** BigInt(shared)) : price;
}

function divided(price: StatedPrice, by: bigint): StatedPrice {
  const rate = (each: GenerationRate): GenerationRate => ({ ...each, rate: each.rate / by });
  return {
    ...price,
    ...dividedTable(price, by),
    serviceTiers: new Map([...price.serviceTiers].map(([name, table]) => [name, dividedTable(table, by)])),
    perUse: new Map([...price.perUse].map(([name, each]) => [name, each / by])),
    perGeneration: price.perGeneration / by,
    perImage: price.perImage.map(rate),
    perSecond: price.perSecond?.map(rate),
    ...(price.perAudio && { perAudio: { ...price.perAudio, rate: price.perAudio.rate / by } }),
    denominator: price.denominator / by,
  };
}

function dividedTable({ perToken, contextTiers }: RateTable, by: bigint): RateTable {
  return {
    perToken: dividedRates(perToken, by),
    contextTiers: contextTiers.map((tier) => ({ ...tier, perToken: dividedRates(tier.perToken, by) })),
  };
}

function dividedRates(rates: Rates, by: bigint): Rates {
  return {
    input: rates.input / by,
    cached: rates.cached / by,
    cacheWrite5m: rates.cacheWrite5m / by,
    cacheWrite1h: rates.cacheWrite1h / by,
    audioInput: rates.audioInput / by,
    imageInput: rates.imageInput / by,
    output: rates.output / by,
    reasoning: rates.reasoning / by,
    audioOutput: rates.audioOutput / by,
    imageOutput: rates.imageOutput / by,
  };
}

function valuesOf(rates: Rates): bigint[] {
  return Object.values(rates);
}

/** The zeros at the end of a positive number's decimal text. */
function zerosOf(value: bigint): number {
  return /0*$/.exec(value.toString())?.[0].length ?? 0;
}

function generationPrices(
  { requestNanoUsd, perImage = [], perSecond = [], perSecondNanoUsd }: CatalogPrice,
  scale: bigint,
): Pick<CompiledPrice, 'perGeneration' | 'perImage' | 'perSecond'> {
  return {
    perGeneration: requestNanoUsd * scale,
    perImage: perImage.map((price) => generationRate(price, scale)),
    perSecond: secondPrices(perSecond, perSecondNanoUsd)?.map((price) => generationRate(price, scale)),
  };
}

/** The denominator divides the price of a minute, or of a million characters, into that of one unit. */
function audioPrice(
  { perMinuteNanoUsd, perMillionCharactersNanoUsd }: CatalogPrice,
  scale: bigint,
  denominator: bigint,
): Pick<CompiledPrice, 'perAudio' | 'denominator'> {
  const unit = perMinuteNanoUsd === undefined ? 'character' : 'audioSecond';
  const nanoUsd = perMinuteNanoUsd ?? perMillionCharactersNanoUsd;
  if (nanoUsd === undefined) return { denominator };
  return { perAudio: { unit, rate: nanoUsd * scale }, denominator: denominator * BigInt(AUDIO_UNITS[unit]) };
}

function audioRates({ perAudio }: Pick<CompiledPrice, 'perAudio'>): readonly AudioRate[] {
  return perAudio ? [perAudio] : [];
}

function secondPrices(bySize: readonly SecondPrice[], nanoUsd: bigint | undefined): readonly SecondPrice[] | undefined {
  if (bySize.length > 0) return bySize;
  return nanoUsd === undefined ? undefined : [{ size: '', nanoUsd }];
}

function generationRate(
  { size, quality = '', nanoUsd }: SecondPrice & { readonly quality?: string },
  scale: bigint,
): GenerationRate {
  return {
    size: size === '' ? undefined : size,
    quality: quality === '' ? undefined : quality,
    rate: nanoUsd * scale,
  };
}

/** True if the price has multipliers. Without them its integers are kept short. */
function hasMultipliers({ contextTiers, serviceTiers, regions }: CatalogPrice): boolean {
  return [contextTiers, serviceTiers, regions].some((list) => list !== undefined && list.length > 0);
}

/** Whether no call at this price can cost anything. */
export function isFree(price: CompiledPrice): boolean {
  const tables = [price, ...price.serviceTiers.values()];
  const rates = tables
    .flatMap((table) => [table, ...table.contextTiers])
    .flatMap(({ perToken }) => Object.values(perToken));
  const sized = [...(price.perSecond ?? []), ...price.perImage, ...audioRates(price)];
  const generations = [price.perGeneration, ...sized.map(({ rate }) => rate)];
  return [...generations, ...price.perUse.values(), ...rates].every((rate) => rate === 0n);
}

/** Makes a map. Most are empty and share one object. */
function mapOf<T>(entries: readonly (readonly [string, T])[]): ReadonlyMap<string, T> {
  return entries.length === 0 ? NOTHING : new Map(entries);
}

interface TableSource {
  readonly rates: Rates;
  readonly contextTiers: readonly ContextTier[];
  /** The integer that stands for a multiplier of 1. */
  readonly one: bigint;
}

/**
 * The table of a service tier. A multiplier also applies to the price's context tiers; a tier with rates of its own
 * states its own context tiers.
 */
function serviceTable(
  { multiplierE9, usdPerMillion, contextTiers }: ServiceTier,
  standard: TableSource,
  scale: bigint,
): RateTable {
  return usdPerMillion
    ? rateTable({ ...standard, rates: fillRates(usdPerMillion), contextTiers }, scale * standard.one)
    : rateTable(standard, scale * (multiplierE9 ?? standard.one));
}

function rateTable({ rates, contextTiers, one }: TableSource, factor: bigint): RateTable {
  const tiers = contextTiers.map((tier): TierRates => {
    const { above, usdPerMillion, inputMultiplierE9 = one, outputMultiplierE9 = one } = tier;
    return {
      above,
      perToken: usdPerMillion
        ? multiply(fillRates(usdPerMillion), factor * one, factor * one)
        : multiply(rates, factor * inputMultiplierE9, factor * outputMultiplierE9),
    };
  });
  return {
    perToken: multiply(rates, factor * one, factor * one),
    contextTiers: tiers.sort((a, b) => a.above - b.above),
  };
}

function multiply(rates: Rates, input: bigint, output: bigint): Rates {
  return {
    input: rates.input * input,
    cached: rates.cached * input,
    cacheWrite5m: rates.cacheWrite5m * input,
    cacheWrite1h: rates.cacheWrite1h * input,
    audioInput: rates.audioInput * input,
    imageInput: rates.imageInput * input,
    output: rates.output * output,
    reasoning: rates.reasoning * output,
    audioOutput: rates.audioOutput * output,
    imageOutput: rates.imageOutput * output,
  };
}

function ratioRates(price: CatalogPrice): Rates {
  const perToken = price.modelRatioE9 * price.ratioBaseUsdE9;
  // 10⁻¹⁰ is the coarsest unit in which cacheWriteRatio × 1.6 is an integer
  const { cacheWriteRatioE9, cacheWrite1hRatioE9 } = price;
  const cacheWrite1hE10 = cacheWrite1hRatioE9 === undefined ? cacheWriteRatioE9 * 16n : cacheWrite1hRatioE9 * 10n;
  const input = perToken * ONE_E10;
  const output = perToken * price.completionRatioE9 * 10n;
  return {
    input,
    cached: perToken * price.cacheRatioE9 * 10n,
    cacheWrite5m: perToken * cacheWriteRatioE9 * 10n,
    cacheWrite1h: perToken * cacheWrite1hE10,
    audioInput: input,
    imageInput: input,
    output,
    reasoning: output,
    audioOutput: output,
    imageOutput: output,
  };
}

/**
 * Fills in the classes without a stated rate: cache writes by the default factors, other classes by the rate of input
 * or output.
 */
function fillRates(stated: StatedRates): Rates {
  const read = (value: bigint | undefined, fallback: bigint): bigint =>
    value === undefined ? fallback : value * RATE_PER_E9;
  const input = read(stated.input, 0n);
  const output = read(stated.output, input);
  const cacheWrite5m = read(stated.cacheWrite5m, (input * 5n) / 4n);
  return {
    input,
    cached: read(stated.cacheRead, input),
    cacheWrite5m,
    cacheWrite1h: read(stated.cacheWrite1h, (cacheWrite5m * 8n) / 5n),
    audioInput: read(stated.audioInput, input),
    imageInput: read(stated.imageInput, input),
    output,
    reasoning: read(stated.reasoning, output),
    audioOutput: read(stated.audioOutput, output),
    imageOutput: read(stated.imageOutput, output),
  };
}

function pricedClasses(stated: StatedRates | undefined): CompiledPrice['priced'] {
  if (!stated) return NONE;
  return new Set((['audioInput', 'audioOutput'] as const).filter((name) => stated[name] !== undefined));
}

function usePrices(stated: UsePrices, scale: bigint): ReadonlyMap<UseName, bigint> {
  const prices = USES.map((name) => [name, stated[`${name}NanoUsd`]] as const);
  return new Map(prices.flatMap(([name, nanoUsd]) => (nanoUsd === undefined ? [] : [[name, nanoUsd * scale]])));
}
