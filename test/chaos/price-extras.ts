/**
 * The parts of prices that no edit changes, besides one rate per class: rates of modalities and reasoning, context
 * tiers, a service tier, a region, searches by the provider, sizes of images, prices of channels, and what channels
 * cost the platform. Manifests and oracle read the same tables.
 */
import type { ChannelName, ModelName } from './config.ts';

/** The parts of an input and of an output that may have rates of their own. */
export const DETAILS = ['imageInput', 'audioInput', 'reasoning', 'imageOutput', 'audioOutput'] as const;
export type Detail = (typeof DETAILS)[number];

/** Decimals of USD per million tokens. A part without a rate has that of the input or output. */
export interface Rates extends Readonly<Partial<Record<Detail, string>>> {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite5m: string;
  readonly cacheWrite1h: string;
}

/** In place of the model's price: rates, with others above a length, or USD per call. */
interface OwnPrice {
  readonly multiplier?: string;
  readonly rates?: Rates;
  /** Ascending by `above`. */
  readonly long?: readonly { readonly above: number; readonly rates: Rates }[];
  readonly requestUsd?: string;
}

type ByModel<T> = Readonly<Partial<Record<ModelName, T>>>;
type ByChannel<T> = Readonly<Partial<Record<ChannelName, T>>>;

/** The price of a model in dollars, except that of its input, which edits change. */
export const RATES: ByModel<Omit<Rates, 'input'>> = {
  'omni-model': {
    output: '5.000000003',
    cacheRead: '0.3',
    cacheWrite5m: '0.9',
    cacheWrite1h: '1.1',
    imageInput: '1.700000001',
    audioInput: '6.3',
    reasoning: '21.000000007',
    imageOutput: '6.5',
    audioOutput: '29.1',
  },
};

/** An image's price by what it looks like. Every other image costs the price that edits change. */
export interface ImagePrice extends Look {
  readonly usd: string;
}

/** Undefined: any, or not known. */
export interface Look {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
}

export const IMAGES: ByModel<readonly ImagePrice[]> = {
  'sized-image-model': [
    { size: '1024x1024', quality: 'low', usd: '0.001000001' },
    { size: '1024x1024', quality: 'high', usd: '0.0123' },
    { size: '1536x1024', usd: '0.009000007' },
    { quality: 'low', usd: '0.0015' },
  ],
};

/** What requests for images ask for, and answers name. Not every one of them has a price. */
export const SIZES = ['1024x1024', '1536x1024', '256x256'] as const;
export const QUALITIES = ['low', 'high', 'medium'] as const;

/** The tier that channels report now and then. Not every model has a price for it. */
export const TIER = 'priority';

export interface Step {
  readonly above: number;
  readonly inputMultiplier: string;
  readonly outputMultiplier: string;
}

/** Ascending. The last step of claude-model begins where no request can be: above its context. */
export const STEPS: ByModel<readonly Step[]> = {
  'gpt-model': [{ above: 300, inputMultiplier: '2', outputMultiplier: '1.5' }],
  'mixed-model': [{ above: 250, inputMultiplier: '1.333333333', outputMultiplier: '1' }],
  'omni-model': [{ above: 350, inputMultiplier: '1.7', outputMultiplier: '1.2' }],
  'claude-model': [
    { above: 900, inputMultiplier: '1.5', outputMultiplier: '1.25' },
    { above: 6_000, inputMultiplier: '4', outputMultiplier: '3' },
  ],
};

export const TIERS: ByModel<string> = {
  'gpt-model': '2.000000007',
  'omni-model': '1.1',
  'claude-model': '1.6',
};

/** The region that requests may ask for, and that Anthropic's channels may serve in unasked, with its multiplier. */
export const REGION = 'us';

export const REGIONS: ByModel<string> = { 'claude-model': '1.100000007' };

/** USD per search of the web, which Anthropic's channels make for requests that ask for it. */
export const SEARCHES: ByModel<string> = { 'claude-model': '0.000300007' };

export const CHANNEL_PRICES: ByModel<ByChannel<OwnPrice>> = {
  'gpt-model': { 'openai/second': { multiplier: '1.7' } },
  'flat-model': { 'openai/second': { requestUsd: '0.007000001' } },
  'omni-model': {
    'openai/second': {
      rates: {
        input: '0.9',
        output: '4.7',
        cacheRead: '0.4',
        cacheWrite5m: '1.1',
        cacheWrite1h: '1.3',
        imageInput: '1.9',
        audioInput: '7.1',
        reasoning: '21.7',
        imageOutput: '6.1',
        audioOutput: '30.3',
      },
      long: [
        {
          above: 350,
          rates: {
            input: '1.2',
            output: '5.3',
            cacheRead: '0.5',
            cacheWrite5m: '1.5',
            cacheWrite1h: '1.7',
            imageInput: '2.3',
            audioInput: '8.9',
            reasoning: '26.1',
            imageOutput: '6.3',
            audioOutput: '37.3',
          },
        },
      ],
    },
  },
  'claude-model': {
    'anthropic/second': {
      rates: {
        input: '0.5',
        output: '2.1',
        cacheRead: '0.1',
        cacheWrite5m: '0.7',
        cacheWrite1h: '0.9',
        reasoning: '4.1',
      },
      long: [
        {
          above: 900,
          rates: {
            input: '0.8',
            output: '3',
            cacheRead: '0.2',
            cacheWrite5m: '1.1',
            cacheWrite1h: '1.3',
            reasoning: '5.3',
          },
        },
        {
          above: 6_000,
          rates: {
            input: '3',
            output: '11',
            cacheRead: '0.7',
            cacheWrite5m: '4.1',
            cacheWrite1h: '5',
            reasoning: '17',
          },
        },
      ],
    },
  },
};

/** Multipliers of the costs, by channel; a channel without one states no cost. */
export const COST_CHANNELS: ByChannel<string> = {
  'openai/first': '0.85',
  'openai/second': '1',
  'anthropic/second': '1.000000003',
};

export const COSTS: ByModel<OwnPrice> = {
  'gpt-model': {
    rates: {
      input: '0.9',
      output: '4.1',
      cacheRead: '0.3',
      cacheWrite5m: '1.3',
      cacheWrite1h: '1.7',
    },
  },
  'claude-model': { rates: { input: '5', output: '25', cacheRead: '0.5', cacheWrite5m: '6.25', cacheWrite1h: '10' } },
  'flat-model': { requestUsd: '0.002' },
  'omni-model': {
    rates: {
      input: '1.9',
      output: '3.7',
      cacheRead: '0.5',
      cacheWrite5m: '2.3',
      cacheWrite1h: '3.1',
      imageInput: '3.3',
      audioInput: '8.9',
      reasoning: '15.1',
      imageOutput: '5.9',
      audioOutput: '22.3',
    },
  },
};

/** The further fields of a model's price, for a flow mapping of YAML; empty: none. */
export function extrasOf(model: string): string {
  const { [model as ModelName]: tier } = TIERS;
  const { [model as ModelName]: region } = REGIONS;
  const { [model as ModelName]: search } = SEARCHES;
  const { [model as ModelName]: channels = {} } = CHANNEL_PRICES;
  const own = Object.entries(channels).map(([channel, price]) => `{channel: ${channel}, ${fieldsOf(price)}}`);
  return [
    ...stepsField(model),
    ...(tier === undefined ? [] : [`serviceTiers: {${TIER}: {multiplier: "${tier}"}}`]),
    ...(region === undefined ? [] : [`regions: {${REGION}: "${region}"}`]),
    ...(search === undefined ? [] : [`perUse: {webSearchUsd: "${search}"}`]),
    ...(own.length === 0 ? [] : [`channels: [${own.join(', ')}]`]),
  ]
    .map((field) => `, ${field}`)
    .join('');
}

/** The catalog of costs; its prices have the same steps and tiers. */
export function costsManifest(): string {
  const models = Object.entries(COSTS).map(([model, price]) => {
    const quotaType = price.requestUsd === undefined ? 'Token' : 'Request';
    const { [model as ModelName]: tier } = TIERS;
    const tiers = [
      ...stepsField(model),
      ...(tier === undefined ? [] : [`serviceTiers: {${TIER}: {multiplier: "${tier}"}}`]),
    ]
      .map((field) => `, ${field}`)
      .join('');
    return `  - {name: ${model}, vendor: Chaos, quotaType: ${quotaType}, ${fieldsOf(price)}${tiers}}\n`;
  });
  return (
    'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\nmetadata: {name: costs}\n' +
    `spec:\n  purpose: Costs\n  models:\n${models.join('')}---\n`
  );
}

/** The field `cost` of a channel, for a flow mapping; empty: it states none. */
export function costField(channel: ChannelName): string {
  const { [channel]: multiplier } = COST_CHANNELS;
  return multiplier === undefined ? '' : `, cost: {catalogRef: {name: costs}, multiplier: "${multiplier}"}`;
}

/** The main fields of a price in dollars; undefined: the model has none. */
export function dollarFields(model: string, inputUsd: string): string | undefined {
  const { [model as ModelName]: rates } = RATES;
  return rates && fieldsOf({ rates: { input: inputUsd, ...rates } });
}

/** The main field of a price by the look of images; undefined: the model has none. */
export function imageFields(model: string, otherUsd: string): string | undefined {
  const { [model as ModelName]: entries } = IMAGES;
  const text = (entry: ImagePrice): string =>
    `{${Object.entries(entry)
      .map(([name, value]) => `${name}: "${value}"`)
      .join(', ')}}`;
  return entries && `perImage: [${[...entries, { usd: otherUsd }].map(text).join(', ')}]`;
}

/** The main field of a price by the second or the character; undefined: the model has none. */
export function lengthFields(model: string, usd: string): string | undefined {
  if (model === 'film-model') return `perSecondUsd: "${usd}"`;
  return model === SPEAKING ? `perMillionCharactersUsd: "${usd}"` : undefined;
}

/** The model whose price is by the character. */
export const SPEAKING = 'voice-model';

function stepsField(model: string): readonly string[] {
  const steps = STEPS[model as ModelName]?.map(
    ({ above, inputMultiplier, outputMultiplier }) =>
      `{above: ${above}, inputMultiplier: "${inputMultiplier}", outputMultiplier: "${outputMultiplier}"}`,
  );
  return steps ? [`contextTiers: [${steps.join(', ')}]`] : [];
}

function fieldsOf({ multiplier, rates, long = [], requestUsd }: OwnPrice): string {
  if (multiplier !== undefined) return `multiplier: "${multiplier}"`;
  if (requestUsd !== undefined) return `requestUsd: "${requestUsd}"`;
  const tiers = long.map((step) => `{above: ${step.above}, ${ratesField(step.rates)}}`);
  return ratesField(rates ?? {}) + (tiers.length === 0 ? '' : `, contextTiers: [${tiers.join(', ')}]`);
}

function ratesField(rates: Partial<Rates>): string {
  return `usdPerMillion: {${Object.entries(rates)
    .map(([name, usd]) => `${name}: "${usd}"`)
    .join(', ')}}`;
}
