/**
 * Reads the facts about a request to POST /v1/responses. It refuses references to state that the provider stores,
 * except by an id that the gateway sealed: all keys share the gateway's account at the provider, so that one key could
 * read another key's state.
 */
import { RequestFault } from '../call-facts.ts';
import type { ChatFacts } from '../call-facts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import {
  addPricedFields,
  addUnbounded,
  asksForLongCache,
  countedFacts,
  readServiceTier,
  startCounts,
} from '../content-counts.ts';
import type { ContentCounts, PricedField } from '../content-counts.ts';
import { isGiven, isRecord, readCount, readFlag, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { PRICED_FIELDS as CHAT_FIELDS } from './facts.ts';
import { sealedIdIn } from '../sealed-values.ts';
import { ownConversationId, ownResponseId } from './continued-input.ts';
import { asksForCompaction, readInput, readVariables } from './response-input.ts';
import { readResponseTools, readToolChoice, withToolLimit } from './response-tools.ts';

const PRICED_FIELDS: readonly PricedField[] = [
  ...CHAT_FIELDS,
  // a summary of the conversation is a second answer with usage of its own
  { field: 'context_management', feature: 'ServerTools' },
  { field: 'moderation', feature: 'ServerTools' },
  // it may bring any tools and files
  { field: 'prompt', feature: 'PromptTemplates' },
];

type StoredField = 'previous_response_id' | 'conversation';

/** References to stored state, and what to do instead. */
const STORED_STATE: readonly { readonly field: StoredField; readonly instead: string }[] = [
  {
    field: 'previous_response_id',
    instead:
      'Send the whole conversation in "input" (with "store": false and ' +
      '"include": ["reasoning.encrypted_content"] for models that reason).',
  },
  {
    field: 'conversation',
    instead: 'Make one with POST /v1/conversations here, or send the whole conversation in "input".',
  },
];

/** Throws RequestFault where a field that the gateway needs is missing or wrong, or refers to stored state. */
export function readResponseFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const storage = storageFacts(parsed);
  refuseStoredState(parsed, storage);
  const counts = startCounts(body.length);
  counts.units++;
  // what comes before is not in the body, and may fill the context
  if (STORED_STATE.some(({ field }) => isGiven(parsed[field])) || isGiven(parsed['prompt'])) counts.files++;
  readInput(counts, parsed['input']);
  readVariables(counts, parsed['prompt']);
  const tools = readResponseTools(counts, parsed['tools'], 'tools');
  readToolChoice(counts, parsed['tool_choice']);
  const schema = hasSchema(parsed['text']);
  const compacts = asksForCompaction(parsed['input']);
  if (tools > 0 || schema) counts.units += PREAMBLE_UNITS;
  addPricedFields(counts, parsed, PRICED_FIELDS);
  readModalities(counts, parsed['modalities']);
  return {
    model,
    stream,
    ...(readFlag(parsed['background'], 'background') && { background: true }),
    ...(compacts && { compacts }),
    ...storage,
    wantsStreamUsage: true,
    maxOutputTokens: readCount(parsed['max_output_tokens'], 'max_output_tokens', [1, Number.MAX_SAFE_INTEGER]),
    answers: 1,
    ...countedFacts(counts),
    predictionTokens: 0,
    thinkingBudget: readThinkingBudget(parsed['reasoning']),
    // a prompt may set tools and a schema
    fixedOutput: tools > 0 || schema || compacts || isGiven(parsed['prompt']),
    oneHourCache: asksForLongCache(parsed),
    serviceTier: readServiceTier(parsed['service_tier']),
    unbounded: withToolLimit(counts.unbounded, parsed['max_tool_calls']),
  };
}

function storageFacts(parsed: JsonRecord): Partial<ChatFacts> {
  const continues = ownResponseId(parsed['previous_response_id']);
  const conversation = ownConversationId(parsed['conversation']);
  return {
    ...(continues !== undefined && { continues }),
    ...(conversation !== undefined && { conversation }),
    ...(parsed['store'] === false && { unstored: true }),
  };
}

/** What the gateway keeps is not in the body, but will be before the call is sent. */
function refuseStoredState(parsed: JsonRecord, own: Partial<ChatFacts>): void {
  const isOwn = { previous_response_id: own.continues !== undefined, conversation: own.conversation !== undefined };
  for (const { field, instead } of STORED_STATE) {
    const value = parsed[field];
    if (isGiven(value) && !isOwn[field] && sealedIdIn(value) === undefined) throw unboundState(field, instead);
  }
  if (isOwn.conversation && asksForCompaction(parsed['input'])) throw keptTrigger();
  const both = STORED_STATE.every(({ field }) => isGiven(parsed[field]));
  if (both && (isOwn.previous_response_id || isOwn.conversation))
    throw new RequestFault(
      'invalid_request',
      'A request continues a response ("previous_response_id") or a conversation, but not both. Leave one out.',
      'conversation',
    );
}

/** The conversation would have the item, and each later call would be a compaction. */
function keptTrigger(): RequestFault {
  const message =
    'A conversation that the gateway keeps is not compacted: leave out "compaction_trigger", or send the whole ' +
    'conversation in "input" of POST /v1/responses/compact.';
  return new RequestFault('unsupported_parameter', message, 'input');
}

function unboundState(field: string, instead: string): RequestFault {
  const message = `The field "${field}" refers to what the provider keeps, where it is not bound to this key. ${instead}`;
  return new RequestFault('unsupported_parameter', message, field);
}

/** The error for a response or a conversation of the gateway's own, where it keeps none. */
export function unkeptState(param: StoredField): RequestFault {
  return unboundState(param, STORED_STATE.find(({ field }) => field === param)?.instead ?? '');
}

function readModalities(counts: ContentCounts, modalities: unknown): void {
  if (Array.isArray(modalities) && modalities.includes('audio')) addUnbounded(counts, 'Audio', 'modalities');
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
