/**
 * Computes what a call must cost, independently of the gateway: from what the provider reported, or from what it
 * produced, at the price in force at admission. Only the estimate of an input is the gateway's own, because the gateway
 * defines it.
 */
import { readChatFacts as readAnthropic } from '../../dataplane/protocol/anthropic/facts.ts';
import { estimateInput } from '../../dataplane/protocol/estimate.ts';
import { readEmbeddingsFacts } from '../../dataplane/protocol/openai/embeddings.ts';
import { readChatFacts as readOpenai } from '../../dataplane/protocol/openai/facts.ts';
import { CONTEXT_TOKENS, IMAGE_TOKENS, KEYS } from './config.ts';
import type { ChannelName, Config, GroupName, KeyName, ModelName, Price } from './config.ts';
import { CHANNEL_PRICES, COST_CHANNELS, COSTS, REGION, REGIONS, SEARCHES, STEPS, TIER, TIERS } from './price-extras.ts';
import type { Rates } from './price-extras.ts';
import { LETTER_BYTES } from './fate.ts';
import type { AnswerFate, Asked } from './fate.ts';
import type { Tokens } from './ledger-file.ts';
import type { CallPlan } from './plan.ts';

export const NO_TOKENS: Tokens = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

const E9 = 10n ** 9n;
/** Ratios of the API reference: USD per million tokens at ratio 1. */
const BASE_E9 = 2n * E9;
/** Nine factors of 10⁻⁹ (class, model, base; step, tier, region, channel; two ratios) and one of 10⁻⁶, in nano-USD. */
const TOKEN_DENOMINATOR = 10n ** (9n * 9n + 6n - 9n);
/** Three factors of 10⁻⁹ (channel, two ratios) of nano-USD. */
const UNIT_DENOMINATOR = E9 ** 3n;

/** What decides the price of a call. */
export interface Priced {
  readonly model: string;
  readonly channel: string;
  /** The service tier that served it; undefined: the standard one. */
  readonly tier: string | undefined;
  /** The region that served it; undefined: none that has a price. */
  readonly region: string | undefined;
  readonly searches: number;
  readonly tokens: Tokens;
  readonly generations: number;
}

/** The price of a call, rounded half up to the nano-dollar. */
export function priceOf(config: Config, payer: { key: KeyName; group: string }, what: Priced): bigint {
  const price = config.prices[what.model as ModelName];
  const automatic = KEYS[payer.key].group === 'smart' ? e9(config.ratios.smart) : E9;
  const ratio = e9(config.ratios[payer.group as GroupName]) * automatic;
  const own = CHANNEL_PRICES[what.model as ModelName]?.[what.channel as ChannelName] ?? {};
  const multiplier = e9(own.multiplier ?? '1');
  if (price.quotaType === 'Request') {
    const each = e9(own.requestUsd ?? price.requestUsd);
    return rounded(each * BigInt(what.generations) * ratio * multiplier, UNIT_DENOMINATOR);
  }
  const rates = own.rates ? dollarRates(own.rates) : ratioRates(price);
  const inRegion = what.region === REGION ? REGIONS[what.model as ModelName] : undefined;
  const searches = e9(SEARCHES[what.model as ModelName] ?? '0') * BigInt(what.searches);
  const tokens = weigh(rates, what) * e9(inRegion ?? '1');
  return rounded(
    (tokens + searches * (TOKEN_DENOMINATOR / UNIT_DENOMINATOR)) * multiplier * ratio, TOKEN_DENOMINATOR,
  );
}

/** What a call costs the platform; undefined: the channel states no cost. */
export function upstreamCostOf(what: Priced): bigint | undefined {
  const multiplier = COST_CHANNELS[what.channel as ChannelName];
  const cost = COSTS[what.model as ModelName];
  if (multiplier === undefined || !cost) return undefined;
  if (cost.requestUsd !== undefined)
    return rounded(e9(cost.requestUsd) * BigInt(what.generations) * e9(multiplier), E9);
  if (!cost.rates) return undefined;
  return rounded(weigh(dollarRates(cost.rates), what) * e9(multiplier) * E9 ** 3n, TOKEN_DENOMINATOR);
}

/** In 10⁻²⁷ USD per million tokens. */
type ClassRates = Readonly<Record<keyof Tokens, bigint>>;

function ratioRates(price: Price): ClassRates {
  const input = e9(price.modelRatio) * BASE_E9;
  return {
    input: input * E9, cached: input * e9(price.cacheRatio), cacheWrite5m: input * e9(price.cacheWriteRatio),
    cacheWrite1h: input * e9(price.cacheWrite1hRatio), output: input * e9(price.completionRatio),
  };
}

function dollarRates({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Rates): ClassRates {
  const scaled = (usd: string): bigint => e9(usd) * E9 * E9;
  return {
    input: scaled(input), cached: scaled(cacheRead), cacheWrite5m: scaled(cacheWrite5m),
    cacheWrite1h: scaled(cacheWrite1h), output: scaled(output),
  };
}

/** With the multipliers of the step that the whole input is above, and of the service tier. */
function weigh(rates: ClassRates, { model, tier, tokens }: Priced): bigint {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  const step = STEPS[model as ModelName];
  const isLong = step !== undefined && input + cached + cacheWrite5m + cacheWrite1h > step.above;
  const ofInput = BigInt(input) * rates.input + BigInt(cached) * rates.cached
    + BigInt(cacheWrite5m) * rates.cacheWrite5m + BigInt(cacheWrite1h) * rates.cacheWrite1h;
  const sum = ofInput * e9(isLong ? step.inputMultiplier : '1')
    + BigInt(output) * rates.output * e9(isLong ? step.outputMultiplier : '1');
  return sum * e9((tier === TIER ? TIERS[model as ModelName] : undefined) ?? '1');
}

function rounded(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

function e9(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

/** The input that is counted if the provider reports none. */
export function estimatedInput({ path, body }: Pick<CallPlan, 'path' | 'body'>): number {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  if (path === '/v1/embeddings') return readEmbeddingsFacts(parsed).estimatedTokens;
  if (path === '/v1/images/generations') return 0;
  const facts = (path === '/v1/messages' ? readAnthropic : readOpenai)(Buffer.from(body), parsed);
  return estimateInput(facts, { contextTokens: CONTEXT_TOKENS, imageTokens: IMAGE_TOKENS });
}

/** The region that a call asks for; undefined: none. */
export function regionIn({ body }: Pick<CallPlan, 'body'>): string | undefined {
  return (JSON.parse(body) as { readonly inference_geo?: string }).inference_geo;
}

/** Bytes of the text of a complete answer. */
export function textBytesOf({ pieces }: AnswerFate): number {
  return pieces.join('').length * LETTER_BYTES;
}

export interface Reported {
  /** The input side; undefined: not reported. */
  readonly input: Omit<Tokens, 'output'> | undefined;
  /** undefined: not reported, or implausible. */
  readonly output: number | undefined;
}

/** The plausible figures of a complete answer. */
export function reportedOf({ figures, lie }: AnswerFate, { protocol, stream }: Asked): Reported {
  // in OpenAI's protocol one event has all figures, so malformed JSON loses them all
  if (!figures || (lie === 'NaN' && protocol === 'OpenAI' && stream)) return { input: undefined, output: undefined };
  return {
    input: { input: Number(figures.input), cached:
      figures.cached, cacheWrite5m: protocol === 'Anthropic' ? figures.written : 0, cacheWrite1h: 0 },
    output: believed(figures.output),
  };
}

/** A count is a number that a call can have; parts of a token are whole ones. */
function believed(figure: unknown): number | undefined {
  return typeof figure === 'number' && figure >= 0 && figure < 2 ** 31 ? Math.ceil(figure) : undefined;
}

/** Estimates the tokens of generated text where the provider reports none: at most what was allowed. */
export function estimatedOutput(bytes: number, { limit, answers }: Asked): number {
  return Math.min(Math.ceil(bytes / 4), (limit ?? Number.POSITIVE_INFINITY) * answers);
}

/** What a call with a complete answer has consumed, and whether the provider said all of it. */
export function expectedTokens(plan: CallPlan, fate: AnswerFate, asked: Asked): { tokens: Tokens; source:
  | 'Provider' | 'Estimated' | 'Implausible' } {
  const { input, output: said } = reportedOf(fate, asked);
  const allowed = (asked.limit ?? Number.POSITIVE_INFINITY) * asked.answers;
  const output = said === undefined ? undefined : Math.min(said, allowed);
  const noOutput = asked.kind !== 'chat';
  return {
    tokens: {
      ...(input ?? { ...NO_TOKENS, input: estimatedInput(plan) }),
      output: noOutput ? 0 : output ?? estimatedOutput(textBytesOf(fate), asked),
    },
    source: asked.kind === 'chat' && said !== undefined &&
      said > allowed ? 'Implausible' : input && (output !== undefined || noOutput) ? 'Provider' : 'Estimated',
  };
}
