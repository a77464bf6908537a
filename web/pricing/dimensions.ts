/**
 * [P] The prices of a model beyond one rate per class: by context tier, service tier and region, and for uses of the
 * provider's tools, as JSON and as a list for people.
 */
import { formatDecimal } from '../decimal.ts';
import { html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';

const CLASSES = {
  input: 'input',
  output: 'output',
  cacheRead: 'cached input',
  cacheWrite5m: '5-minute cache writes',
  cacheWrite1h: '1-hour cache writes',
  reasoning: 'reasoning',
  audioInput: 'audio input',
  audioOutput: 'audio output',
  imageInput: 'image input',
  imageOutput: 'image output',
} as const;
type RateName = keyof typeof CLASSES;

/** USD per million tokens, in billionths. */
export type StatedRates = { readonly [Name in RateName]?: bigint | undefined };

export interface ContextTierPrice {
  readonly above: number;
  readonly usdPerMillion: StatedRates | undefined;
  readonly inputMultiplierE9?: bigint | undefined;
  readonly outputMultiplierE9?: bigint | undefined;
}

export interface ServiceTierPrice {
  readonly name: string;
  readonly multiplierE9?: bigint | undefined;
  readonly usdPerMillion: StatedRates | undefined;
  readonly contextTiers: readonly ContextTierPrice[];
}

/** As a catalog states them, before any group's ratio. */
export interface Dimensions {
  readonly usdPerMillion: StatedRates | undefined;
  readonly contextTiers: readonly ContextTierPrice[];
  readonly serviceTiers: readonly ServiceTierPrice[];
  readonly perUse:
    | {
        readonly webSearchNanoUsd?: bigint | undefined;
        readonly webFetchNanoUsd?: bigint | undefined;
        readonly fileSearchNanoUsd?: bigint | undefined;
      }
    | undefined;
  readonly regions: readonly { readonly name: string; readonly multiplierE9: bigint }[];
  readonly perImage: readonly ImagePrice[];
  readonly perSecond: readonly Omit<ImagePrice, 'quality'>[];
  /** The highest of `perSecond`, if that is given. */
  readonly perSecondNanoUsd?: bigint | undefined;
  /** Of audio that is read. */
  readonly perMinuteNanoUsd?: bigint | undefined;
  /** Of text that is spoken. */
  readonly perMillionCharactersNanoUsd?: bigint | undefined;
  /** Prices of channels, whose names are not shown. */
  readonly channelPrices?: readonly unknown[];
  readonly channelRates?: readonly unknown[];
}

/** Empty size or quality: any. */
interface ImagePrice {
  readonly size: string;
  readonly quality: string;
  readonly nanoUsd: bigint;
}

type DecimalsOrNull = Readonly<Record<string, string>> | null;

/** null: the price has none of it. Decimals are strings. */
export interface DimensionsJson {
  readonly usd_per_million: DecimalsOrNull;
  readonly context_tiers: readonly ContextTierJson[] | null;
  readonly service_tiers: Readonly<Record<string, ServiceTierJson>> | null;
  readonly per_use_usd: DecimalsOrNull;
  readonly regions: DecimalsOrNull;
  /** null in an entry: any. */
  readonly per_image:
    | readonly {
        readonly size: string | null;
        readonly quality: string | null;
        readonly usd: string;
      }[]
    | null;
  readonly per_second: readonly { readonly size: string | null; readonly usd: string }[] | null;
  /** The highest of `per_second`, if that is given. */
  readonly per_second_usd: string | null;
  readonly per_minute_usd: string | null;
  readonly per_million_characters_usd: string | null;
}

interface ContextTierJson {
  readonly above: number;
  readonly usd_per_million: DecimalsOrNull;
  readonly input_multiplier: string | null;
  readonly output_multiplier: string | null;
}

interface ServiceTierJson {
  readonly multiplier: string | null;
  readonly usd_per_million: DecimalsOrNull;
  readonly context_tiers: readonly ContextTierJson[] | null;
}

/** Prices as `/pricing.json` has them. */
export function dimensionsJson({
  usdPerMillion,
  contextTiers,
  serviceTiers,
  perUse,
  regions,
  perImage,
  perSecond,
  perSecondNanoUsd,
  perMinuteNanoUsd,
  perMillionCharactersNanoUsd,
}: Dimensions): DimensionsJson {
  return {
    usd_per_million: ratesJson(usdPerMillion),
    context_tiers: tiersJson(contextTiers),
    service_tiers:
      serviceTiers.length === 0
        ? null
        : Object.fromEntries(
            serviceTiers.map((tier) => [
              tier.name,
              {
                multiplier: decimalOrNull(tier.multiplierE9),
                usd_per_million: ratesJson(tier.usdPerMillion),
                context_tiers: tiersJson(tier.contextTiers),
              },
            ]),
          ),
    per_use_usd: perUse
      ? decimals([
          ['web_search', perUse.webSearchNanoUsd],
          ['web_fetch', perUse.webFetchNanoUsd],
          ['file_search', perUse.fileSearchNanoUsd],
        ])
      : null,
    regions: regions.length === 0 ? null : decimals(regions.map(({ name, multiplierE9 }) => [name, multiplierE9])),
    per_image:
      perImage.length === 0
        ? null
        : perImage.map(({ size, quality, nanoUsd }) => ({
            size: size === '' ? null : size,
            quality: quality === '' ? null : quality,
            usd: formatDecimal(nanoUsd),
          })),
    per_second:
      perSecond.length === 0
        ? null
        : perSecond.map(({ size, nanoUsd }) => ({ size: size === '' ? null : size, usd: formatDecimal(nanoUsd) })),
    per_second_usd: decimalOrNull(perSecondNanoUsd),
    per_minute_usd: decimalOrNull(perMinuteNanoUsd),
    per_million_characters_usd: decimalOrNull(perMillionCharactersNanoUsd),
  };
}

function tiersJson(tiers: readonly ContextTierPrice[]): ContextTierJson[] | null {
  return tiers.length === 0
    ? null
    : tiers.map(({ above, usdPerMillion, inputMultiplierE9, outputMultiplierE9 }) => ({
        above,
        usd_per_million: ratesJson(usdPerMillion),
        input_multiplier: decimalOrNull(inputMultiplierE9),
        output_multiplier: decimalOrNull(outputMultiplierE9),
      }));
}

/** Dollars per million tokens of each class that is stated. */
export function ratesJson(rates: StatedRates | undefined): DecimalsOrNull {
  return rates ? decimals(namesOf(rates).map((name) => [snake(name), rates[name]])) : null;
}

function namesOf(rates: StatedRates): RateName[] {
  return Object.keys(CLASSES).filter(
    (name): name is RateName =>
      Object.hasOwn(rates, name) && Object.entries(rates).some(([own, value]) => own === name && value !== undefined),
  );
}

/** cacheWrite5m is cache_write_5m. */
function snake(name: string): string {
  return name.replaceAll(/[A-Z]|\d\w/g, (part) => `_${part.toLowerCase()}`);
}

function decimals(entries: readonly (readonly [string, bigint | undefined])[]): Record<string, string> {
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, formatDecimal(value)]])),
  );
}

function decimalOrNull(value: bigint | undefined): string | null {
  return value === undefined ? null : formatDecimal(value);
}

/** What else a call can cost; nothing if there is only one rate per class. */
export function renderDimensions(dimensions: Dimensions): Html {
  const { usdPerMillion, contextTiers, serviceTiers, regions } = dimensions;
  const others = usdPerMillion
    ? namesOf(usdPerMillion).filter(
        (name) => !['input', 'output', 'cacheRead'].includes(name) && !name.startsWith('cacheWrite'),
      )
    : [];
  const lines = [
    ...others.map((name): Line => [CLASSES[name], `${dollars(usdPerMillion?.[name])} per million tokens`]),
    ...contextTiers.map(describeStep),
    ...serviceTiers.flatMap((tier): Line[] => [
      [`Service tier ${tier.name}`, tier.usdPerMillion ? describeRates(tier.usdPerMillion) : times(tier.multiplierE9)],
      ...tier.contextTiers.map((step): Line => {
        const [what, price] = describeStep(step);
        return [`Service tier ${tier.name}, ${what.toLowerCase()}`, price];
      }),
    ]),
    ...regions.map(({ name, multiplierE9 }): Line => [`In the region ${name}`, times(multiplierE9)]),
    ...describeUses(dimensions.perUse),
    ...dimensions.perImage.map(describeImage),
    ...describeSeconds(dimensions),
    ...describeAudio(dimensions),
  ];
  if (lines.length === 0) return NOTHING;
  const rules = [
    ...(contextTiers.length > 0 ? ["A request above a step pays the step's prices for all of its tokens."] : []),
    ...(serviceTiers.length > 0 ? ['The service tier that the answer names counts.'] : []),
    'All of it is at group ratio 1.',
  ];
  return html`<h3>What else counts</h3>
    <dl class="facts model-facts">
      ${lines.map(
        ([what, price]) =>
          html`<dt>${what}</dt>
            <dd>${price}</dd>`,
      )}
    </dl>
    <p class="soft">${rules.join(' ')}</p>`;
}

type Line = readonly [what: string, price: string];

function describeStep({ above, usdPerMillion, inputMultiplierE9, outputMultiplierE9 }: ContextTierPrice): Line {
  const price = usdPerMillion
    ? describeRates(usdPerMillion)
    : `input ${times(inputMultiplierE9)}, output ${times(outputMultiplierE9)}`;
  return [`Above ${above.toLocaleString('en-US')} tokens of input`, price];
}

function describeImage({ size, quality, nanoUsd }: ImagePrice): Line {
  const named = [size, quality === '' ? '' : `${quality} quality`].filter((part) => part !== '').join(', ');
  return [named === '' ? 'An image of any other size and quality' : `An image, ${named}`, dollars(nanoUsd)];
}

function describeSeconds({ perSecond, perSecondNanoUsd }: Dimensions): Line[] {
  if (perSecond.length > 0)
    return perSecond.map(({ size, nanoUsd }) => [
      size === '' ? 'A second of a video of any other size' : `A second of a video, ${size}`,
      dollars(nanoUsd),
    ]);
  return perSecondNanoUsd === undefined ? [] : [['A second of a video', dollars(perSecondNanoUsd)]];
}

function describeAudio({ perMinuteNanoUsd, perMillionCharactersNanoUsd }: Dimensions): Line[] {
  const prices = [
    ['A minute of audio, by the second', perMinuteNanoUsd],
    ['A million characters spoken', perMillionCharactersNanoUsd],
  ] as const;
  return prices.flatMap(([what, nanoUsd]): Line[] => (nanoUsd === undefined ? [] : [[what, dollars(nanoUsd)]]));
}

function describeRates(rates: StatedRates): string {
  return `${namesOf(rates)
    .map((name) => `${CLASSES[name]} ${dollars(rates[name])}`)
    .join(', ')} per million`;
}

function describeUses(uses: Dimensions['perUse']): Line[] {
  const prices = [
    ['A search of the web', uses?.webSearchNanoUsd],
    ['A page fetched', uses?.webFetchNanoUsd],
    ['A search of files', uses?.fileSearchNanoUsd],
  ] as const;
  return prices.flatMap(([what, nanoUsd]): Line[] => (nanoUsd === undefined ? [] : [[what, dollars(nanoUsd)]]));
}

function times(multiplierE9: bigint | undefined): string {
  return multiplierE9 === undefined ? '× 1' : `× ${formatDecimal(multiplierE9)}`;
}

function dollars(billionths: bigint | undefined): string {
  return `$${formatDecimal(billionths ?? 0n, 2)}`;
}
