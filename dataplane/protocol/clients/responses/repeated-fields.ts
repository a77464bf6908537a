/**
 * The members of a request that its response repeats, which clients of the Responses dialect read there.
 */
import { isRecord } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';

/** Members that a response has whether the request names them or not. */
const DEFAULTS: JsonRecord = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  user: null,
};
const NO_REASONING = { effort: null, summary: null };
const TEXT = { format: { type: 'text' } };

/** As JSON without braces, because each response of a stream holds them three times. */
export function repeatedFields(request: JsonRecord): string {
  const { reasoning, text } = request;
  const own = Object.entries(DEFAULTS).map(([name, value]) => [name, request[name] ?? value] as const);
  return writeJson({
    ...Object.fromEntries(own),
    reasoning: { ...NO_REASONING, ...(isRecord(reasoning) ? reasoning : {}) },
    text: { ...TEXT, ...(isRecord(text) ? text : {}) },
    // the gateway stores no responses
    background: false,
    previous_response_id: null,
    store: false,
  }).slice(1, -1);
}
