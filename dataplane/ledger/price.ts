/**
 * [P] The price of a call in nano-USD, exactly: every rate is an integer, the sum is one fraction, and it is rounded
 * once, half up.
 *   price(Token) = Σ tokens of a class · that class's rate, in the request's context tier and service tier
 *   price(Request) = requestUsd · generations · groupRatio
 * With ratios alone the rates are modelRatio · ratioBaseUsd/10⁶ · groupRatio times 1 (input), cacheRatio,
 * cacheWriteRatio, cacheWrite1hRatio and completionRatio (output).
 */
import type { CompiledPrice, RateClass, Rates, RateTable } from './price-sheet.ts';
import type { BillLine, TokenCounts } from './usage-record.ts';

/** Parts of the input (audioInput, imageInput) and of the output that may have prices of their own; absent: none. */
export type TokenDetails = Readonly<Partial<Record<Exclude<RateClass, keyof TokenCounts>, number>>>;

/** What was consumed: tokens of a Token price, generations (images, videos, calls) of a Request price. */
export interface Consumption {
  readonly tokens: TokenCounts;
  readonly details?: TokenDetails | undefined;
  /** The tiers that may have served it; of several the dearest counts. Absent: the standard one. */
  readonly serviceTiers?: readonly string[] | undefined;
  readonly generations: number;
}

/** What a call can consume at most. */
export interface ConsumptionBounds {
  readonly inputTokens: number;
  /** Of the whole call: the limit per answer times the number of answers. */
  readonly outputTokens: number;
  /** The body asks for one-hour cache writes; otherwise no token can become one. */
  readonly oneHourCache: boolean;
  readonly generations: number;
  /** The tiers that may serve it. Absent: the standard one. */
  readonly serviceTiers?: readonly string[] | undefined;
  /** Classes of tokens that the body can cause besides text. Absent: none. */
  readonly modalities?: readonly Modality[] | undefined;
}

export type Modality = 'audioInput' | 'audioOutput' | 'imageInput';

/** The service tier of a price's own rates. */
export const STANDARD_TIER = 'standard';
const STANDARD = [STANDARD_TIER];

/** A cost, rounded to a nano-USD, and the lines that it is the sum of. */
export interface Bill {
  readonly costNanoUsd: bigint;
  readonly lines: readonly BillLine[];
}

/** One rate times a quantity, as a numerator over the price's denominator. */
interface Charge {
  readonly name: RateClass | 'generation';
  readonly quantity: number;
  readonly rate: bigint;
}

interface Charges {
  readonly sum: bigint;
  readonly charges: readonly Charge[];
  readonly serviceTier: string;
  /** The step of the context tier; undefined: the lowest prices. */
  readonly above: number | undefined;
}

/** What a consumption costs, rounded half up. */
export function costNanoUsd(price: CompiledPrice, consumption: Consumption): bigint {
  return roundHalfUp(dearestCharges(price, consumption).sum, price.denominator);
}

/** What a consumption costs, with a line for each rate that counted. */
export function billOf(price: CompiledPrice, consumption: Consumption): Bill {
  const charges = dearestCharges(price, consumption);
  return { costNanoUsd: roundHalfUp(charges.sum, price.denominator), lines: linesOf(charges, price.denominator) };
}

/**
 * The most that a call within these bounds can cost, rounded up: all its input in the dearest class, context tier and
 * service tier that it can have.
 */
export function worstCaseNanoUsd(price: CompiledPrice, bounds: ConsumptionBounds): bigint {
  return roundUp(dearestWay(price, bounds).sum, price.denominator);
}

/** The worst case as a bill, for calls of which nothing better is known. */
export function worstCaseBill(price: CompiledPrice, bounds: ConsumptionBounds): Bill {
  const charges = dearestWay(price, bounds);
  return { costNanoUsd: roundUp(charges.sum, price.denominator), lines: linesOf(charges, price.denominator) };
}

/** The largest output whose worst case, with this input, fits the budget; 0 where not even the input fits. */
export function affordableOutputTokens(
  price: CompiledPrice, budgetNanoUsd: bigint, bounds: Omit<ConsumptionBounds, 'outputTokens' | 'generations'>,
): number {
  // ⌈sum/denominator⌉ ≤ budget is sum ≤ budget · denominator
  const budget = budgetNanoUsd * price.denominator;
  const fitting = waysOf(price, bounds).map(({ input, inputTokens, output }): bigint => {
    const left = budget - charge(input.rate, inputTokens);
    if (left < 0n) return 0n;
    return output.rate === 0n ? BigInt(Number.MAX_SAFE_INTEGER) : left / output.rate;
  });
  const tokens = fitting.reduce((least, each) => (each < least ? each : least), BigInt(Number.MAX_SAFE_INTEGER));
  return Number(tokens);
}

function dearestCharges(price: CompiledPrice, consumption: Consumption): Charges {
  const { serviceTiers = STANDARD } = consumption;
  return dearest((serviceTiers.length === 0 ? STANDARD : serviceTiers)
    .map((tier) => chargesIn(price, tier, consumption)));
}

/** A context tier counts for the whole request, by all of its input. */
function chargesIn(price: CompiledPrice, serviceTier: string, consumption: Consumption): Charges {
  const { tokens, details = {}, generations } = consumption;
  const table = tableOf(price, serviceTier);
  const whole = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
  const tier = table.contextTiers.findLast(({ above }) => whole > above);
  const charges: Charge[] = classCounts(tier?.perToken ?? table.perToken, tokens, details);
  charges.push({ name: 'generation', quantity: generations, rate: price.perGeneration });
  return withSum({ charges, serviceTier: nameOf(price, serviceTier), above: tier?.above });
}

function nameOf({ serviceTiers }: CompiledPrice, tier: string): string {
  return serviceTiers.has(tier) ? tier : STANDARD_TIER;
}

/** A tier without a price costs what the standard one does. */
function tableOf(price: CompiledPrice, tier: string): RateTable {
  return price.serviceTiers.get(tier) ?? price;
}

/** Parts whose rate is that of the whole stay in it. */
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

/** A context tier and service tier that a call can reach, with the dearest classes in it. */
interface Way {
  readonly serviceTier: string;
  readonly above: number | undefined;
  /** At most so many tokens, or the request is in the next context tier. */
  readonly inputTokens: number;
  readonly input: { readonly name: RateClass; readonly rate: bigint };
  readonly output: { readonly name: RateClass; readonly rate: bigint };
}

function dearestWay(price: CompiledPrice, bounds: ConsumptionBounds): Charges {
  const generations: Charge = { name: 'generation', quantity: bounds.generations, rate: price.perGeneration };
  return dearest(waysOf(price, bounds).map(({ serviceTier, above, inputTokens, input, output }) => withSum({
    serviceTier, above,
    charges: [{ ...input, quantity: inputTokens }, { ...output, quantity: bounds.outputTokens }, generations],
  })));
}

function waysOf(price: CompiledPrice, bounds: Omit<ConsumptionBounds, 'outputTokens' | 'generations'>): Way[] {
  const { serviceTiers = STANDARD, inputTokens } = bounds;
  return (serviceTiers.length === 0 ? STANDARD : serviceTiers).flatMap((serviceTier) => {
    const table = tableOf(price, serviceTier);
    const reached = table.contextTiers.filter(({ above }) => inputTokens > above);
    const steps = [{ above: undefined, perToken: table.perToken }, ...reached];
    return steps.map(({ above, perToken }, index): Way => ({
      serviceTier: nameOf(price, serviceTier), above, inputTokens: steps[index + 1]?.above ?? inputTokens,
      ...dearestClasses(perToken, bounds),
    }));
  });
}

function dearestClasses(
  rates: Rates, { oneHourCache, modalities = [] }: Pick<ConsumptionBounds, 'oneHourCache' | 'modalities'>,
): Pick<Way, 'input' | 'output'> {
  const inputs: RateClass[] = ['input', 'cached', 'cacheWrite5m'];
  if (oneHourCache) inputs.push('cacheWrite1h');
  const outputs: RateClass[] = ['output', 'reasoning', 'imageOutput'];
  for (const modality of modalities) (modality === 'audioOutput' ? outputs : inputs).push(modality);
  const top = (names: readonly RateClass[]): Way['input'] => names.map((name) => ({ name, rate: rates[name] }))
    .reduce((a, b) => (b.rate > a.rate ? b : a));
  return { input: top(inputs), output: top(outputs) };
}

function dearest(all: readonly Charges[]): Charges {
  return all.reduce((a, b) => (b.sum > a.sum ? b : a));
}

function withSum(charges: Omit<Charges, 'sum'>): Charges {
  return { ...charges, sum: charges.charges.reduce((sum, { rate, quantity }) => sum + charge(rate, quantity), 0n) };
}

/** Counts are whole and not negative. If a defect makes them anything else, the price must not fall or throw. */
function charge(numerator: bigint, count: number): bigint {
  if (numerator === 0n || !(count > 0)) return 0n;
  return numerator * BigInt(wholeCount(count));
}

function wholeCount(count: number): number {
  return Number.isSafeInteger(count) ? count : Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER);
}

function roundHalfUp(sum: bigint, denominator: bigint): bigint {
  return (2n * sum + denominator) / (2n * denominator);
}

function roundUp(sum: bigint, denominator: bigint): bigint {
  return (sum + denominator - 1n) / denominator;
}

/** Free classes have a line too, because their tokens are part of the call. */
function linesOf({ charges, serviceTier, above }: Charges, denominator: bigint): BillLine[] {
  const isRequest = charges.some(({ name, quantity, rate }) => name === 'generation' && quantity > 0 && rate > 0n);
  const counted = charges.filter(({ name, quantity }) =>
    quantity > 0 && (name === 'generation') === isRequest);
  return counted.map(({ name, quantity, rate }) => ({
    dimension: name === 'cached' ? 'cacheRead' : name,
    quantity: wholeCount(quantity),
    rateUsd: rateUsd(rate, denominator, name === 'generation' ? 1 : 1_000_000),
    ...serviceTier !== STANDARD_TIER && { serviceTier },
    ...above !== undefined && { above },
  }));
}

/** USD for so many units, as an exact decimal: the denominator is a power of ten. */
function rateUsd(rate: bigint, denominator: bigint, per: number): string {
  const places = denominator.toString().length - 1 + 9 - (per.toString().length - 1);
  const digits = rate.toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  const whole = digits.slice(0, -places);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
