/**
 * [P] The price of a call in nano-USD, exactly: every rate is an integer, the sum is one fraction, and it is rounded
 * once, half up.
 *   price(Token) = Σ tokens of a class · that class's rate, in the request's context tier and service tier
 *                  + Σ uses of a tool · that tool's price
 *   price(Request) = requestUsd · generations · groupRatio, or by seconds or characters of audio
 * With ratios alone the rates are modelRatio · ratioBaseUsd/10⁶ · groupRatio times 1 (input), cacheRatio,
 * cacheWriteRatio, cacheWrite1hRatio and completionRatio (output).
 */
import { roundHalfUp } from './exact.ts';
import { billedGeneration, generationRate } from './generation.ts';
import type { BilledGeneration, GenerationAttributes, GenerationRate } from './generation.ts';
import { highestOf, unitsOf } from './sheet.ts';
import type { AudioRate, AudioUnit, CompiledPrice, RateClass, Rates, RateTable, TierRates, UseName } from './sheet.ts';
import type { BillLine } from './bill.ts';
import type { TokenCounts } from './tokens.ts';

/** Tokens of the input (audioInput, imageInput) and of the output that may have prices of their own; absent: none. */
export type TokenDetails = Readonly<Partial<Record<Exclude<RateClass, keyof TokenCounts>, number>>>;

/**
 * What a call consumed: tokens (a Token price), or generations, which are images, videos or calls (a Request price).
 */
export interface Consumption extends RequestUsage {
  readonly generations: number;
  /** The size, quality and seconds that were asked for. */
  readonly made?: GenerationAttributes | undefined;
  /** Those that the answer names. */
  readonly served?: GenerationAttributes | undefined;
  /** The requests that the provider made for the call, each in a context tier of its own; absent: one request. */
  readonly parts?: readonly PartUsage[] | undefined;
  readonly uses?: Uses | undefined;
}

/** The tokens of one request to a model. */
export interface RequestUsage {
  readonly tokens: TokenCounts;
  readonly details?: TokenDetails | undefined;
  /** The service tiers that may have served the request; the dearest of them counts. Absent: the standard tier. */
  readonly serviceTiers?: readonly string[] | undefined;
  /** The regions that may have served the request; the dearest of them counts. Absent: no regional price. */
  readonly regions?: readonly string[] | undefined;
  /** The most input that one request can have, above which no context tier counts. Absent: any. */
  readonly longest?: number | undefined;
}

/** One of several requests of a call. */
export interface PartUsage extends RequestUsage {
  /** The model and its price at the same group's ratio, if it is not the call's own model. */
  readonly other?: { readonly model: string; readonly price: CompiledPrice } | undefined;
}

export type Uses = Readonly<Partial<Record<UseName, number>>>;

/** The most that a call can consume. */
export interface ConsumptionBounds {
  /** The input of one request. */
  readonly inputTokens: number;
  /** The output of the whole call: the limit per choice times the number of choices. */
  readonly outputTokens: number;
  /** How many requests the provider may make for the call, each with all of its input. Absent: 1. */
  readonly requests?: number | undefined;
  /** True if the body asks for one-hour cache writes; otherwise no token can be one. */
  readonly oneHourCache: boolean;
  readonly generations: number;
  readonly made?: GenerationAttributes | undefined;
  /** The service tiers that may serve the call. Absent: the standard tier. */
  readonly serviceTiers?: readonly string[] | undefined;
  readonly regions?: readonly string[] | undefined;
  /** The modalities besides text whose tokens the body can cause. Absent: none. */
  readonly modalities?: readonly Modality[] | undefined;
  readonly uses?: Uses | undefined;
}

export const MODALITIES = ['audioInput', 'audioOutput', 'imageInput'] as const;
export type Modality = (typeof MODALITIES)[number];

/** The service tier of a price's own rates. */
export const STANDARD_TIER = 'standard';
const STANDARD = [STANDARD_TIER];
const ONE_E9 = 10n ** 9n;

/** A cost, rounded to a nano-USD, and the lines whose sum it is. */
export interface Bill {
  readonly costNanoUsd: bigint;
  readonly lines: readonly BillLine[];
}

/** One rate times a quantity, as a numerator over the price's denominator. */
interface Charge {
  readonly name: RateClass | UseName | AudioUnit | 'generation' | 'second';
  readonly quantity: number;
  readonly rate: bigint;
}

/** Charges at one price. */
interface Charges {
  readonly sum: bigint;
  readonly denominator: bigint;
  readonly charges: readonly Charge[];
  /** The attributes of the bill's lines: tier, region, model, the size and quality of what was generated. */
  readonly marks: Pick<BillLine, 'serviceTier' | 'above' | 'region' | 'model' | 'size' | 'quality'>;
}

/** The cost of a consumption, rounded half up. */
export function costNanoUsd(price: CompiledPrice, consumption: Consumption): bigint {
  return rounded(chargesOf(price, consumption));
}

/** The cost of a consumption, with a line for each rate that counted. */
export function billOf(price: CompiledPrice, consumption: Consumption): Bill {
  const all = chargesOf(price, consumption);
  return { costNanoUsd: rounded(all), lines: all.flatMap(linesOf) };
}

/** The bill of several consumptions together: their sum is rounded once, and each rate has one line. */
export class BillSum {
  /** By denominator. */
  readonly #sums = new Map<bigint, bigint>();
  /** By everything but the quantity. */
  readonly #lines = new Map<string, BillLine>();

  add(price: CompiledPrice, consumption: Consumption): void {
    for (const charges of chargesOf(price, consumption)) {
      this.#sums.set(charges.denominator, (this.#sums.get(charges.denominator) ?? 0n) + charges.sum);
      for (const line of linesOf(charges)) this.#addLine(line);
    }
  }

  get bill(): Bill {
    const all = [...this.#sums].map(([denominator, sum]) => ({ denominator, sum }));
    return { costNanoUsd: rounded(all), lines: [...this.#lines.values()] };
  }

  #addLine(line: BillLine): void {
    const key = JSON.stringify({ ...line, quantity: 0 });
    const { quantity = 0 } = this.#lines.get(key) ?? {};
    this.#lines.set(key, { ...line, quantity: line.quantity + quantity });
  }
}

/**
 * The most that a call within these bounds can cost, rounded up: all its input in the dearest class, context tier and
 * service tier that it can have.
 */
export function worstCaseNanoUsd(price: CompiledPrice, bounds: ConsumptionBounds): bigint {
  const { outputTokens, requests = 1 } = bounds;
  let most = 0n;
  for (const { input, output, inputTokens } of waysOf(price, bounds)) {
    const sum = charge(input.rate, inputTokens * requests) + charge(output.rate, outputTokens);
    if (sum > most) most = sum;
  }
  const { denominator } = price;
  return (most + unitCharges(price, bounds).sum + denominator - 1n) / denominator;
}

/** The worst case as a bill, for calls whose consumption is unknown. */
export function worstCaseBill(price: CompiledPrice, bounds: ConsumptionBounds): Bill {
  const all = worstCharges(price, bounds);
  return { costNanoUsd: roundUp(all), lines: all.flatMap(linesOf) };
}

/** The largest output whose worst case, with this input, fits the budget; 0 if even the input does not fit. */
export function affordableOutputTokens(
  price: CompiledPrice,
  budgetNanoUsd: bigint,
  bounds: Omit<ConsumptionBounds, 'outputTokens' | 'generations'>,
): number {
  // ⌈sum/denominator⌉ ≤ budget is sum ≤ budget · denominator
  const budget = budgetNanoUsd * price.denominator - unitCharges(price, { ...bounds, generations: 0 }).sum;
  const fitting = waysOf(price, bounds).map(({ input, inputTokens, output }): bigint => {
    const left = budget - charge(input.rate, inputTokens * (bounds.requests ?? 1));
    if (left < 0n) return 0n;
    return output.rate === 0n ? BigInt(Number.MAX_SAFE_INTEGER) : left / output.rate;
  });
  const tokens = fitting.reduce((least, each) => (each < least ? each : least), BigInt(Number.MAX_SAFE_INTEGER));
  return Number(tokens);
}

function chargesOf(price: CompiledPrice, consumption: Consumption): Charges[] {
  const { parts = [consumption] } = consumption;
  const requests = parts.map((part: PartUsage) => {
    const { model, price: own } = part.other ?? { model: undefined, price };
    const charges = dearestCharges(own, part);
    return model === undefined ? charges : { ...charges, marks: { ...charges.marks, model } };
  });
  return [...requests, unitCharges(price, consumption)];
}

/** Charges for generations and uses of tools, which have no tiers. */
function unitCharges(
  price: CompiledPrice,
  consumption: Pick<Consumption, 'generations' | 'uses' | 'made' | 'served'>,
): Charges {
  const { perUse, denominator } = price;
  const { uses = {} } = consumption;
  const used = [...perUse].map(([name, rate]): Charge => ({ name, quantity: uses[name] ?? 0, rate }));
  const { charge: made, marks } = generationCharge(price, consumption);
  return withSum({ charges: [...used, made], denominator, marks });
}

type Generated = Pick<Consumption, 'generations' | 'made' | 'served'>;
type GenerationCharge = { readonly charge: Charge } & Pick<Charges, 'marks'>;

function generationCharge(price: CompiledPrice, generated: Generated): GenerationCharge {
  const { perGeneration, perImage, perSecond, perAudio } = price;
  const { generations, made, served } = generated;
  if (perAudio) return { charge: audioCharge(perAudio, generated), marks: {} };
  if (perImage.length > 0) return sizedCharge('generation', perImage, generated);
  if (perSecond) {
    const quantity = generations * billedSeconds(made?.seconds, served?.seconds);
    return sizedCharge('second', perSecond, { ...generated, generations: quantity });
  }
  // a price of tokens has no line for its generations
  const quantity = perGeneration > 0n ? generations : 0;
  return { charge: { name: 'generation', quantity, rate: perGeneration }, marks: {} };
}

/** Characters are those of the request; a response names seconds only. */
function audioCharge({ unit, rate }: AudioRate, { generations, made, served }: Generated): Charge {
  const units = unit === 'character' ? (made?.characters ?? 0) : billedSeconds(made?.seconds, served?.seconds);
  return { name: unit, quantity: generations * units, rate };
}

/** Those that the response names, but no more than were asked for, which the hold is for. */
function billedSeconds(asked = 0, served = asked): number {
  return Math.min(asked, served);
}

/** If no entry matches, the most expensive one counts. */
function sizedCharge(
  name: 'generation' | 'second',
  rates: readonly GenerationRate[],
  { generations, made = {}, served = {} }: Generated,
): GenerationCharge {
  const unmatched: BilledGeneration = { rate: generationRate(rates, {}) ?? 0n };
  const { rate, size, quality } = billedGeneration(rates, made, served) ?? unmatched;
  return {
    charge: { name, quantity: generations, rate },
    marks: { ...(size !== undefined && { size }), ...(quality !== undefined && { quality }) },
  };
}

function dearestCharges(price: CompiledPrice, usage: RequestUsage): Charges {
  const { serviceTiers = STANDARD, regions = [] } = usage;
  const everywhere = regions.length === 0 ? [undefined] : regions;
  return dearest(
    (serviceTiers.length === 0 ? STANDARD : serviceTiers).flatMap((tier) =>
      everywhere.map((region) => chargesIn(price, { tier, region }, usage)),
    ),
  );
}

interface Where {
  readonly tier: string;
  readonly region: string | undefined;
}

/**
 * The context tier follows from the whole input and applies to the whole request. Tokens of several requests that the
 * provider does not list are in no higher tier than one of them can reach.
 */
function chargesIn(price: CompiledPrice, where: Where, usage: RequestUsage): Charges {
  const { tokens, details = {}, longest = Number.POSITIVE_INFINITY } = usage;
  const whole = Math.min(longest, tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h);
  const { perToken, above } = reachedRates(price, where.tier, whole);
  const counted = classCounts(perToken, tokens, details);
  const charges =
    where.region === undefined
      ? counted
      : counted.map((each) => ({ ...each, rate: rateIn(price, where.region, each.rate) }));
  return withSum({ charges, denominator: price.denominator, marks: marksOf(price, { ...where, above }) });
}

/** What the rates of tokens follow from. */
type TokenPrice = Pick<CompiledPrice, 'perToken' | 'contextTiers' | 'serviceTiers'>;

/** The rates of a request with so much input in a service tier, and the context tier that it reaches; undefined: none. */
export function reachedRates(
  price: TokenPrice,
  serviceTier: string,
  inputTokens: number | bigint,
): { readonly perToken: Rates; readonly above: number | undefined } {
  const table = tableOf(price, serviceTier);
  const tier = table.contextTiers.findLast(({ above }) => inputTokens > above);
  return { perToken: tier?.perToken ?? table.perToken, above: tier?.above };
}

/** A rate in a region, by its multiplier. */
export function rateIn({ regions }: Pick<CompiledPrice, 'regions'>, region: string | undefined, rate: bigint): bigint {
  const multiplierE9 = region === undefined ? undefined : regions.get(region);
  return multiplierE9 === undefined ? rate : (rate / ONE_E9) * multiplierE9;
}

interface Place extends Where {
  readonly above: number | undefined;
}

function marksOf({ serviceTiers, regions }: CompiledPrice, { tier, region, above }: Place): Charges['marks'] {
  return {
    ...(serviceTiers.has(tier) && { serviceTier: tier }),
    ...(above !== undefined && { above }),
    ...(region !== undefined && regions.has(region) && { region }),
  };
}

/** A service tier without rates costs the same as the standard tier. */
export function tableOf(price: TokenPrice, tier: string): RateTable {
  return price.serviceTiers.get(tier) ?? price;
}

/** Counts tokens by class. A class whose rate equals that of all input or output stays part of it. */
function classCounts(rates: Rates, tokens: TokenCounts, details: TokenDetails): Charge[] {
  const parts: Charge[] = [];
  const take = (whole: 'input' | 'output', names: readonly (keyof TokenDetails)[]): void => {
    let left = tokens[whole];
    for (const name of names) {
      if (rates[name] === rates[whole]) continue;
      const quantity = Math.min(details[name] ?? 0, left);
      if (!(quantity > 0)) continue;
      parts.push({ name, quantity, rate: rates[name] });
      left -= quantity;
    }
    parts.push({ name: whole, quantity: left, rate: rates[whole] });
  };
  take('input', ['imageInput', 'audioInput']);
  for (const name of ['cached', 'cacheWrite5m', 'cacheWrite1h'] as const)
    parts.push({ name, quantity: tokens[name], rate: rates[name] });
  take('output', ['reasoning', 'imageOutput', 'audioOutput']);
  return parts;
}

/** A context tier, service tier and region that a call can reach, with the dearest classes in it. */
interface Way extends Where, Omit<Step, 'perToken'> {
  readonly input: ClassRate;
  readonly output: ClassRate;
}

interface ClassRate {
  readonly name: RateClass;
  readonly rate: bigint;
}

function worstCharges(price: CompiledPrice, bounds: ConsumptionBounds): Charges[] {
  const ways = waysOf(price, bounds).map((way) => {
    const charges = [
      { ...way.input, quantity: way.inputTokens * (bounds.requests ?? 1) },
      { ...way.output, quantity: bounds.outputTokens },
    ];
    return withSum({ charges, marks: marksOf(price, way), denominator: price.denominator });
  });
  return [dearest(ways), unitCharges(price, bounds)];
}

function waysOf(price: CompiledPrice, bounds: Omit<ConsumptionBounds, 'outputTokens' | 'generations'>): Way[] {
  const { serviceTiers = STANDARD, regions = [], inputTokens } = bounds;
  const everywhere = regions.length === 0 ? [undefined] : regions;
  const ways: Way[] = [];
  for (const tier of serviceTiers.length === 0 ? STANDARD : serviceTiers)
    for (const step of stepsOf(tableOf(price, tier), inputTokens))
      for (const region of everywhere)
        ways.push({ tier, region, ...step, ...highestRates(price, step, region, bounds) });
  return ways;
}

interface Step {
  readonly above: number | undefined;
  readonly perToken: Rates;
  /** The most input tokens in this context tier. */
  readonly inputTokens: number;
}

/** The context tiers that so much input reaches. */
function stepsOf({ perToken, contextTiers }: RateTable, inputTokens: number): Step[] {
  const steps: Step[] = [];
  let reached: TierRates | undefined;
  for (const tier of contextTiers) {
    if (inputTokens <= tier.above) break;
    steps.push({ above: reached?.above, perToken: reached?.perToken ?? perToken, inputTokens: tier.above });
    reached = tier;
  }
  steps.push({ above: reached?.above, perToken: reached?.perToken ?? perToken, inputTokens });
  return steps;
}

/** The highest rates of the classes that a call can use. */
function highestRates(
  price: CompiledPrice,
  { perToken }: Step,
  region: string | undefined,
  { oneHourCache, modalities = [] }: Pick<ConsumptionBounds, 'oneHourCache' | 'modalities'>,
): Pick<Way, 'input' | 'output'> {
  const highest = price.highest.get(perToken);
  if (!highest) throw new Error('these rates are of another price');
  let input = oneHourCache ? highest.inputWithOneHour : highest.input;
  let { output } = highest;
  for (const modality of modalities)
    if (modality === 'audioOutput') output = highestOf(perToken, [output, modality]);
    else input = highestOf(perToken, [input, modality]);
  return {
    input: { name: input, rate: rateIn(price, region, perToken[input]) },
    output: { name: output, rate: rateIn(price, region, perToken[output]) },
  };
}

function dearest(all: readonly Charges[]): Charges {
  return all.reduce((a, b) => (b.sum > a.sum ? b : a));
}

function withSum(charges: Omit<Charges, 'sum'>): Charges {
  return { ...charges, sum: charges.charges.reduce((sum, { rate, quantity }) => sum + charge(rate, quantity), 0n) };
}

/** Counts are non-negative integers. If a defect produces another number, the price must neither fall nor throw. */
function charge(numerator: bigint, count: number): bigint {
  if (numerator === 0n || !(count > 0)) return 0n;
  return numerator * BigInt(wholeCount(count));
}

function wholeCount(count: number): number {
  return Number.isSafeInteger(count) ? count : Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER);
}

type ChargedSum = Pick<Charges, 'sum' | 'denominator'>;

function rounded(all: readonly ChargedSum[]): bigint {
  const { sum, denominator } = total(all);
  return roundHalfUp(sum, denominator);
}

function roundUp(all: readonly ChargedSum[]): bigint {
  const { sum, denominator } = total(all);
  return (sum + denominator - 1n) / denominator;
}

/** Denominators of prices by tokens are powers of ten, so that each divides the largest; another price is alone. */
function total(all: readonly ChargedSum[]): ChargedSum {
  const denominator = all.reduce((most, each) => (each.denominator > most ? each.denominator : most), 1n);
  return { denominator, sum: all.reduce((sum, each) => sum + each.sum * (denominator / each.denominator), 0n) };
}

/** Free classes have a line too, because the bill shows all of the call's tokens. */
function linesOf({ charges, denominator, marks }: Charges): BillLine[] {
  return charges
    .filter(({ quantity }) => quantity > 0)
    .map(({ name, quantity, rate }) => ({
      dimension: name === 'cached' ? 'cacheRead' : name,
      quantity: wholeCount(quantity),
      rateUsd: rateUsd(rate, denominator, unitsOf(name)),
      ...marks,
    }));
}

/** The rate in USD for `per` units, as an exact decimal: a factor of the denominator other than ten is one of `per` too. */
function rateUsd(rate: bigint, denominator: bigint, per: number): string {
  const { length } = denominator.toString();
  const places = length + 9;
  const digits = ((rate * BigInt(per) * 10n ** BigInt(length)) / denominator).toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  const whole = digits.slice(0, -places);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
