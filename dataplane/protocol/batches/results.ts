/**
 * The results of a batch, one per line: what each request that succeeded has consumed. A request that failed, expired or
 * was cancelled costs nothing, as a single call that fails.
 */
import { isAnthropicError } from '../anthropic/errors.ts';
import { meterMessage } from '../anthropic/stream-meter.ts';
import { decodeUtf8 } from '../bytes.ts';
import type { Meter } from '../converter.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { meterCompletions } from '../openai/completions.ts';
import { meterInput, usageMember } from '../openai/input-only.ts';
import { meterResponse } from '../openai/response-meter.ts';
import { isEmptyFailure } from '../openai/responses.ts';
import { meterCompletion } from '../openai/stream-meter.ts';
import { isErrorObject } from '../provider-errors.ts';
import { linesOf } from './line-chunks.ts';
import type { BatchEndpoint } from './requests.ts';

/** `undefined`: the response is a failure that costs nothing. */
type ReadResponse = (response: JsonRecord) => Meter | undefined;

const unlessError =
  (meter: (response: JsonRecord) => Meter): ReadResponse =>
  (response) =>
    isErrorObject(response) ? undefined : meter(response);

const meterInputOnly = unlessError((response) => meterInput(usageMember(response)));

const METERS: Readonly<Record<BatchEndpoint, ReadResponse>> = {
  '/v1/chat/completions': unlessError(meterCompletion),
  '/v1/completions': unlessError(meterCompletions),
  '/v1/embeddings': meterInputOnly,
  '/v1/moderations': meterInputOnly,
  '/v1/responses': (response) => (isEmptyFailure(response) ? undefined : meterResponse(response)),
  '/v1/messages': (message) => (isAnthropicError(message) ? undefined : meterMessage(message)),
};

/** What a request that succeeded consumed. */
export interface UsedResult {
  readonly meter: Meter;
  /** As the provider names it; undefined: it does not. */
  readonly model: string | undefined;
}

export interface Results {
  /** Of each request that succeeded. */
  readonly used: readonly UsedResult[];
  readonly lines: number;
}

/** Reads the lines of a chunk. Throws SyntaxError if one is no result. */
export function readResults(endpoint: BatchEndpoint, chunk: Uint8Array): Results {
  const lines = linesOf(chunk);
  const used = lines.map((line): UsedResult | undefined => {
    const result = parseEventData(decodeUtf8(line));
    if (!result) throw new SyntaxError('a line is no result of a batch');
    const response = endpoint === '/v1/messages' ? messageIn(result) : bodyIn(result);
    const meter = response && METERS[endpoint](response);
    return meter && { meter, model: textOf(response['model']) };
  });
  return { used: used.filter((each) => each !== undefined), lines: lines.length };
}

function bodyIn({ response }: JsonRecord): JsonRecord | undefined {
  if (!isRecord(response)) return undefined;
  const { status_code: status, body } = response;
  const succeeded = status === undefined || (typeof status === 'number' && status >= 200 && status < 300);
  return succeeded && isRecord(body) ? body : undefined;
}

function messageIn({ result }: JsonRecord): JsonRecord | undefined {
  if (!isRecord(result) || result['type'] !== 'succeeded') return undefined;
  return isRecord(result['message']) ? result['message'] : undefined;
}
