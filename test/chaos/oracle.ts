/**
 * Computes what a call must cost, independently of the gateway: from what the provider reported, or from what it
 * produced, at the price in force at admission. Only the estimate of an input is the gateway's own, because the gateway
 * defines it.
 */
import { readChatFacts as readAnthropic } from '../../dataplane/protocol/anthropic/facts.ts';
import { estimateInput } from '../../dataplane/protocol/estimate.ts';
import { readEmbeddingsFacts } from '../../dataplane/protocol/openai/embeddings.ts';
import { readChatFacts as readOpenai } from '../../dataplane/protocol/openai/facts.ts';
import { readResponseFacts as readResponse } from '../../dataplane/protocol/openai/response-facts.ts';
import { CONTEXT_TOKENS, IMAGE_TOKENS, KEYS } from './config.ts';
import type { ChannelName, Config, GroupName, KeyName, ModelName, Price } from './config.ts';
import {
  CHANNEL_PRICES,
  COST_CHANNELS,
  COSTS,
  DETAILS,
  IMAGES,
  RATES,
  REGION,
  REGIONS,
  SEARCHES,
  SPEAKING,
  STEPS,
  TIER,
  TIERS,
} from './price-extras.ts';
import type { Detail, ImagePrice, Look, Rates } from './price-extras.ts';
import { LETTER_BYTES } from './fate.ts';
import type { AnswerFate, Asked } from './fate.ts';
import type { ListedRequest } from './figures.ts';
import type { Tokens } from './ledger-file.ts';
import { isOfImages } from './plan.ts';
import type { CallPlan } from './plan.ts';

export const NO_TOKENS: Tokens = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

const E9 = 10n ** 9n;
/** Ratios of the API reference: USD per million tokens at ratio 1. */
const BASE_E9 = 2n * E9;
/** Nine factors of 10⁻⁹ (class, model, base; step, tier, region, channel; two ratios) and one of 10⁻⁶, in nano-USD. */
const TOKEN_DENOMINATOR = 10n ** (9n * 9n + 6n - 9n);
/** Three factors of 10⁻⁹ (channel, two ratios) of nano-USD. */
const UNIT_DENOMINATOR = E9 ** 3n;

/** Speech is priced by so many characters. */
const CHARACTERS = 1_000_000n;

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
  /** Parts of the input and of the output; of each there is at most the whole. */
  readonly details: PartCounts;
  /** Requests that have a length of their own; the rest of the tokens is one further request. */
  readonly requests: readonly ListedRequest[];
  readonly generations: number;
  /** Of images: what was asked for. */
  readonly look: Look;
  /** What the answer says of them. */
  readonly served: Look;
}

export type PartCounts = Readonly<Record<Detail, number>>;

/** The price of a call, rounded half up to the nano-dollar. */
export function priceOf(config: Config, payer: { key: KeyName; group: string }, what: Priced): bigint {
  const price = config.prices[what.model as ModelName];
  const automatic = KEYS[payer.key].group === 'smart' ? e9(config.ratios.smart) : E9;
  const ratio = e9(config.ratios[payer.group as GroupName]) * automatic;
  const own = CHANNEL_PRICES[what.model as ModelName]?.[what.channel as ChannelName] ?? {};
  const multiplier = e9(own.multiplier ?? '1');
  if (price.quotaType === 'Request') {
    const each = own.requestUsd === undefined ? imagePrice(what, price.requestUsd) : e9(own.requestUsd);
    const units = what.model === SPEAKING ? CHARACTERS : 1n;
    return rounded(each * BigInt(what.generations) * ratio * multiplier, UNIT_DENOMINATOR * units);
  }
  const tables = own.rates
    ? tablesOf(
        dollarRates(own.rates),
        own.long?.map(({ above, rates }) => ({ above, rates: dollarRates(rates) })),
      )
    : stepped(modelRates(what.model, price), what.model);
  const inRegion = what.region === REGION ? REGIONS[what.model as ModelName] : undefined;
  const searches = e9(SEARCHES[what.model as ModelName] ?? '0') * BigInt(what.searches);
  const tokens = weigh(tables, what) * e9(inRegion ?? '1');
  return rounded((tokens + searches * (TOKEN_DENOMINATOR / UNIT_DENOMINATOR)) * multiplier * ratio, TOKEN_DENOMINATOR);
}

/** What a call costs the platform; undefined: the channel states no cost. */
export function upstreamCostOf(what: Priced): bigint | undefined {
  const multiplier = COST_CHANNELS[what.channel as ChannelName];
  const cost = COSTS[what.model as ModelName];
  if (multiplier === undefined || !cost) return undefined;
  if (cost.requestUsd !== undefined)
    return rounded(e9(cost.requestUsd) * BigInt(what.generations) * e9(multiplier), E9);
  if (!cost.rates) return undefined;
  const tokens = weigh(stepped(dollarRates(cost.rates), what.model), what);
  return rounded(tokens * e9(multiplier) * E9 ** 3n, TOKEN_DENOMINATOR);
}

/** The price of what was made, where it is not dearer than what was asked for. */
function imagePrice({ model, look, served }: Priced, otherUsd: string): bigint {
  const all = [...(IMAGES[model as ModelName] ?? []), { usd: otherUsd }];
  const asked = lookPrice(all, look);
  const made = lookPrice(all, { size: served.size ?? look.size, quality: served.quality ?? look.quality });
  return made < asked ? made : asked;
}

/**
 * Of the entries that an image can have, the dearest; of one whose size and quality are both known, the dearest of
 * those that name most of it.
 */
function lookPrice(all: readonly ImagePrice[], { size, quality }: Look): bigint {
  const fits = (stated: string | undefined, is: string | undefined): boolean =>
    stated === undefined || is === undefined || stated === is;
  const fitting = all.filter((entry) => fits(entry.size, size) && fits(entry.quality, quality));
  const named = (entry: Look): number => [entry.size, entry.quality].filter((each) => each !== undefined).length;
  const isKnown = size !== undefined && quality !== undefined;
  const most = isKnown ? Math.max(...fitting.map(named)) : 0;
  return fitting
    .filter((entry) => named(entry) >= most)
    .map(({ usd }) => e9(usd))
    .reduce((a, b) => (b > a ? b : a));
}

/** In 10⁻²⁷ USD per million tokens. */
type ClassRates = Readonly<Record<keyof Tokens | Detail, bigint>>;

/** Rates of requests with a longer input than `above`. */
interface Step {
  readonly above: number;
  readonly rates: ClassRates;
}

/** In 10⁻³⁶ USD per million tokens. */
interface Tables {
  readonly base: ClassRates;
  /** Ascending. */
  readonly long: readonly Step[];
}

function modelRates(model: string, price: Price): ClassRates {
  const rates = RATES[model as ModelName];
  return rates ? dollarRates({ input: price.modelRatio, ...rates }) : ratioRates(price);
}

/** Without rates of their own, parts cost as much as the whole. */
function ratioRates(price: Price): ClassRates {
  const perInput = e9(price.modelRatio) * BASE_E9;
  const [input, output] = [perInput * E9, perInput * e9(price.completionRatio)];
  return {
    input,
    cached: perInput * e9(price.cacheRatio),
    cacheWrite5m: perInput * e9(price.cacheWriteRatio),
    cacheWrite1h: perInput * e9(price.cacheWrite1hRatio),
    output,
    imageInput: input,
    audioInput: input,
    reasoning: output,
    imageOutput: output,
    audioOutput: output,
  };
}

function dollarRates(rates: Rates): ClassRates {
  const scaled = (usd: string): bigint => e9(usd) * E9 * E9;
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = rates;
  return {
    input: scaled(input),
    cached: scaled(cacheRead),
    cacheWrite5m: scaled(cacheWrite5m),
    cacheWrite1h: scaled(cacheWrite1h),
    output: scaled(output),
    imageInput: scaled(rates.imageInput ?? input),
    audioInput: scaled(rates.audioInput ?? input),
    reasoning: scaled(rates.reasoning ?? output),
    imageOutput: scaled(rates.imageOutput ?? output),
    audioOutput: scaled(rates.audioOutput ?? output),
  };
}

function tablesOf(base: ClassRates, long: readonly Step[] = []): Tables {
  return {
    base: times(base, E9, E9),
    long: long.map(({ above, rates }) => ({ above, rates: times(rates, E9, E9) })),
  };
}

function stepped(rates: ClassRates, model: string): Tables {
  const long = (STEPS[model as ModelName] ?? []).map(({ above, inputMultiplier, outputMultiplier }) => ({
    above,
    rates: times(rates, e9(inputMultiplier), e9(outputMultiplier)),
  }));
  return { base: times(rates, E9, E9), long };
}

function times(rates: ClassRates, ofInput: bigint, ofOutput: bigint): ClassRates {
  const isOutput = new Set(['output', 'reasoning', 'imageOutput', 'audioOutput']);
  return Object.fromEntries(
    Object.entries(rates).map(([name, rate]) => [name, rate * (isOutput.has(name) ? ofOutput : ofInput)]),
  ) as ClassRates;
}

/** Every request at the rates of its own length and service tier. */
function weigh(tables: Tables, { model, tier, tokens, details, requests }: Priced): bigint {
  const factor = (served: string | undefined): bigint => e9((served === TIER && TIERS[model as ModelName]) || '1');
  const rest = weighOne(tables, restOf(tokens, requests), details) * factor(tier);
  return requests.reduce(
    (sum, each) => sum + weighOne(tables, tokensOf(each), NO_PARTS) * factor(each.tier ?? tier),
    rest,
  );
}

/** No request is longer than the model's context. */
function weighOne(tables: Tables, tokens: Tokens, parts: PartCounts): bigint {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  const length = Math.min(CONTEXT_TOKENS, input + cached + cacheWrite5m + cacheWrite1h);
  const rates = tables.long.findLast(({ above }) => length > above)?.rates ?? tables.base;
  const image = Math.min(parts.imageInput, input);
  const audio = Math.min(parts.audioInput, input - image);
  const reasoning = Math.min(parts.reasoning, output);
  const drawn = Math.min(parts.imageOutput, output - reasoning);
  const spoken = Math.min(parts.audioOutput, output - reasoning - drawn);
  return (
    BigInt(input - image - audio) * rates.input +
    BigInt(image) * rates.imageInput +
    BigInt(audio) * rates.audioInput +
    BigInt(cached) * rates.cached +
    BigInt(cacheWrite5m) * rates.cacheWrite5m +
    BigInt(cacheWrite1h) * rates.cacheWrite1h +
    BigInt(reasoning) * rates.reasoning +
    BigInt(drawn) * rates.imageOutput +
    BigInt(spoken) * rates.audioOutput +
    BigInt(output - reasoning - drawn - spoken) * rates.output
  );
}

export const NO_PARTS: PartCounts = { imageInput: 0, audioInput: 0, reasoning: 0, imageOutput: 0, audioOutput: 0 };

function tokensOf({ input, cached, written, output }: ListedRequest): Tokens {
  return { input, cached, cacheWrite5m: written, cacheWrite1h: 0, output };
}

/** The tokens that none of the listed requests has. A count below 0: they have more than there are. */
export function restOf(tokens: Tokens, requests: readonly ListedRequest[]): Tokens {
  return requests.map(tokensOf).reduce(
    (rest, each) => ({
      input: rest.input - each.input,
      cached: rest.cached - each.cached,
      cacheWrite5m: rest.cacheWrite5m - each.cacheWrite5m,
      cacheWrite1h: rest.cacheWrite1h - each.cacheWrite1h,
      output: rest.output - each.output,
    }),
    tokens,
  );
}

/** A quotient, rounded half up. */
export function rounded(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

function e9(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

/** The input that is counted if the provider reports none. */
export function estimatedInput({ path, body }: Pick<CallPlan, 'path' | 'body'>): number {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  if (path === '/v1/embeddings') return readEmbeddingsFacts(Buffer.from(body), parsed).estimatedTokens;
  if (isOfImages({ path }) || path === '/v1/videos' || path === '/v1/audio/speech') return 0;
  const facts = FACTS[path === '/v1/messages' || path === '/v1/responses' ? path : 'others'](Buffer.from(body), parsed);
  return estimateInput(facts, { contextTokens: CONTEXT_TOKENS, imageTokens: IMAGE_TOKENS });
}

const FACTS = { '/v1/messages': readAnthropic, '/v1/responses': readResponse, others: readOpenai } as const;

/** The region that a call asks for; undefined: none. */
export function regionIn({ body }: Pick<CallPlan, 'body'>): string | undefined {
  return (JSON.parse(body) as { readonly inference_geo?: string }).inference_geo;
}

/** The size and quality that a call asks for; undefined: it leaves the choice to the provider. */
export function lookIn({ body }: Pick<CallPlan, 'body'>): Look {
  const { size, quality } = JSON.parse(body) as Look;
  const chosen = (value: string | undefined): string | undefined => (value === 'auto' ? undefined : value);
  return { size: chosen(size), quality: chosen(quality) };
}

/** The seconds that a video is billed for: those that its answer says, if a video can have them, and no more than asked. */
export function billedSeconds(asked: number, said: unknown): number {
  const isText = typeof said === 'string' && /^\d+(?:\.\d+)?$/.test(said);
  const seconds = isText ? Number(said) : said;
  const isLength = typeof seconds === 'number' && seconds > 0 && seconds <= 86_400;
  return isLength ? Math.min(asked, Math.ceil(seconds)) : asked;
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

/** The plausible figures of a complete answer, with those of requests that the call's own do not contain. */
export function reportedOf(fate: AnswerFate, asked: Asked): Reported {
  const { figures } = fate;
  const { protocol } = asked;
  if (!figures || isUnread(fate, asked)) return { input: undefined, output: undefined };
  const besides = besidesOf(fate);
  const more = (name: 'input' | 'cached' | 'written' | 'output'): number =>
    besides.reduce((sum, each) => sum + each[name], 0);
  const output = believed(figures.output);
  return {
    input: {
      input: Number(figures.input) + more('input'),
      cached: figures.cached + more('cached'),
      cacheWrite5m: protocol === 'Anthropic' ? figures.written + more('written') : 0,
      cacheWrite1h: 0,
    },
    output: output === undefined ? undefined : output + more('output'),
  };
}

/**
 * In OpenAI's protocol one event has all figures, so malformed JSON loses them all. Nobody believes zeros beside a prompt
 * and an answer.
 */
function isUnread({ lie }: AnswerFate, { protocol, stream }: Asked): boolean {
  return lie === 'zero' || (lie === 'NaN' && protocol === 'OpenAI' && stream);
}

/** Summaries and advice, which the call's own figures do not contain. */
function besidesOf({ figures }: AnswerFate): readonly ListedRequest[] {
  return figures?.requests?.filter(({ type }) => type !== 'message') ?? [];
}

/** The requests of their own length in an answer; none where its list does not add up to the call. */
export function requestsOf(fate: AnswerFate): readonly ListedRequest[] {
  const { figures } = fate;
  const besides = besidesOf(fate);
  if (!figures?.requests || besides.length > 0) return besides;
  const own = { ...NO_TOKENS, input: Number(figures.input), cached: figures.cached, cacheWrite5m: figures.written };
  const rest = restOf({ ...own, output: Number(figures.output) }, figures.requests);
  return Object.values(rest).every((count) => count === 0) ? figures.requests : [];
}

/** The parts that are counts. What the request neither has nor asks for is plain input and output. */
export function partsOf({ figures }: AnswerFate, { media }: Asked): PartCounts {
  const count = (name: Detail): number => {
    const isPossible = name === 'reasoning' || name === 'imageOutput' || media.has(name);
    return isPossible ? (believed(figures?.details[name]) ?? 0) : 0;
  };
  return Object.fromEntries(DETAILS.map((name) => [name, count(name)])) as PartCounts;
}

/** A call with searches is at most as long as all of its requests may be. */
export function cappedInput(input: Omit<Tokens, 'output'>, { searches }: Asked): Omit<Tokens, 'output'> {
  let left = searches === 0 ? Number.POSITIVE_INFINITY : CONTEXT_TOKENS * (searches + 1);
  const take = (count: number): number => {
    const taken = Math.min(count, left);
    left -= taken;
    return taken;
  };
  const [plain, cached] = [take(input.input), take(input.cached)];
  return { input: plain, cached, cacheWrite5m: take(input.cacheWrite5m), cacheWrite1h: take(input.cacheWrite1h) };
}

/** A count is a number that a call can have; parts of a token are whole ones. */
function believed(figure: unknown): number | undefined {
  return typeof figure === 'number' && figure >= 0 && figure < 2 ** 31 ? Math.ceil(figure) : undefined;
}

/** Estimates the tokens of generated text where the provider reports none: at most what was allowed. */
export function estimatedOutput(bytes: number, { limit, answers }: Asked): number {
  return Math.min(Math.ceil(bytes / 4), (limit ?? Number.POSITIVE_INFINITY) * answers);
}

export interface Expected {
  readonly tokens: Tokens;
  readonly source: 'Provider' | 'Estimated' | 'Implausible';
}

/** What a call with a complete answer has consumed, and whether the provider said all of it. */
export function expectedTokens(plan: CallPlan, fate: AnswerFate, asked: Asked): Expected {
  const { input: said, output: saidOutput } = reportedOf(fate, asked);
  const allowed = (asked.limit ?? Number.POSITIVE_INFINITY) * asked.answers;
  const output = saidOutput === undefined ? undefined : Math.min(saidOutput, allowed);
  const input = said && cappedInput(said, asked);
  const isCapped =
    (saidOutput ?? 0) > allowed ||
    input?.input !== said?.input ||
    input?.cached !== said?.cached ||
    input?.cacheWrite5m !== said?.cacheWrite5m;
  const noOutput = asked.kind !== 'chat';
  return {
    tokens: {
      ...(input ?? { ...NO_TOKENS, input: estimatedInput(plan) }),
      output: noOutput ? 0 : (output ?? estimatedOutput(textBytesOf(fate), asked)),
    },
    source:
      !noOutput && isCapped ? 'Implausible' : input && (output !== undefined || noOutput) ? 'Provider' : 'Estimated',
  };
}
