/**
 * The parts of prices that no edit changes, besides one rate per class: context tiers, a service tier, a region,
 * searches by the provider, prices of channels, and what channels cost the platform. Manifests and oracle read the same
 * tables.
 */
import type { ChannelName, ModelName } from './config.ts';

/** Decimals of USD per million tokens. */
export interface Rates {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite5m: string;
  readonly cacheWrite1h: string;
}

/** In place of the model's price: rates, or USD per call. */
interface OwnPrice {
  readonly multiplier?: string;
  readonly rates?: Rates;
  readonly requestUsd?: string;
}

type ByModel<T> = Readonly<Partial<Record<ModelName, T>>>;
type ByChannel<T> = Readonly<Partial<Record<ChannelName, T>>>;

/** The tier that OpenAI's channels report now and then. Only one model has a price for it. */
export const TIER = 'priority';

export interface Step {
  readonly above: number;
  readonly inputMultiplier: string;
  readonly outputMultiplier: string;
}

export const STEPS: ByModel<Step> = {
  'gpt-model': { above: 300, inputMultiplier: '2', outputMultiplier: '1.5' },
  'mixed-model': { above: 250, inputMultiplier: '1.333333333', outputMultiplier: '1' },
};

export const TIERS: ByModel<string> = { 'gpt-model': '2.000000007' };

/** The region that requests may ask for, and that Anthropic's channels may serve in unasked, with its multiplier. */
export const REGION = 'us';

export const REGIONS: ByModel<string> = { 'claude-model': '1.100000007' };

/** USD per search of the web, which Anthropic's channels make for requests that ask for it. */
export const SEARCHES: ByModel<string> = { 'claude-model': '0.000300007' };

export const CHANNEL_PRICES: ByModel<ByChannel<OwnPrice>> = {
  'gpt-model': { 'openai/second': { multiplier: '1.7' } },
  'flat-model': { 'openai/second': { requestUsd: '0.007000001' } },
  'claude-model': { 'anthropic/second': { rates: {
    input: '6', output: '31.5', cacheRead: '0.7', cacheWrite5m: '7.3', cacheWrite1h: '11.1',
  } } },
};

/** Multipliers of the costs, by channel; a channel without one states no cost. */
export const COST_CHANNELS: ByChannel<string> = {
  'openai/first': '0.85', 'openai/second': '1', 'anthropic/second': '1.000000003',
};

export const COSTS: ByModel<OwnPrice> = {
  'gpt-model': { rates: {
    input: '0.9', output: '4.1', cacheRead: '0.3', cacheWrite5m: '1.3', cacheWrite1h: '1.7',
  } },
  'claude-model': { rates: { input: '5', output: '25', cacheRead: '0.5', cacheWrite5m: '6.25', cacheWrite1h: '10' } },
  'flat-model': { requestUsd: '0.002' },
};

/** The further fields of a model's price, for a flow mapping of YAML; empty: none. */
export function extrasOf(model: string): string {
  const { [model as ModelName]: step } = STEPS;
  const { [model as ModelName]: tier } = TIERS;
  const { [model as ModelName]: region } = REGIONS;
  const { [model as ModelName]: search } = SEARCHES;
  const { [model as ModelName]: channels = {} } = CHANNEL_PRICES;
  const own = Object.entries(channels).map(([channel, price]) => `{channel: ${channel}, ${fieldsOf(price)}}`);
  return [
    ...step ? [`contextTiers: [${stepText(step)}]`] : [],
    ...tier === undefined ? [] : [`serviceTiers: {${TIER}: {multiplier: "${tier}"}}`],
    ...region === undefined ? [] : [`regions: {${REGION}: "${region}"}`],
    ...search === undefined ? [] : [`perUse: {webSearchUsd: "${search}"}`],
    ...own.length === 0 ? [] : [`channels: [${own.join(', ')}]`],
  ].map((field) => `, ${field}`).join('');
}

/** The catalog of costs; its prices have the same steps and tiers. */
export function costsManifest(): string {
  const models = Object.entries(COSTS).map(([model, price]) => {
    const quotaType = price.requestUsd === undefined ? 'Token' : 'Request';
    const { [model as ModelName]: step } = STEPS;
    const { [model as ModelName]: tier } = TIERS;
    const tiers = [
      ...step ? [`, contextTiers: [${stepText(step)}]`] : [],
      ...tier === undefined ? [] : [`, serviceTiers: {${TIER}: {multiplier: "${tier}"}}`],
    ].join('');
    return `  - {name: ${model}, vendor: Chaos, quotaType: ${quotaType}, ${fieldsOf(price)}${tiers}}\n`;
  });
  return 'apiVersion: modelgateway.dev/v1alpha1\nkind: PriceCatalog\nmetadata: {name: costs}\n' +
    `spec:\n  purpose: Costs\n  models:\n${models.join('')}---\n`;
}

/** The field `cost` of a channel, for a flow mapping; empty: it states none. */
export function costField(channel: ChannelName): string {
  const { [channel]: multiplier } = COST_CHANNELS;
  return multiplier === undefined ? '' : `, cost: {catalogRef: {name: costs}, multiplier: "${multiplier}"}`;
}

function stepText({ above, inputMultiplier, outputMultiplier }: Step): string {
  return `{above: ${above}, inputMultiplier: "${inputMultiplier}", outputMultiplier: "${outputMultiplier}"}`;
}

function fieldsOf({ multiplier, rates, requestUsd }: OwnPrice): string {
  if (multiplier !== undefined) return `multiplier: "${multiplier}"`;
  if (requestUsd !== undefined) return `requestUsd: "${requestUsd}"`;
  return `usdPerMillion: {${Object.entries(rates ?? {}).map(([name, usd]) => `${name}: "${usd}"`).join(', ')}}`;
}
