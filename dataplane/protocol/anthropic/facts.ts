/**
 * Reads the facts about a messages request, including beta features that raise the price.
 */
import type { ChatFacts } from '../call-facts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import {
  addPricedFields,
  addProviderTool,
  addUnbounded,
  asksForLongCache,
  countedFacts,
  readServiceTier,
  startCounts,
} from '../content-counts.ts';
import type { ContentCounts, PricedField } from '../content-counts.ts';
import {
  isGiven,
  isRecord,
  itemsOf,
  readCount,
  readFlag,
  readMessages,
  readModel,
  readRecords,
  stringOf,
  textOf,
} from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { readContent, readMessage } from './content-facts.ts';
import { boundOf, isPlainChoice, isServerTool, toolUnits } from './tool-types.ts';

const PRICED_FIELDS: readonly PricedField[] = [
  { field: 'mcp_servers', feature: 'ServerTools' },
  { field: 'container', feature: 'ServerTools' },
  // a summary of the conversation is a second answer with usage of its own
  { field: 'compaction', feature: 'ServerTools' },
  { field: 'service_tier', feature: 'ServiceTiers', harmless: ['auto', 'standard_only'], names: 'serviceTier' },
  { field: 'speed', feature: 'ServiceTiers', harmless: ['standard'], names: 'serviceTier' },
  { field: 'inference_geo', feature: 'ServiceTiers', harmless: ['global'], names: 'region' },
  // other models than the priced one
  { field: 'fallbacks', feature: 'ServiceTiers' },
  // a conversation that the provider stores: its length is not in the body
  { field: 'thread', feature: 'FileReferences' },
];

/**
 * Throws RequestFault where a field that the gateway needs is missing or wrong. max_tokens may be missing, although the
 * API requires it: the gateway then sends the model's limit. With 0 a call only warms the provider's cache.
 */
export function readChatFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const maxOutputTokens = readCount(parsed['max_tokens'], 'max_tokens', [0, Number.MAX_SAFE_INTEGER]);
  const counts = startCounts(body.length);
  readContent(counts, parsed['system'], 'system');
  for (const [index, message] of readMessages(parsed).entries()) readMessage(counts, message, `messages[${index}]`);
  const tools = readTools(counts, parsed);
  const schema = hasSchema(parsed);
  if (tools > 0 || schema) counts.units += PREAMBLE_UNITS;
  addPricedFields(counts, parsed, PRICED_FIELDS);
  readContextEdits(counts, parsed['context_management']);
  if (isGiven(parsed['thread'])) counts.files++;
  return {
    model,
    stream,
    wantsStreamUsage: false,
    maxOutputTokens,
    answers: 1,
    ...countedFacts(counts),
    predictionTokens: 0,
    thinkingBudget: readThinkingBudget(parsed['thinking']),
    fixedOutput: tools > 0 || schema,
    oneHourCache: asksForLongCache(parsed),
    region: textOf(parsed['inference_geo']),
    serviceTier: parsed['speed'] === 'fast' ? 'fast' : readServiceTier(parsed['service_tier']),
  };
}

function readTools(counts: ContentCounts, parsed: JsonRecord): number {
  const tools = readRecords(parsed['tools'], 'tools');
  for (const [index, tool] of tools.entries()) {
    refuseFoldedNames(tool, `tools[${index}]`);
    if (isServerTool(tool)) addProviderTool(counts, `tools[${index}].type`, boundOf(tool));
    counts.units += toolUnits(tool['type']);
  }
  const { tool_choice: choice } = parsed;
  if (isRecord(choice) && !isPlainChoice(choice)) addUnbounded(counts, 'ServerTools', 'tool_choice');
  return tools.length;
}

/** Edits that only remove content make a call cheaper; one that summarizes generates a second answer. */
function readContextEdits(counts: ContentCounts, management: unknown): void {
  const edits = isRecord(management) ? itemsOf(management['edits']) : [];
  for (const [index, edit] of edits.entries())
    if (isRecord(edit) && !stringOf(edit['type']).startsWith('clear_'))
      addUnbounded(counts, 'ServerTools', `context_management.edits[${index}].type`);
}

function readThinkingBudget(thinking: unknown): number | undefined {
  if (!isRecord(thinking) || thinking['type'] !== 'enabled') return undefined;
  return readCount(thinking['budget_tokens'], 'thinking.budget_tokens', [1, Number.MAX_SAFE_INTEGER]);
}

function hasSchema(parsed: JsonRecord): boolean {
  const config = parsed['output_config'];
  return isGiven(parsed['output_format']) || (isRecord(config) && isGiven(config['format']));
}
