/**
 * What a call must cost, reckoned apart from the gateway: from what the provider reported, or from what it produced; at
 * the price that was in force at admission. Only the estimate of an input is the gateway's own, as it is by definition
 * its.
 */
import { readChatFacts as readAnthropic } from '../../dataplane/protocol/anthropic/facts.ts';
import { estimateInput } from '../../dataplane/protocol/estimate.ts';
import { readEmbeddingsFacts } from '../../dataplane/protocol/openai/embeddings.ts';
import { readChatFacts as readOpenai } from '../../dataplane/protocol/openai/facts.ts';
import { CONTEXT_TOKENS, IMAGE_TOKENS, KEYS } from './config.ts';
import type { Config, GroupName, KeyName, ModelName, Price } from './config.ts';
import { LETTER_BYTES } from './fate.ts';
import type { AnswerFate, Asked } from './fate.ts';
import type { Tokens } from './ledger-file.ts';
import type { CallPlan } from './plan.ts';

export const NO_TOKENS: Tokens = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

const E9 = 10n ** 9n;
/** Ratios of the API reference: USD per million tokens at ratio 1. */
const BASE_E9 = 2n * E9;
/** Five factors of 10⁻⁹ and one of 10⁻⁶, in nano-USD. */
const TOKEN_DENOMINATOR = 10n ** (9n * 5n + 6n - 9n);

/** The price of a call, rounded half up to the nano-dollar. */
export function priceOf(
  config: Config, what: { key: KeyName; group: string; model: string; tokens: Tokens; generations: number },
): bigint {
  const price = config.prices[what.model as ModelName];
  const automatic = KEYS[what.key].group === 'smart' ? e9(config.ratios.smart) : E9;
  const ratio = e9(config.ratios[what.group as GroupName]) * automatic;
  if (price.quotaType === 'Request') return rounded(e9(price.requestUsd) * BigInt(what.generations) * ratio, E9 * E9);
  return rounded(weigh(price, what.tokens) * e9(price.modelRatio) * BASE_E9 * ratio, TOKEN_DENOMINATOR);
}

function weigh(price: Price, { input, cached, cacheWrite5m, cacheWrite1h, output }: Tokens): bigint {
  return BigInt(input) * E9 + BigInt(cached) * e9(price.cacheRatio) + BigInt(cacheWrite5m) * e9(price.cacheWriteRatio)
    + BigInt(cacheWrite1h) * e9(price.cacheWrite1hRatio) + BigInt(output) * e9(price.completionRatio);
}

function rounded(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

function e9(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

/** What is counted as a call's input where the provider does not say. */
export function estimatedInput({ path, body }: Pick<CallPlan, 'path' | 'body'>): number {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  if (path === '/v1/embeddings') return readEmbeddingsFacts(parsed).estimatedTokens;
  if (path === '/v1/images/generations') return 0;
  const facts = (path === '/v1/messages' ? readAnthropic : readOpenai)(Buffer.from(body), parsed);
  return estimateInput(facts, { contextTokens: CONTEXT_TOKENS, imageTokens: IMAGE_TOKENS });
}

/** Bytes of the text of a complete answer. */
export function textBytesOf({ pieces }: AnswerFate): number {
  return pieces.join('').length * LETTER_BYTES;
}

export interface Reported {
  /** The input side; undefined: it was not said. */
  readonly input: Omit<Tokens, 'output'> | undefined;
  /** undefined: not said, or not to be believed. */
  readonly output: number | undefined;
}

/** What a complete answer says, as far as it can be believed. */
export function reportedOf({ figures, lie }: AnswerFate, { protocol, stream }: Asked): Reported {
  // an event that is no JSON takes everything with it that OpenAI's protocol says at once
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
