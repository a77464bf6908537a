/**
 * Embeddings, which pass through: OpenAI client, OpenAI provider.
 */
import { RequestFault } from '../call-facts.ts';
import type { Converter, ReportedUsage, RequestPlan, UpstreamBody } from '../converter.ts';
import { isRecord, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import { parseObject } from '../json-value.ts';
import { largestCount, UNREPORTED_USAGE } from '../usage.ts';
import { throwIfError } from './failures.ts';
import { NO_USAGE, readUsage, toReportedUsage } from './usage.ts';
import type { OpenAiUsage } from './usage.ts';

export interface EmbeddingsFacts {
  readonly model: string;
  /** Upper bound for each input: the bytes of a text, or the number of tokens that the client sent. */
  readonly inputTokens: readonly number[];
  /** Likely tokens of all inputs. */
  readonly estimatedTokens: number;
}

/** Upper bound of what a provider adds to one input. */
const WRAPPING_TOKENS = 8;
const BYTES_PER_TOKEN = 4;

/** Throws RequestFault where the model or the input is missing or wrong. */
export function readEmbeddingsFacts(parsed: JsonRecord): EmbeddingsFacts {
  const model = readModel(parsed);
  const inputs = readInputs(parsed['input']);
  const estimated = inputs.map((input) =>
    typeof input === 'string' ? Math.ceil(Buffer.byteLength(input) / BYTES_PER_TOKEN) : input.length,
  );
  return {
    model,
    inputTokens: inputs.map(
      (input) => (typeof input === 'string' ? Buffer.byteLength(input) : input.length) + WRAPPING_TOKENS,
    ),
    estimatedTokens: estimated.reduce((sum, tokens) => sum + tokens, 0),
  };
}

/** Upper bound of input tokens: providers truncate or refuse an input that exceeds the model's context. */
export function boundEmbeddingsInput(facts: EmbeddingsFacts, contextTokens: number): number {
  return facts.inputTokens.reduce((sum, tokens) => sum + Math.min(tokens, contextTokens), 0);
}

export const embeddingsConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: renameModel('/embeddings'),
  response: (body) => {
    const answer = parseObject(body);
    throwIfError(answer);
    if (!Array.isArray(answer['data'])) throw new SyntaxError('the answer holds no embeddings');
    const input = inputOf(isRecord(answer['usage']) ? readUsage(answer['usage']) : NO_USAGE);
    return {
      body,
      meter: { reported: { ...UNREPORTED_USAGE, ...input }, final: input?.input !== undefined, outputBytes: 0 },
    };
  },
  stream: () => {
    throw new Error('embeddings are not streamed');
  },
};

/** Without an output all tokens are input, and some providers report only their total. No input has none. */
function inputOf(usage: OpenAiUsage): Pick<ReportedUsage, 'input' | 'cached'> | undefined {
  const prompt = largestCount(usage.prompt, usage.total);
  if (prompt === undefined || prompt === 0) return undefined;
  const { input, cached } = toReportedUsage({ ...usage, prompt });
  return { input, cached };
}

/** Makes a `request` function that changes only the model's name. */
export function renameModel(path: string): (body: Uint8Array, parsed: JsonRecord, plan: RequestPlan) => UpstreamBody {
  return (body, parsed, { upstreamModel }) => ({
    path,
    body:
      parsed['model'] === upstreamModel ? body : editObject(body, new Map([['model', JSON.stringify(upstreamModel)]])),
  });
}

/** A text, a list of texts, a list of tokens, or a list of such lists. */
function readInputs(input: unknown): readonly (string | readonly unknown[])[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) throw inputFault('input');
  const items: readonly unknown[] = input;
  if (isTokens(items)) return [items];
  return items.map((item, index) => {
    if (typeof item === 'string') return item;
    if (Array.isArray(item) && isTokens(item)) return item;
    throw inputFault(`input[${index}]`);
  });
}

function isTokens(items: readonly unknown[]): boolean {
  return items.every((item) => typeof item === 'number');
}

function inputFault(param: string): RequestFault {
  return new RequestFault(
    'invalid_request',
    `The field "${param}" must be a text or a list of tokens; "input" may be a list of either.`,
    param,
  );
}
