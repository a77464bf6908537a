/**
 * Reads the facts about a legacy completion: each prompt is completed by itself, `n` times or `best_of` times.
 */
import { RequestFault } from '../call-facts.ts';
import type { UnboundedUse } from '../call-facts.ts';
import { MAX_CANDIDATES } from '../candidates.ts';
import { addPricedFields, readServiceTier, startCounts } from '../content-counts.ts';
import { isGiven, readCount, readFlag, readModel, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { PRICED_FIELDS, readStreamOptions } from './facts.ts';
import { countInputs, readTokenInputs } from './token-inputs.ts';
import type { InputTokens, TokenInput } from './token-inputs.ts';

export interface CompletionsFacts extends InputTokens {
  readonly model: string;
  readonly stream: boolean;
  readonly wantsStreamUsage: boolean;
  /** The limit for each completion; undefined: none, so that the model's own bounds the call. */
  readonly maxOutputTokens: number | undefined;
  /** Completions that are generated, and billed, of all prompts together. */
  readonly generated: number;
  readonly choices: Choices;
  readonly unbounded: readonly UnboundedUse[];
  readonly serviceTier: string | undefined;
}

/** Which of the generated completions a response returns. */
export interface Choices {
  /** Choices of all prompts together, in the order of the prompts. */
  readonly count: number;
  /** Completions that are generated for each choice. */
  readonly generatedForEach: number;
  /** The prompts that choices echo, each undefined if it was sent as tokens; undefined: there is no echo. */
  readonly echoed: readonly (string | undefined)[] | undefined;
}

/** Choices of all prompts together, so that what is known of each stays small. */
export const MAX_CHOICES = 4096;
/** What a request without `max_tokens` gets, at OpenAI and at vLLM. */
const DEFAULT_OUTPUT_TOKENS = 16;
const ANSWERS_RANGE = [1, MAX_CANDIDATES] as const;
const FROM_ZERO = [0, Number.MAX_SAFE_INTEGER] as const;

/** Members left out of the estimate: models do not read them, or they are counted separately. */
const UNREAD_NAMES: ReadonlySet<string> = new Set([
  'prompt',
  'model',
  'stop',
  'user',
  'metadata',
  'logit_bias',
  'service_tier',
  'stream_options',
  'prompt_cache_key',
  'safety_identifier',
]);
const CHAT_FIELDS = ['messages', 'system', 'tools', 'functions'] as const;

/** No field is a tool that the call could do without. */
const COMPLETION_PRICED_FIELDS = PRICED_FIELDS.map(({ droppable: _droppable, ...field }) => field);

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readCompletionsFacts(body: Uint8Array, parsed: JsonRecord): CompletionsFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const limit = readCount(parsed['max_tokens'], 'max_tokens', FROM_ZERO) ?? DEFAULT_OUTPUT_TOKENS;
  const prompts = readPrompts(parsed);
  const { n, bestOf } = readAnswers(parsed, { prompts: prompts.length, stream });
  checkSuffix(parsed['suffix']);
  const counts = startCounts(body.length);
  addPricedFields(counts, parsed, COMPLETION_PRICED_FIELDS);
  return {
    model,
    stream,
    wantsStreamUsage: stream && readStreamOptions(parsed['stream_options']),
    maxOutputTokens: limit === 0 ? undefined : limit,
    generated: bestOf * prompts.length,
    choices: {
      count: n * prompts.length,
      generatedForEach: bestOf / n,
      echoed: readFlag(parsed['echo'], 'echo') ? prompts.map(textOf) : undefined,
    },
    ...countInputs(prompts, { body, parsed, param: 'prompt', unread: UNREAD_NAMES }),
    unbounded: counts.unbounded,
    serviceTier: readServiceTier(parsed['service_tier']),
  };
}

/** Without a prompt the model begins a document. What chats have beside one would be read with every prompt. */
function readPrompts(parsed: JsonRecord): readonly TokenInput[] {
  const field = CHAT_FIELDS.find((name) => isGiven(parsed[name]));
  if (field !== undefined) {
    const message = `The field "${field}" is of chats. Send it to POST /v1/chat/completions, or leave it out.`;
    throw new RequestFault('unsupported_parameter', message, field);
  }
  if (isGiven(parsed['prompt_embeds'])) {
    const message = 'The field "prompt_embeds" has prompts that cannot be counted. Send them as "prompt".';
    throw new RequestFault('unsupported_parameter', message, 'prompt_embeds');
  }
  return isGiven(parsed['prompt']) ? readTokenInputs(parsed['prompt'], 'prompt') : [''];
}

interface Answers {
  readonly n: number;
  /** At least n. */
  readonly bestOf: number;
}

function readAnswers(parsed: JsonRecord, { prompts, stream }: { prompts: number; stream: boolean }): Answers {
  const n = readCount(parsed['n'], 'n', ANSWERS_RANGE) ?? 1;
  const bestOf = Math.max(n, readCount(parsed['best_of'], 'best_of', ANSWERS_RANGE) ?? n);
  if (stream && bestOf > n) {
    const message = 'The best of several completions cannot be streamed: leave "best_of" out, or "stream".';
    throw new RequestFault('invalid_request', message, 'best_of');
  }
  if (bestOf * prompts > MAX_CHOICES) {
    const message = `The field "prompt" has ${prompts} prompts with ${bestOf} completions each; together ${MAX_CHOICES} are the most.`;
    throw new RequestFault('invalid_request', message, 'prompt');
  }
  return { n, bestOf };
}

function checkSuffix(suffix: unknown): void {
  if (!isGiven(suffix) || typeof suffix === 'string') return;
  throw new RequestFault('invalid_request', 'The field "suffix" must be a text.', 'suffix');
}
