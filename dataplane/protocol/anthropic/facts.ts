/**
 * What the gateway must know of a messages request, the beta features that raise a price included. Fields that are none of its
 * business are not looked at.
 */
import type { ChatFacts } from '../call-facts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import { addPricedFields, addUnbounded, asksForLongCache, startTally } from '../facts-tally.ts';
import type { FactsTally, PricedField } from '../facts-tally.ts';
import { isGiven, isRecord, itemsOf, readCount, readFlag, readMessages, readModel, readRecords, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseVariants } from '../name-variants.ts';
import { readContent } from './content-facts.ts';
import { isServerTool, toolUnits } from './tool-types.ts';

const PRICED_FIELDS: readonly PricedField[] = [
  { field: 'mcp_servers', feature: 'ServerTools' },
  { field: 'container', feature: 'ServerTools' },
  // a summary of the conversation is a second answer, with figures of its own
  { field: 'compaction', feature: 'ServerTools' },
  { field: 'service_tier', feature: 'ServiceTiers', harmless: ['auto', 'standard_only'] },
  { field: 'speed', feature: 'ServiceTiers', harmless: ['standard'] },
  { field: 'inference_geo', feature: 'ServiceTiers', harmless: ['global'] },
  // other models than the one that was priced
  { field: 'fallbacks', feature: 'ServiceTiers' },
  // a conversation that the provider keeps: its length is not in the body
  { field: 'thread', feature: 'FileReferences' },
];

/**
 * Throws RequestFault where a field that the gateway needs is missing or wrong. max_tokens may be missing, although the API
 * asks for it: the gateway sends the model's own limit then. 0 only warms the provider's cache.
 */
export function readChatFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const maxOutputTokens = readCount(parsed['max_tokens'], 'max_tokens', [0, Number.MAX_SAFE_INTEGER]);
  const tally = startTally(body.length);
  readContent(tally, parsed['system'], 'system');
  for (const [index, message] of readMessages(parsed).entries()) {
    tally.units++;
    refuseVariants(message, `messages[${index}]`);
    readContent(tally, message['content'], `messages[${index}].content`);
  }
  const tools = readTools(tally, parsed);
  const schema = hasSchema(parsed);
  if (tools > 0 || schema) tally.units += PREAMBLE_UNITS;
  addPricedFields(tally, parsed, PRICED_FIELDS);
  readContextEdits(tally, parsed['context_management']);
  if (isGiven(parsed['thread'])) tally.files++;
  return {
    model,
    stream,
    wantsStreamUsage: false,
    maxOutputTokens,
    answers: 1,
    textBytes: Math.max(0, tally.textBytes),
    units: tally.units,
    images: tally.images,
    imageParam: tally.imageParam,
    files: tally.files,
    predictionTokens: 0,
    thinkingBudget: readThinkingBudget(parsed['thinking']),
    fixedOutput: tools > 0 || schema,
    oneHourCache: asksForLongCache(parsed),
    unbounded: tally.unbounded,
  };
}

function readTools(tally: FactsTally, parsed: JsonRecord): number {
  const tools = readRecords(parsed['tools'], 'tools');
  for (const [index, tool] of tools.entries()) {
    refuseVariants(tool, `tools[${index}]`);
    if (isServerTool(tool['type'])) addUnbounded(tally, 'ServerTools', `tools[${index}].type`);
    tally.units += toolUnits(tool['type']);
  }
  return tools.length;
}

/** Edits that only leave things out make a call cheaper; one that summarises is a second answer. */
function readContextEdits(tally: FactsTally, management: unknown): void {
  const edits = isRecord(management) ? itemsOf(management['edits']) : [];
  for (const [index, edit] of edits.entries())
    if (isRecord(edit) && !wordOf(edit['type']).startsWith('clear_')) addUnbounded(tally, 'ServerTools', `context_management.edits[${index}].type`);
}

function readThinkingBudget(thinking: unknown): number | undefined {
  if (!isRecord(thinking) || thinking['type'] !== 'enabled') return undefined;
  return readCount(thinking['budget_tokens'], 'thinking.budget_tokens', [1, Number.MAX_SAFE_INTEGER]);
}

function hasSchema(parsed: JsonRecord): boolean {
  const config = parsed['output_config'];
  return isGiven(parsed['output_format']) || (isRecord(config) && isGiven(config['format']));
}
