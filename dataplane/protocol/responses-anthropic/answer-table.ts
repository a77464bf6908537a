/**
 * What clients of the Responses dialect get of a message. docs/protocols.md is generated from these tables.
 */
import { converted, dropped, kindTable, objectTable, valueTable } from '../field-table.ts';

export const MESSAGE = objectTable('Answer', {
  id: converted('`id`, where the gateway has none of its own'),
  model: converted('`model`'),
  content: converted('`output`'),
  stop_reason: converted('`status` and `incomplete_details`'),
  stop_details: converted('a `refusal` part: the explanation'),
  usage: converted('`usage` and `service_tier`'),
  type: dropped('`object` says it'),
  role: dropped('always the assistant'),
  stop_sequence: dropped('cannot be asked for'),
  container: dropped('cannot be asked for'),
  context_management: dropped('cannot be asked for'),
  diagnostics: dropped('cannot be asked for'),
});

const BLOCKS = kindTable('Blocks of an answer by type', {
  text: converted('a message item with an `output_text` part; blocks that follow each other are one'),
  thinking: converted('a reasoning item: `summary`, and the block with its signature, sealed in `encrypted_content`'),
  redacted_thinking: converted('a reasoning item: the block, sealed in `encrypted_content`'),
  tool_use: converted('an item as its tool was declared: `function_call`, `custom_tool_call`, `tool_search_call`'),
  server_tool_use: dropped("the provider's own step: the text has what came of it"),
  web_search_tool_result: dropped("the provider's own step"),
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: converted('`output_text`'),
  text: converted('`text`'),
  citations: converted('`annotations`, where they have a URL'),
});

const USAGE = objectTable('Usage', {
  input_tokens: converted('`input_tokens`, with the next two'),
  cache_read_input_tokens: converted('`input_tokens_details.cached_tokens`'),
  cache_creation_input_tokens: converted('`input_tokens_details.cache_write_tokens`'),
  cache_creation: converted('`input_tokens_details.cache_write_tokens`: both kinds together'),
  output_tokens: converted('`output_tokens`'),
  output_tokens_details: converted('`output_tokens_details.reasoning_tokens`'),
  service_tier: converted('`service_tier`'),
  server_tool_use: dropped('cannot be asked for'),
  inference_geo: dropped('no counterpart'),
  speed: dropped('no counterpart'),
});

export const INCOMPLETE = valueTable('`stop_reason` → `incomplete_details.reason`; all others are completed', {
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
  refusal: 'content_filter',
});

const EVENTS = kindTable('Events of a stream', {
  message_start: converted('`response.created` and `response.in_progress`'),
  content_block_start: converted('an item that is added'),
  content_block_delta: converted('a delta of text, summary, arguments or input'),
  content_block_stop: converted('an item that is done, annotations'),
  message_delta: converted('the status and the usage, once the stream is over'),
  message_stop: converted('`response.completed` or `response.incomplete`'),
  ping: converted('a comment'),
  error: converted('`response.failed`, which ends the stream, as does a provider that breaks off'),
});

/** In the order of docs/protocols.md. */
export const RESPONSE_TABLES = [MESSAGE, BLOCKS, TEXT_BLOCK, USAGE, INCOMPLETE, EVENTS];
