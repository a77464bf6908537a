/**
 * How Anthropic's messages are converted to Bedrock's Converse. The converters of this folder read objects through
 * these tables, and docs/protocols.md is generated from them.
 */
import { ACCOUNT_FIELDS, MESSAGE_SETTINGS, TOOL_CHANGES, UNREADABLE_BLOCKS } from '../anthropic/shared-rows.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../field-table.ts';

const CITATIONS = 'answers have no citations';
const SERVER_TOOL = 'Converse runs no such tool';
const CACHE = 'a `cachePoint` after it, for models that cache';

export const REQUEST = objectTable('Request', {
  model: converted('the path, by the name that the channel has for it'),
  messages: converted('`messages`; turns of one side are joined'),
  system: converted('`system`'),
  max_tokens: converted('`inferenceConfig.maxTokens`'),
  stream: converted('the path: `converse-stream`'),
  temperature: converted('`inferenceConfig.temperature`, for models that take it'),
  top_p: converted('`inferenceConfig.topP`, for models that take it'),
  top_k: converted('`additionalModelRequestFields`: `top_k` of Claude, `inferenceConfig.topK` of Nova; else left out'),
  stop_sequences: converted('`inferenceConfig.stopSequences`'),
  tools: converted('`toolConfig.tools`'),
  tool_choice: converted('`toolConfig.toolChoice`; none leaves the tools out where no turn has used one'),
  thinking: converted(
    '`additionalModelRequestFields`: `thinking` of Claude, by its budget `reasoningConfig` of Nova 2 and ' +
      '`reasoning_effort` of GPT-OSS',
  ),
  output_config: converted('`outputConfig`'),
  output_format: converted('`outputConfig.textFormat`'),
  context_management: converted(
    'nothing: edits that clear thoughts, which Converse ignores in old turns; others are refused',
  ),
  cache_control: converted('a `cachePoint` after the last message, for models that cache'),
  metadata: dropped("Converse keeps such values in the account's own logs only"),
  service_tier: dropped("an account's tiers are others, and its default is served"),
  diagnostics: dropped('asks for nothing but an explanation of cache misses'),
  speed: refused('there is no such setting', ['standard']),
  inference_geo: refused('the channel decides the region', ['global']),
  mcp_servers: refused(SERVER_TOOL, [[]]),
  container: refused(SERVER_TOOL),
  compaction: refused('Converse summarises nothing'),
  thread: refused('Converse keeps no conversation'),
  ...ACCOUNT_FIELDS,
});

export const OUTPUT_CONFIG = objectTable('`output_config`', {
  effort: converted(
    '`outputConfig.effort` of Claude; `reasoningConfig` of Nova 2 and `reasoning_effort` of GPT-OSS, xhigh and max as ' +
      'high',
  ),
  format: converted('`outputConfig.textFormat`'),
  task_budget: dropped('advice to the model on how to pace itself'),
});

export const FORMAT = objectTable('`output_config.format`', {
  type: converted('`json_schema`, the only one'),
  schema: converted('`structure.jsonSchema.schema`; for models without schemas a paragraph of `system`'),
});

export const ROLES = kindTable('Messages by role', {
  user: converted('a user message'),
  assistant: converted('an assistant message'),
  system: converted('text of a user message, where it stands'),
});

export const MESSAGE = objectTable('Messages', {
  role: converted('`role`'),
  content: converted('`content`'),
  ...MESSAGE_SETTINGS,
});

export const SYSTEM_BLOCKS = kindTable('Blocks of a system message by type', {
  text: converted('`text`'),
  ...TOOL_CHANGES,
});

export const USER_BLOCKS = kindTable("Blocks of a user message, and of a tool's result, by type", {
  text: converted('`text`; one without words is left out'),
  image: converted('`image`'),
  document: converted('`document`, after its `context`'),
  search_result: converted('`text`, with its title and source'),
  tool_result: converted('`toolResult`'),
  tool_reference: refused('tools are not searched for'),
  browser_state: refused(SERVER_TOOL),
  container_upload: refused(SERVER_TOOL),
});

export const ASSISTANT_BLOCKS = kindTable('Blocks of an assistant message by type', {
  text: converted('`text`; one without words is left out'),
  tool_use: converted('`toolUse`'),
  thinking: converted('`reasoningContent.reasoningText`, where it is signed; else it is left out'),
  redacted_thinking: converted('`reasoningContent.redactedContent`'),
  server_tool_use: omitted(SERVER_TOOL),
  web_search_tool_result: omitted(SERVER_TOOL),
  web_fetch_tool_result: omitted(SERVER_TOOL),
  code_execution_tool_result: omitted(SERVER_TOOL),
  mcp_tool_use: omitted(SERVER_TOOL),
  mcp_tool_result: omitted(SERVER_TOOL),
  ...UNREADABLE_BLOCKS,
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: converted('`text`'),
  text: converted('`text`'),
  cache_control: converted(CACHE),
  citations: dropped("they say where an earlier answer's words came from, not what it said"),
});

export const IMAGE_BLOCK = objectTable('Image blocks', {
  type: converted('`image`'),
  source: converted('`image.format` and `image.source.bytes`'),
  cache_control: converted(CACHE),
  transformations: dropped('Bedrock fits images itself'),
});

export const DOCUMENT_BLOCK = objectTable('Document blocks', {
  type: converted('`document`'),
  source: converted('`document.source`: the bytes of a PDF, or text; content blocks as blocks'),
  title: converted('`document.name`, in letters that Converse takes'),
  context: converted('`text` before it'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: converted(CACHE),
});

export const SOURCES = kindTable('Sources of images and documents by type', {
  base64: converted('`bytes`'),
  text: converted('`text`'),
  content: converted('`text` and `image` blocks'),
  url: refused('Bedrock fetches nothing: send the data'),
  file: refused('the file is kept at another provider'),
});

export const SOURCE = objectTable('Sources', {
  type: converted('what it is'),
  media_type: converted('`format`'),
  data: converted('`bytes` or `text`'),
  content: converted('blocks'),
  url: refused('Bedrock fetches nothing: send the data'),
  file_id: refused('the file is kept at another provider'),
});

export const SEARCH_RESULT_BLOCK = objectTable('Search result blocks', {
  type: converted('`text`'),
  title: converted('a line of the text'),
  source: converted('a line of the text'),
  content: converted('`text`'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: converted(CACHE),
});

export const TOOL_RESULT_BLOCK = objectTable('Tool result blocks', {
  type: converted('`toolResult`'),
  tool_use_id: converted('`toolUseId`; one of more than 64 characters as a digest'),
  content: converted('`content`'),
  is_error: converted('`status`: error'),
  cache_control: converted(CACHE),
  toolset_name: refused(SERVER_TOOL),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: converted('`toolUse`'),
  id: converted('`toolUseId`; one of more than 64 characters as a digest'),
  name: converted('`name`'),
  input: converted('`input`'),
  cache_control: converted(CACHE),
  caller: refused('only the model calls tools', [{ type: 'direct' }]),
  toolset_name: refused(SERVER_TOOL),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: converted('`reasoningContent`'),
  thinking: converted('`reasoningText.text`'),
  signature: converted('`reasoningText.signature`'),
});

export const REDACTED_BLOCK = objectTable('Redacted thinking blocks', {
  type: converted('`reasoningContent`'),
  data: converted('`redactedContent`'),
});

export const TOOL = objectTable('Tools', {
  type: converted(
    '`toolSpec`; tools that Anthropic runs are left out and named, those that it only describes are refused',
  ),
  name: converted('`name`; one of more than 64 characters is shortened, and written back in the answer'),
  description: converted('`description`'),
  input_schema: converted('`inputSchema.json`'),
  strict: converted('`strict`, for models with schemas'),
  input_examples: converted('lines of the description'),
  cache_control: converted('a `cachePoint` after it, for Claude'),
  eager_input_streaming: dropped('input comes as Bedrock streams it'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: refused('only the model calls tools', [['direct']]),
});

export const TOOL_CHOICE = objectTable('`tool_choice`', {
  type: converted('`toolChoice`'),
  name: converted('`toolChoice.tool.name`'),
  disable_parallel_tool_use: omitted('Converse has no such switch', [false]),
});

/** The provider's response. Fields that are in no table are left out. */
export const RESPONSE = objectTable('Answer', {
  output: converted('`content`, of its `message`'),
  stopReason: converted('`stop_reason`'),
  usage: converted('`usage`'),
  serviceTier: converted('`usage.service_tier`'),
  metrics: dropped('no counterpart'),
  trace: dropped("what a guardrail found stays in the account's logs"),
  performanceConfig: dropped('no counterpart'),
  additionalModelResponseFields: dropped('are not asked for'),
});

export const CONTENT_BLOCKS = kindTable('Blocks of an answer', {
  text: converted('a `text` block'),
  toolUse: converted('a `tool_use` block'),
  reasoningContent: converted('a `thinking` or `redacted_thinking` block'),
  citationsContent: converted('a `text` block of its content'),
  image: dropped('messages have no images of the assistant'),
  guardContent: dropped('is not asked for'),
  cachePoint: dropped('no content'),
});

export const USAGE = objectTable('Usage', {
  inputTokens: converted('`input_tokens`, which exclude the next two'),
  cacheReadInputTokens: converted('`cache_read_input_tokens`'),
  cacheWriteInputTokens: converted('`cache_creation_input_tokens`'),
  cacheDetails: converted('which of them stay for an hour'),
  outputTokens: converted('`output_tokens`'),
  totalTokens: dropped('the sum of the others'),
});

export const STOP_REASONS = valueTable('`stopReason` → `stop_reason`', {
  end_turn: 'end_turn',
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'refusal',
  content_filtered: 'refusal',
  model_context_window_exceeded: 'model_context_window_exceeded',
});

/** Values that mean a failure. */
export const FAILURES = valueTable('`stopReason` that ends the answer with an error', {
  malformed_model_output: 'api_error',
  malformed_tool_use: 'api_error',
});

export const EVENTS = kindTable('Events of a stream', {
  messageStart: converted('`message_start`, with an estimate of the input'),
  contentBlockStart: converted('`content_block_start`; of text and thinking with their first piece'),
  contentBlockDelta: converted('`content_block_delta`'),
  contentBlockStop: converted('`content_block_stop`'),
  messageStop: converted('the `stop_reason` of `message_delta`'),
  metadata: converted('`message_delta` with the usage, and `message_stop`'),
  exception: converted('an `error` event, which ends the stream'),
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  OUTPUT_CONFIG,
  FORMAT,
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
];
export const RESPONSE_TABLES = [RESPONSE, CONTENT_BLOCKS, USAGE, STOP_REASONS, FAILURES, EVENTS];
