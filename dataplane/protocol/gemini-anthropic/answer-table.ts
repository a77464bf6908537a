/**
 * What clients of Google's protocol get of a message. docs/protocols.md is generated from these tables.
 */
import { converted, dropped, kindTable, objectTable, valueTable } from '../field-table.ts';

export const MESSAGE = objectTable('Answer', {
  id: converted('`responseId`, where the gateway has none of its own'),
  model: converted('`modelVersion`'),
  content: converted('`candidates[0].content`'),
  stop_reason: converted('`candidates[0].finishReason`'),
  stop_details: converted('`candidates[0].finishMessage`: the explanation of a refusal'),
  usage: converted('`usageMetadata`'),
  type: dropped('nothing says it'),
  role: dropped('always the model'),
  stop_sequence: dropped('Google does not tell which one'),
  container: dropped('cannot be asked for'),
  context_management: dropped('cannot be asked for'),
  diagnostics: dropped('cannot be asked for'),
});

const BLOCKS = kindTable('Blocks of an answer by type', {
  text: converted('a part with `text`'),
  thinking: converted(
    'parts with `thought`, where `includeThoughts` asks for them; the block with its signature, sealed in the ' +
      '`thoughtSignature` of the part after it',
  ),
  redacted_thinking: converted('the block, sealed in the `thoughtSignature` of the part after it'),
  tool_use: converted('a part with `functionCall`, once its arguments are whole'),
  server_tool_use: dropped("the provider's own step: the text has what came of it"),
  web_search_tool_result: dropped("the provider's own step"),
});

const USAGE = objectTable('Usage', {
  input_tokens: converted('`promptTokenCount`, with the next two'),
  cache_read_input_tokens: converted('`promptTokenCount` and `cachedContentTokenCount`'),
  cache_creation_input_tokens: converted('`promptTokenCount`'),
  cache_creation: dropped('`promptTokenCount` has both kinds together'),
  output_tokens: converted('`candidatesTokenCount`, less the thoughts'),
  output_tokens_details: converted('`thoughtsTokenCount`'),
  service_tier: dropped('no counterpart'),
  server_tool_use: dropped('cannot be asked for'),
  inference_geo: dropped('no counterpart'),
  speed: dropped('no counterpart'),
});

export const FINISH_REASONS = valueTable('`stop_reason` → `finishReason`', {
  end_turn: 'STOP',
  stop_sequence: 'STOP',
  tool_use: 'STOP',
  pause_turn: 'STOP',
  max_tokens: 'MAX_TOKENS',
  model_context_window_exceeded: 'MAX_TOKENS',
  refusal: 'SAFETY',
});

const EVENTS = kindTable('Events of a stream', {
  content_block_start: converted('nothing by itself'),
  content_block_delta: converted('a chunk with a piece of text or of a thought'),
  content_block_stop: converted('a chunk with a call'),
  message_stop: converted('the last chunk, with `finishReason` and `usageMetadata`'),
  ping: converted("a blank line, because Google's SDKs expect no comments"),
  error: converted('a chunk with `error`, which ends the stream, as does a provider that breaks off'),
});

/** In the order of docs/protocols.md. */
export const RESPONSE_TABLES = [MESSAGE, BLOCKS, USAGE, FINISH_REASONS, EVENTS];
