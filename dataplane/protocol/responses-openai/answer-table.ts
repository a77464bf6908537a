/**
 * What clients of the Responses dialect get of a chat completion. docs/protocols.md is generated from these tables.
 */
import { converted, dropped, kindTable, objectTable, valueTable } from '../field-table.ts';

const COMPLETION = objectTable('Answer', {
  id: converted('`id`, where the gateway has none of its own'),
  model: converted('`model`'),
  choices: converted('`output` and `status`, of the first'),
  usage: converted('`usage`'),
  service_tier: converted('`service_tier`: the one that was served'),
  object: dropped('`object` says it'),
  created: dropped("`created_at` is the gateway's own"),
  system_fingerprint: dropped('no counterpart'),
  metadata: dropped("the request's own is repeated"),
});

const MESSAGE = objectTable('Messages and deltas of an answer', {
  content: converted('a message item with an `output_text` part'),
  refusal: converted('a `refusal` part'),
  reasoning_content: converted(
    'a reasoning item: `summary`, which streams, and `content`; sealed in `encrypted_content` for models that want it ' +
      'back',
  ),
  reasoning: converted('the same, where there is no `reasoning_content`'),
  tool_calls: converted(
    'an item for each, as its tool was declared: `function_call` with its `namespace`, ' +
      '`custom_tool_call`, `tool_search_call`',
  ),
  function_call: converted('a `function_call` item'),
  role: dropped('always the assistant'),
  annotations: dropped('providers have no common form of them'),
  audio: dropped('cannot be asked for'),
  reasoning_details: dropped('`reasoning` says the same'),
});

const USAGE = objectTable('Usage', {
  prompt_tokens: converted('`input_tokens`, with cached and written ones'),
  prompt_tokens_details: converted('`input_tokens_details.cached_tokens` and `cache_write_tokens`'),
  completion_tokens: converted('`output_tokens`'),
  completion_tokens_details: converted('`output_tokens_details.reasoning_tokens`'),
  total_tokens: converted('`output_tokens`, where a provider leaves reasoning out of that count'),
});

export const INCOMPLETE = valueTable('`finish_reason` → `incomplete_details.reason`; all others are completed', {
  length: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  model_length: 'max_output_tokens',
  content_filter: 'content_filter',
});

export const FAILURES = valueTable('`finish_reason` that ends the answer with `response.failed`', {
  error: 'server_error',
  insufficient_system_resource: 'server_error',
  abort: 'server_error',
});

const CHUNKS = kindTable('Pieces of a stream', {
  'first chunk': converted('`response.created` and `response.in_progress`'),
  content: converted(
    'an item that is added and done in its place: one is open at a time, and what comes meanwhile for another waits',
  ),
  'last chunk': converted('the last items done'),
  '[DONE]': converted(
    '`response.completed` or `response.incomplete`; a provider that sends none has ended once it said a ' +
      '`finish_reason`',
  ),
  comment: converted('a comment'),
  error: converted('`response.failed`, which ends the stream, as does a provider that breaks off'),
});

/** In the order of docs/protocols.md. */
export const RESPONSE_TABLES = [COMPLETION, MESSAGE, USAGE, INCOMPLETE, FAILURES, CHUNKS];
