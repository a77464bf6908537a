/**
 * What the gateway must know of a request for a response (POST /v1/responses). What the provider would keep for later is refused:
 * its length is not in the body, and all keys share the gateway's account there, so that one could read another's.
 */
import { RequestFault } from '../call-facts.ts';
import type { ChatFacts } from '../call-facts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import { addPricedFields, addUnbounded, asksForLongCache, startTally } from '../facts-tally.ts';
import type { FactsTally, PricedField } from '../facts-tally.ts';
import { isGiven, isRecord, readCount, readFlag, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { PRICED_FIELDS as CHAT_FIELDS } from './facts.ts';
import { readInput } from './response-input.ts';
import { readResponseTools } from './response-tools.ts';

const PRICED_FIELDS: readonly PricedField[] = [
  ...CHAT_FIELDS,
  // a summary of the conversation is a second answer, with figures of its own
  { field: 'context_management', feature: 'ServerTools' },
  { field: 'moderation', feature: 'ServerTools' },
];

/** What is kept at the provider, and what to do instead. */
const KEPT: readonly { readonly field: string; readonly mend: string }[] = [
  { field: 'previous_response_id', mend: 'Send the whole conversation in "input" (with "store": false and "include": ["reasoning.encrypted_content"] for models that reason).' },
  { field: 'conversation', mend: 'Send the whole conversation in "input".' },
  { field: 'prompt', mend: 'Send the prompt itself in "instructions" and "input".' },
];

/** Throws RequestFault where a field that the gateway needs is missing or wrong, or asks for what the provider keeps. */
export function readResponseFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  refuseKept(parsed);
  const tally = startTally(body.length);
  tally.units++;
  readInput(tally, parsed['input']);
  const tools = readResponseTools(tally, parsed['tools'], 'tools');
  const schema = hasSchema(parsed['text']);
  if (tools > 0 || schema) tally.units += PREAMBLE_UNITS;
  addPricedFields(tally, parsed, PRICED_FIELDS);
  readModalities(tally, parsed['modalities']);
  return {
    model,
    stream,
    wantsStreamUsage: true,
    maxOutputTokens: readCount(parsed['max_output_tokens'], 'max_output_tokens', [1, Number.MAX_SAFE_INTEGER]),
    answers: 1,
    textBytes: Math.max(0, tally.textBytes),
    units: tally.units,
    images: tally.images,
    imageParam: tally.imageParam,
    files: tally.files,
    predictionTokens: 0,
    thinkingBudget: readThinkingBudget(parsed['reasoning']),
    fixedOutput: tools > 0 || schema,
    oneHourCache: asksForLongCache(parsed),
    unbounded: tally.unbounded,
  };
}

function refuseKept(parsed: JsonRecord): void {
  for (const { field, mend } of KEPT)
    if (isGiven(parsed[field]))
      throw new RequestFault('unsupported_parameter', `The field "${field}" refers to what the provider keeps, where it is not bound to this key. ${mend}`, field);
  if (readFlag(parsed['background'], 'background'))
    throw new RequestFault('unsupported_parameter', 'The field "background" would leave the answer at the provider to be fetched later, which this gateway does not offer. Use "stream" for long answers.', 'background');
}

function readModalities(tally: FactsTally, modalities: unknown): void {
  if (Array.isArray(modalities) && modalities.includes('audio')) addUnbounded(tally, 'Audio', 'modalities');
}

/** Not OpenAI's own: OpenRouter has `reasoning.max_tokens`. */
function readThinkingBudget(reasoning: unknown): number | undefined {
  const budget = isRecord(reasoning) ? reasoning['max_tokens'] : undefined;
  return Number.isSafeInteger(budget) && Number(budget) > 0 ? Number(budget) : undefined;
}

function hasSchema(text: unknown): boolean {
  const format = isRecord(text) ? text['format'] : undefined;
  return isRecord(format) && isGiven(format['type']) && format['type'] !== 'text';
}
