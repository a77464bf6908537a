/** A model's price in a public list, in a form that all lists share. */
import { divide, formatDecimalText, isZero, parseDecimalText, shift, times } from './decimal-text.ts';
import type { Decimal } from './decimal-text.ts';

export const CLASSES = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'reasoning',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
] as const;
export type RateName = (typeof CLASSES)[number];
export type Rates = { [Name in RateName]?: Decimal };

/** As a PriceCatalog has it. */
export interface GenerationPrice {
  readonly field: 'requestUsd' | 'perSecondUsd' | 'perMinuteUsd' | 'perMillionCharactersUsd';
  readonly usd: Decimal;
}

/** The list's prices of one model, in USD per million tokens. */
export interface ListedPrice {
  readonly vendor: string;
  readonly base: Rates;
  /** Rates by the threshold in tokens. */
  readonly steps: Map<number, Rates>;
  /** Rates by the tier's name, with the tier's own thresholds. */
  readonly tiers: Map<string, { readonly base: Rates; readonly steps: Map<number, Rates> }>;
  readonly tierMultipliers: Map<string, Decimal>;
  readonly regions: Map<string, Decimal>;
  readonly perUse: Map<string, Decimal>;
  /** A price that is not by tokens. */
  generation?: GenerationPrice;
  /** Fields that cannot be converted, each with the reason. */
  readonly refused: string[];
}

export function emptyPrice(vendor: string): ListedPrice {
  return {
    vendor,
    base: {},
    steps: new Map(),
    tiers: new Map(),
    tierMultipliers: new Map(),
    regions: new Map(),
    perUse: new Map(),
    refused: [],
  };
}

/** A list: prices by the list's own keys of models. */
export interface PriceListReader {
  /** The keys, for matches and proposals. */
  readonly keys: readonly string[];
  /** Returns undefined if the list has no such key. */
  read(key: string): ListedPrice | undefined;
}

/**
 * Reads a field as a decimal, times 10^places. If it is not a decimal or is negative, adds a remark and returns
 * undefined.
 */
export function readRate(
  price: Pick<ListedPrice, 'refused'>,
  value: unknown,
  { field, places }: { readonly field: string; readonly places: number },
): Decimal | undefined {
  if (value === undefined || value === null) return undefined;
  const decimal = typeof value === 'string' ? parseDecimalText(value) : undefined;
  if (!decimal || decimal.digits < 0n) {
    price.refused.push(`${field}: ${JSON.stringify(value)} is not a price`);
    return undefined;
  }
  return shift(decimal, places);
}

type Texts = Record<string, string>;

/** One entry of `spec.models` of a PriceCatalog. */
export type CatalogEntry = Record<string, unknown>;

export interface Carried {
  /** Undefined if the price cannot be converted; `remarks` say why. */
  readonly entry: CatalogEntry | undefined;
  readonly remarks: readonly string[];
}

/** With `allowFree`, a price of 0 is accepted as intended. */
export function toCatalogEntry(
  name: string,
  price: ListedPrice,
  { allowFree }: { readonly allowFree: boolean },
): Carried {
  const remarks = price.refused.map((what) => `not imported: ${what}`);
  const {
    base: { input },
    vendor,
    generation,
  } = price;
  if (!input && generation) return generationEntry({ name, vendor }, generation, { remarks, allowFree });
  if (!input) return { entry: undefined, remarks: [...remarks, 'the list has no price of input tokens'] };
  if (isZero(input) && !allowFree) return { entry: undefined, remarks: [...remarks, SAYS_ZERO] };
  const writer = new EntryWriter(allowFree ? price : withoutZeros(price, remarks), remarks);
  const entry = { name, vendor, quotaType: 'Token', ...writer.fields() };
  return { entry: writer.failed ? undefined : entry, remarks };
}

/** A price by image, by the second of a video, or of audio. */
function generationEntry(
  model: { readonly name: string; readonly vendor: string },
  { field, usd }: GenerationPrice,
  { remarks, allowFree }: { readonly remarks: readonly string[]; readonly allowFree: boolean },
): Carried {
  if (isZero(usd) && !allowFree) return { entry: undefined, remarks: [...remarks, SAYS_ZERO] };
  const text = formatDecimalText(usd);
  if (text === undefined) return { entry: undefined, remarks: [...remarks, `a generation: ${TOO_LONG}`] };
  return { entry: { ...model, quotaType: 'Request', [field]: text }, remarks };
}

/** In lists, 0 stands for a class without a price more often than for a free one. Adds a remark for each. */
function withoutZeros(price: ListedPrice, remarks: string[]): ListedPrice {
  const omit = (where: string): void => {
    remarks.push(`not imported: ${where}: ${SAYS_ZERO}`);
  };
  const rates = (stated: Rates, where: string): Rates => {
    const kept: Rates = {};
    for (const name of CLASSES) {
      const rate = stated[name];
      if (rate && isZero(rate)) omit(`${where} ${name}`.trim());
      else if (rate) kept[name] = rate;
    }
    return kept;
  };
  const steps = (stated: ReadonlyMap<number, Rates>, where: string): Map<number, Rates> =>
    new Map([...stated].map(([above, each]) => [above, rates(each, `${where} above ${above}`.trim())]));
  const amounts = (stated: ReadonlyMap<string, Decimal>, where: string): Map<string, Decimal> =>
    new Map(
      [...stated].filter(([name, amount]) => {
        if (isZero(amount)) omit(`${where} ${name}`.trim());
        return !isZero(amount);
      }),
    );
  return {
    ...price,
    base: rates(price.base, ''),
    steps: steps(price.steps, ''),
    tiers: new Map(
      [...price.tiers].map(([name, tier]) => {
        const where = `service tier ${name}`;
        return [name, { base: rates(tier.base, where), steps: steps(tier.steps, where) }];
      }),
    ),
    tierMultipliers: amounts(price.tierMultipliers, 'service tier'),
    regions: amounts(price.regions, 'region'),
    perUse: amounts(price.perUse, ''),
  };
}

const SAYS_ZERO = 'the price is 0: pass --allow-free to accept it';
const TOO_LONG = 'the price has more than nine decimal places and cannot be imported exactly';

class EntryWriter {
  failed = false;
  readonly #price: ListedPrice;
  readonly #remarks: string[];

  constructor(price: ListedPrice, remarks: string[]) {
    this.#price = price;
    this.#remarks = remarks;
  }

  fields(): CatalogEntry {
    const { base, steps, regions, perUse } = this.#price;
    if (!base.output) this.#remarks.push('no price of output in the list: the price of input applies');
    if (!base.cacheRead) this.#remarks.push('no price of cached input in the list: the price of input applies');
    const fields: CatalogEntry = { usdPerMillion: this.#rates(base, '') };
    if (steps.size > 0) fields['contextTiers'] = this.#steps(steps, base, '');
    const tiers = this.#tiers();
    if (Object.keys(tiers).length > 0) fields['serviceTiers'] = tiers;
    if (perUse.size > 0) fields['perUse'] = this.#texts(perUse, 'per use');
    if (regions.size > 0) fields['regions'] = this.#texts(regions, 'regions');
    return fields;
  }

  #tiers(): Record<string, unknown> {
    const { base, steps, tiers, tierMultipliers } = this.#price;
    const written: Record<string, unknown> = {};
    for (const [name, multiplier] of tierMultipliers)
      written[name] = { multiplier: this.#text(multiplier, `service tier ${name}`) };
    for (const [name, tier] of tiers) {
      const multiplier = uniformMultiplier(tier.base, base);
      const isUniform =
        multiplier &&
        [...tier.steps].every(([step, rates]) => isSame(uniformMultiplier(rates, steps.get(step) ?? {}), multiplier));
      if (isUniform) {
        written[name] = { multiplier: this.#text(multiplier, `service tier ${name}`) };
        continue;
      }
      const own = this.#completed(tier.base, base, `service tier ${name}`);
      const ownSteps = new Map(
        [...steps].map(([step, rates]) => {
          const where = `service tier ${name} above ${step}`;
          return [step, this.#completed(tier.steps.get(step) ?? {}, scaled(rates, own, base), where)];
        }),
      );
      written[name] = {
        usdPerMillion: this.#rates(own, `service tier ${name}`),
        ...(ownSteps.size > 0 && { contextTiers: this.#steps(ownSteps, own, `service tier ${name}`) }),
      };
    }
    return written;
  }

  #steps(steps: ReadonlyMap<number, Rates>, base: Rates, where: string): unknown[] {
    return [...steps]
      .sort(([a], [b]) => a - b)
      .map(([above, rates]) => {
        const place = `${where} above ${above}`.trim();
        return { above, usdPerMillion: this.#rates(this.#completed(rates, base, place), place) };
      });
  }

  /** Derives classes from the input's rate that the list has outside of the tier and not in it. */
  #completed(rates: Rates, base: Rates, where: string): Rates {
    const whole: Rates = { ...rates };
    const factor = rates.input && base.input ? divide(rates.input, base.input) : { digits: 1n, exponent: 0 };
    for (const name of CLASSES) {
      const below = base[name];
      if (whole[name] || !below || name === 'reasoning') continue;
      if (!factor) {
        this.failed = true;
        this.#remarks.push(`${where}: the list has no price of ${name}`);
        continue;
      }
      whole[name] = times(below, factor);
      const usd = formatDecimalText(whole[name]) ?? 'a price with more than nine decimal places';
      this.#remarks.push(`${where}: no price of ${name} in the list; calculated as ${usd}`);
    }
    return whole;
  }

  #rates(rates: Rates, where: string): Texts {
    return Object.fromEntries(
      CLASSES.flatMap((name) => {
        const rate = rates[name];
        return rate ? [[name, this.#text(rate, `${where} ${name}`.trim())]] : [];
      }),
    );
  }

  #texts(values: ReadonlyMap<string, Decimal>, where: string): Texts {
    return Object.fromEntries([...values].map(([name, value]) => [name, this.#text(value, `${where} ${name}`)]));
  }

  #text(value: Decimal, where: string): string {
    const text = formatDecimalText(value);
    if (text !== undefined) return text;
    this.failed = true;
    this.#remarks.push(`${where}: ${TOO_LONG}`);
    return '';
  }
}

/** The common factor between two lists of rates; undefined if there are several, or a class that has no base. */
function uniformMultiplier(rates: Rates, base: Rates): Decimal | undefined {
  const isPriced = (rate: Decimal | undefined): boolean => rate !== undefined && !isZero(rate);
  if (CLASSES.some((name) => isPriced(rates[name]) && !isPriced(base[name]))) return undefined;
  const factors = CLASSES.flatMap((name) => {
    const [own, below] = [rates[name], base[name]];
    return own && below && !isZero(below) ? [divide(own, below)] : [];
  });
  const [first, ...others] = factors;
  return first && others.every((other) => isSame(other, first)) ? first : undefined;
}

/** Scales the thresholds' rates of the price by the factor between the tier's input and the price's input. */
function scaled(rates: Rates, own: Rates, base: Rates): Rates {
  const factor = own.input && base.input ? divide(own.input, base.input) : undefined;
  if (!factor) return rates;
  return Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, times(rate, factor)]));
}

function isSame(a: Decimal | undefined, b: Decimal | undefined): boolean {
  if (!a || !b) return false;
  const least = Math.min(a.exponent, b.exponent);
  return a.digits * 10n ** BigInt(a.exponent - least) === b.digits * 10n ** BigInt(b.exponent - least);
}
