/**
 * How Anthropic's messages are converted to OpenAI's protocol. The converters of this folder read objects through these
 * tables, and docs/protocols.md is generated from them.
 */
import { ACCOUNT_FIELDS, MESSAGE_SETTINGS, TOOL_CHANGES, UNREADABLE_BLOCKS } from '../anthropic/shared-rows.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../field-table.ts';

const CACHING = 'these providers cache by themselves';
const CITATIONS = 'answers have no citations';
const SERVER_TOOL = 'the provider runs no such tool';

export const REQUEST = objectTable('Request', {
  model: converted('`model`, by the name that the channel has for it'),
  messages: converted('`messages`'),
  system: converted('the first message, of the system'),
  max_tokens: converted('`max_completion_tokens`, or `max_tokens` where the route says so'),
  stream: converted('`stream`, with `stream_options.include_usage`'),
  temperature: converted('`temperature`, for models that take it'),
  top_p: converted('`top_p`, for models that take a temperature'),
  stop_sequences: converted('`stop`, for models that take it; more than four are refused'),
  tools: converted('`tools`'),
  tool_choice: converted('`tool_choice` and `parallel_tool_calls`'),
  metadata: converted('`user`: a `user_id` of more than 64 characters as its SHA-256'),
  thinking: converted(
    '`reasoning_effort`, by its budget, for models that reason, where `output_config.effort` says none',
  ),
  output_config: converted('`reasoning_effort` and `response_format`'),
  output_format: converted('`response_format`'),
  context_management: converted('nothing: edits that clear thoughts, which are left out anyway; others are refused'),
  service_tier: converted('`service_tier`: standard_only is default; auto is left out'),
  top_k: dropped('it only narrows the choice of words'),
  cache_control: dropped(CACHING),
  diagnostics: dropped('asks for nothing but an explanation of cache misses'),
  speed: refused('there is no such setting', ['standard']),
  inference_geo: refused('the provider chooses the region', ['global']),
  mcp_servers: refused(SERVER_TOOL, [[]]),
  container: refused(SERVER_TOOL),
  compaction: refused('the provider summarises nothing'),
  thread: refused('the provider keeps no conversation'),
  ...ACCOUNT_FIELDS,
});

export const OUTPUT_CONFIG = objectTable('`output_config`', {
  effort: converted('`reasoning_effort`, for models that reason: xhigh and max as high, which all of them know'),
  format: converted('`response_format`'),
  task_budget: dropped('advice to the model on how to pace itself'),
});

export const FORMAT = objectTable('`output_config.format`', {
  type: converted('`json_schema`, the only one'),
  schema: converted(
    '`json_schema.schema`, strict where it meets the rules; for models without schemas a line of the system message',
  ),
});

export const METADATA = objectTable('`metadata`', { user_id: converted('`user`') });

export const ROLES = kindTable('Messages by role', {
  user: converted('a user message, after a tool message for each `tool_result`'),
  assistant: converted('an assistant message'),
  system: converted('a system message, where it stands'),
});

export const MESSAGE = objectTable('Messages', {
  role: converted('`role`'),
  content: converted('`content`'),
  ...MESSAGE_SETTINGS,
});

export const SYSTEM_BLOCKS = kindTable('Blocks of a system message by type', {
  text: converted('text; several are joined by an empty line'),
  ...TOOL_CHANGES,
});

export const USER_BLOCKS = kindTable("Blocks of a user message, and of a tool's result, by type", {
  text: converted('a `text` part'),
  image: converted('an `image_url` part'),
  document: converted('a `file` part (PDF) or `text` and `image_url` parts'),
  search_result: converted('a `text` part, with its title and source'),
  tool_result: converted(
    "a tool message, before the user's; its images and files follow in the user's, as tool messages hold text",
  ),
  tool_reference: refused('tools are not searched for'),
  browser_state: refused(SERVER_TOOL),
  container_upload: refused(SERVER_TOOL),
});

export const ASSISTANT_BLOCKS = kindTable('Blocks of an assistant message by type', {
  text: converted('`content`'),
  tool_use: converted('`tool_calls`'),
  thinking: converted(
    '`reasoning_content`, after the latest user message, for models that need it back (DeepSeek, Kimi); for others ' +
      'it is left out',
  ),
  redacted_thinking: converted('nothing: only Anthropic can read it'),
  server_tool_use: omitted(SERVER_TOOL),
  web_search_tool_result: omitted(SERVER_TOOL),
  web_fetch_tool_result: omitted(SERVER_TOOL),
  code_execution_tool_result: omitted(SERVER_TOOL),
  mcp_tool_use: omitted(SERVER_TOOL),
  mcp_tool_result: omitted(SERVER_TOOL),
  ...UNREADABLE_BLOCKS,
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: converted('`type`'),
  text: converted('`text`'),
  cache_control: dropped(CACHING),
  citations: dropped("they say where an earlier answer's words came from, not what it said"),
});

export const IMAGE_BLOCK = objectTable('Image blocks', {
  type: converted('`image_url`'),
  source: converted('`image_url.url`'),
  cache_control: dropped(CACHING),
  transformations: dropped('the provider fits images itself'),
});

export const DOCUMENT_BLOCK = objectTable('Document blocks', {
  type: converted('`file`'),
  source: converted('`file.file_data`, or parts for text and blocks'),
  title: converted('`file.filename`, or a line before the text'),
  context: converted('a `text` part before it'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: dropped(CACHING),
});

export const SOURCES = kindTable('Sources of images and documents by type', {
  base64: converted('a data URL'),
  url: converted('`image_url.url`; of a document it is refused: chat completions take no files by URL'),
  text: converted('a `text` part'),
  content: converted('`text` and `image_url` parts'),
  file: refused('the file is kept at another provider'),
});

export const SOURCE = objectTable('Sources', {
  type: converted('which part it is'),
  media_type: converted('the data URL'),
  data: converted('the data URL, or `text`'),
  url: converted('`url`'),
  content: converted('parts'),
  file_id: refused('the file is kept at another provider'),
});

export const SEARCH_RESULT_BLOCK = objectTable('Search result blocks', {
  type: converted('`text`'),
  title: converted('a line of the text'),
  source: converted('a line of the text'),
  content: converted('`text`'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: dropped(CACHING),
});

export const TOOL_RESULT_BLOCK = objectTable('Tool result blocks', {
  type: converted('`role`'),
  tool_use_id: converted('`tool_call_id`; one of more than 40 characters as a digest'),
  content: converted('`content`'),
  is_error: converted('`Error: ` before the text'),
  cache_control: dropped(CACHING),
  toolset_name: refused(SERVER_TOOL),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: converted('`type`'),
  id: converted('`id`; one of more than 40 characters as a digest'),
  name: converted('`function.name`'),
  input: converted('`function.arguments`: its JSON'),
  caller: refused('only the model calls tools', [{ type: 'direct' }]),
  toolset_name: refused(SERVER_TOOL),
  cache_control: dropped(CACHING),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: converted('`reasoning_content`'),
  thinking: converted('`reasoning_content`'),
  signature: dropped('only Anthropic reads it'),
});

export const REDACTED_BLOCK = objectTable('Redacted thinking blocks', {
  type: converted('nothing'),
  data: dropped('only Anthropic can read it'),
});

export const TOOL = objectTable('Tools', {
  type: converted(
    '`function`; tools that Anthropic runs are left out and named, those that it only describes are refused',
  ),
  name: converted('`function.name`; one of more than 64 characters is shortened, and written back in the answer'),
  description: converted('`function.description`; the system message has one that is too long for the model'),
  input_schema: converted('`function.parameters`; keywords that the API refuses become part of the description'),
  strict: converted('`function.strict`, where the schema meets the rules of strict mode'),
  input_examples: converted('lines of the description'),
  cache_control: dropped(CACHING),
  eager_input_streaming: dropped('input comes as the provider streams it'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: refused('only the model calls tools', [['direct']]),
});

export const TOOL_CHOICE = objectTable('`tool_choice`', {
  type: converted('`tool_choice`'),
  name: converted('`function.name`'),
  disable_parallel_tool_use: converted('`parallel_tool_calls`: false, for models that take it'),
});

/** The provider's response. Fields that are in no table are left out. */
export const COMPLETION = objectTable('Answer', {
  id: converted('`id`, where the gateway has none of its own'),
  model: converted('`model`'),
  choices: converted('`content` and `stop_reason`, of the first'),
  usage: converted('`usage`'),
  service_tier: converted('`usage.service_tier`'),
  object: dropped('`type` says it'),
  created: dropped('messages have no time'),
  system_fingerprint: dropped('no counterpart'),
  metadata: dropped('no counterpart'),
  moderation: dropped('was not asked for'),
});

export const CHOICE = objectTable('Choices', {
  index: converted('the first one counts'),
  message: converted('`content`'),
  finish_reason: converted('`stop_reason`'),
  logprobs: dropped('cannot be asked for'),
});

export const RESPONSE_MESSAGE = objectTable('Messages and deltas of an answer', {
  content: converted('a `text` block'),
  refusal: converted('a `text` block, `stop_reason` refusal and `stop_details.explanation`'),
  reasoning_content: converted('a `thinking` block without a signature'),
  reasoning: converted('the same, where there is no `reasoning_content`'),
  tool_calls: converted('`tool_use` blocks'),
  function_call: converted('a `tool_use` block'),
  role: dropped('always the assistant'),
  reasoning_details: dropped('`reasoning` says the same'),
  annotations: dropped("citations of Anthropic's protocol are signed"),
  audio: dropped('cannot be asked for'),
});

export const TOOL_CALL = objectTable('Tool calls', {
  index: converted('which call a piece belongs to'),
  id: converted("`id`; one in other letters than the protocol's is rewritten"),
  type: dropped('what it holds says it'),
  function: converted('`name` and `input`'),
  custom: dropped('cannot be asked for'),
});

export const USAGE = objectTable('Usage', {
  prompt_tokens: converted('`input_tokens`, less the next two'),
  prompt_tokens_details: converted('`cache_read_input_tokens`, `cache_creation_input_tokens`'),
  completion_tokens: converted('`output_tokens`'),
  completion_tokens_details: converted('`output_tokens_details.thinking_tokens`'),
  total_tokens: converted('`output_tokens`, where a provider leaves reasoning out of that count'),
});

export const STOP_REASONS = valueTable('`finish_reason` → `stop_reason`', {
  stop: 'end_turn; tool_use where a tool was called',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
  model_length: 'model_context_window_exceeded',
  max_tokens: 'max_tokens',
});

/** Values that mean a failure. */
export const FAILURES = valueTable('`finish_reason` that ends the answer with an error', {
  error: 'api_error',
  insufficient_system_resource: 'overloaded_error',
  abort: 'api_error',
});

export const SERVICE_TIERS = valueTable('`service_tier` of an answer', { default: 'standard', priority: 'priority' });

export const CHOICES = valueTable('`tool_choice.type`', {
  auto: 'auto',
  any: 'required',
  none: 'none',
  tool: 'the function',
});

export const EFFORTS = valueTable('`output_config.effort` → `reasoning_effort`', {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
});

export const CHUNKS = kindTable('Pieces of a stream', {
  'first chunk': converted('`message_start`, with an estimate of the input'),
  content: converted(
    'a block that is opened and closed in its place: one is open at a time, and what comes meanwhile for another waits',
  ),
  'last chunk': converted('`message_delta`, with the usage'),
  '[DONE]': converted('`message_stop`; a provider that sends none has ended once it said a `finish_reason`'),
  comment: converted('`ping`'),
  error: converted('an `error` event, which ends the stream'),
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  OUTPUT_CONFIG,
  FORMAT,
  METADATA,
  ROLES,
  MESSAGE,
  SYSTEM_BLOCKS,
  USER_BLOCKS,
  ASSISTANT_BLOCKS,
  TEXT_BLOCK,
  IMAGE_BLOCK,
  DOCUMENT_BLOCK,
  SOURCES,
  SOURCE,
  SEARCH_RESULT_BLOCK,
  TOOL_RESULT_BLOCK,
  TOOL_USE_BLOCK,
  THINKING_BLOCK,
  REDACTED_BLOCK,
  TOOL,
  TOOL_CHOICE,
  CHOICES,
  EFFORTS,
];
export const RESPONSE_TABLES = [
  COMPLETION,
  CHOICE,
  RESPONSE_MESSAGE,
  TOOL_CALL,
  USAGE,
  STOP_REASONS,
  FAILURES,
  SERVICE_TIERS,
  CHUNKS,
];
