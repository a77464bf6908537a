/**
 * The members of a request that its response repeats, which clients of the Responses dialect read there. The response
 * has each of them whether the request names it or not, as strictly typed clients require.
 */
import type { ResponseStorage } from '../converter.ts';
import { isRecord, itemsOf, recordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';

const DEFAULTS: JsonRecord = {
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  prompt_cache_key: null,
  safety_identifier: null,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
};
const UNSTORED: ResponseStorage = { isKept: false, previousId: undefined, conversationId: undefined };
const NO_REASONING = { effort: null, summary: null };
const TEXT = { format: { type: 'text' } };
const SCHEMA_FORMAT = { description: null, strict: false };
const FUNCTION_TOOL = { description: null, parameters: null, strict: null };

/** As JSON without braces, because a stream holds them three times. */
export function writeRepeatedFields(request: JsonRecord, storage?: ResponseStorage): string {
  return writeJson(repeatedFields(request, storage)).slice(1, -1);
}

/** The members that follow from the request; an empty one has the defaults. */
export function repeatedFields(request: JsonRecord, storage: ResponseStorage = UNSTORED): JsonRecord {
  const { isKept, previousId, conversationId } = storage;
  const { reasoning, text, tools } = request;
  const own = Object.entries(DEFAULTS).map(([name, value]) => [name, request[name] ?? value] as const);
  return {
    ...Object.fromEntries(own),
    tools: itemsOf(tools).map(repeatedTool),
    reasoning: { ...NO_REASONING, ...recordOf(reasoning) },
    text: isRecord(text) ? repeatedText(text) : TEXT,
    background: false,
    previous_response_id: previousId ?? null,
    ...(conversationId !== undefined && { conversation: { id: conversationId } }),
    store: isKept,
  };
}

/** A function has all its members; those within a namespace as well. */
function repeatedTool(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  if (tool['type'] === 'function') return { ...FUNCTION_TOOL, ...tool };
  return tool['type'] === 'namespace' ? { ...tool, tools: itemsOf(tool['tools']).map(repeatedTool) } : tool;
}

function repeatedText(text: JsonRecord): JsonRecord {
  const { format } = text;
  const isSchema = isRecord(format) && format['type'] === 'json_schema';
  return { ...TEXT, ...text, ...(isSchema && { format: { ...SCHEMA_FORMAT, ...format } }) };
}
