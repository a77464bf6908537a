/**
 * What the gateway reads of Anthropic's messages, and what a client gets. The reader of this folder reads objects
 * through these tables, and docs/reference/protocols is generated from them.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';
import type { Says } from '../client.ts';

const SERVER_TOOL = 'the provider runs no such tool';
const OTHER_ACCOUNT = refused('it belongs to an account at Anthropic');
const TOOLS_CHANGE = refused('tools are for the whole call');
const UNREADABLE = refused('only Anthropic can read it');
const CITATIONS = refused('responses have no citations', [{ enabled: false }, {}]);
const OTHER_FILE = refused('the file is kept at another provider');
const CACHE = converted('a cache mark after it');
const TYPE = converted('which part it is');

export const REQUEST = objectTable('Request', {
  model: converted('the model'),
  messages: converted('turns'),
  system: converted('the first turn, of the system'),
  max_tokens: converted('the output limit'),
  stream: converted('whether the response streams'),
  temperature: converted('temperature'),
  top_p: converted('top_p'),
  top_k: converted('top_k'),
  stop_sequences: converted('stop sequences'),
  tools: converted('tools'),
  tool_choice: converted('the choice of tools, and whether calls may be parallel'),
  thinking: converted('reasoning'),
  output_config: converted('effort and the format of the response'),
  output_format: converted('the format of the response'),
  context_management: converted(
    'nothing: edits that clear thinking, which goes back only where a provider needs it; others are refused',
  ),
  cache_control: converted('a cache mark at the end of the conversation'),
  metadata: converted('the user'),
  service_tier: converted('the service tier: standard_only is standard, auto is left out'),
  diagnostics: dropped('asks for nothing but an explanation of cache misses'),
  speed: refused('there is no such setting', ['standard']),
  inference_geo: refused('the channel decides the region', ['global']),
  mcp_servers: refused(SERVER_TOOL, [[]]),
  container: refused(SERVER_TOOL),
  compaction: refused('the provider summarizes nothing'),
  thread: refused('the provider keeps no conversation'),
  fallbacks: refused('routes have their own'),
  fallback_credit_token: OTHER_ACCOUNT,
  billing_policy: OTHER_ACCOUNT,
  user_profile_id: OTHER_ACCOUNT,
  workspace_id: OTHER_ACCOUNT,
});

export const OUTPUT_CONFIG = objectTable('`output_config`', {
  effort: converted('effort'),
  format: converted('the format of the response'),
  task_budget: dropped('advice to the model on how to pace itself'),
});

export const THINKING = objectTable('`thinking`', {
  type: converted('the mode of reasoning'),
  budget_tokens: converted('its budget'),
  display: converted('whether it is shown'),
});

export const FORMAT = objectTable('`output_config.format`', {
  type: converted('`json_schema`, the only one'),
  schema: converted('the schema'),
});

export const METADATA = objectTable('`metadata`', { user_id: converted('the user') });

export const ROLES = kindTable('Messages by role', {
  user: converted("a user's turn"),
  assistant: converted("an assistant's turn"),
  system: converted("a system's turn, where it stands"),
});

export const MESSAGE = objectTable('Messages', {
  role: converted('whose turn it is'),
  content: converted('its parts'),
  clear_at: refused('a message stays in its conversation', ['never']),
  output_config: refused('settings are for the whole call'),
});

export const SYSTEM_BLOCKS = kindTable('Blocks of a system message by type', {
  text: converted('a text'),
  tool_addition: TOOLS_CHANGE,
  tool_removal: TOOLS_CHANGE,
});

export const USER_BLOCKS = kindTable("Blocks of a user message, and of a tool's result, by type", {
  text: converted('a text'),
  image: converted('an image'),
  document: converted('a document'),
  search_result: converted('a search result'),
  tool_result: converted("a tool's result"),
  tool_reference: converted('a line of text that names the tools that were found'),
  browser_state: refused(SERVER_TOOL),
  container_upload: refused(SERVER_TOOL),
});

export const ASSISTANT_BLOCKS = kindTable('Blocks of an assistant message by type', {
  text: converted('a text'),
  tool_use: converted('a call'),
  thinking: converted('reasoning, with what proves whose it is'),
  redacted_thinking: converted('reasoning that only Anthropic can read'),
  server_tool_use: omitted(SERVER_TOOL),
  web_search_tool_result: omitted(SERVER_TOOL),
  web_fetch_tool_result: omitted(SERVER_TOOL),
  code_execution_tool_result: omitted(SERVER_TOOL),
  mcp_tool_use: omitted(SERVER_TOOL),
  mcp_tool_result: omitted(SERVER_TOOL),
  compaction: UNREADABLE,
  fallback: UNREADABLE,
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: TYPE,
  text: converted('the text'),
  cache_control: CACHE,
  citations: dropped("they say where an earlier response's words came from, not what it said"),
});

export const IMAGE_BLOCK = objectTable('Image blocks', {
  type: TYPE,
  source: converted('its data or URL'),
  cache_control: CACHE,
  transformations: dropped('providers fit images themselves'),
});

export const DOCUMENT_BLOCK = objectTable('Document blocks', {
  type: TYPE,
  source: converted('its data, URL, text or parts'),
  title: converted('its title'),
  context: converted('what is said about it'),
  citations: CITATIONS,
  cache_control: CACHE,
});

export const SOURCES = kindTable('Sources of images and documents by type', {
  base64: converted('data'),
  text: converted('a text'),
  content: converted('texts and images'),
  url: converted('a URL'),
  file: OTHER_FILE,
});

export const SOURCE = objectTable('Sources', {
  type: converted('what it is'),
  media_type: converted('the media type; image/jpg is image/jpeg'),
  data: converted('data or text'),
  content: converted('parts'),
  url: converted('the URL'),
  file_id: OTHER_FILE,
});

export const SEARCH_RESULT_BLOCK = objectTable('Search result blocks', {
  type: TYPE,
  title: converted('its title'),
  source: converted('where it was found'),
  content: converted('its texts'),
  citations: CITATIONS,
  cache_control: CACHE,
});

export const TOOL_RESULT_BLOCK = objectTable('Tool result blocks', {
  type: TYPE,
  tool_use_id: converted('the id of the call'),
  content: converted('its parts'),
  is_error: converted('whether the call failed'),
  cache_control: CACHE,
  toolset_name: refused(SERVER_TOOL),
});

export const TOOL_REFERENCE_BLOCK = objectTable('Tool reference blocks', {
  type: TYPE,
  tool_name: converted('the name in the line'),
  cache_control: dropped('the line is short'),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: TYPE,
  id: converted('the id of the call'),
  name: converted('the name of the tool'),
  input: converted('the arguments'),
  cache_control: CACHE,
  caller: refused('only the model calls tools', [{ type: 'direct' }]),
  toolset_name: refused(SERVER_TOOL),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: TYPE,
  thinking: converted('its text'),
  signature: converted('what proves whose it is; one that another provider made says so'),
});

export const REDACTED_BLOCK = objectTable('Redacted thinking blocks', {
  type: TYPE,
  data: converted('what proves whose it is'),
});

export const TOOL = objectTable('Tools', {
  type: converted(
    'a tool of the client; tools that Anthropic runs are left out and named, those that it only describes are refused',
  ),
  name: converted('its name'),
  description: converted('its description'),
  input_schema: converted('the schema of its arguments'),
  strict: converted('whether calls must match the schema'),
  input_examples: converted('examples of arguments'),
  cache_control: CACHE,
  eager_input_streaming: dropped('arguments come as the provider streams them'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: refused('only the model calls tools', [['direct']]),
});

export const TOOL_CHOICE = objectTable('`tool_choice`', {
  type: converted('the choice: auto, any, none, or the tool'),
  name: converted('the tool'),
  disable_parallel_tool_use: converted('whether calls may be parallel'),
});

export const STOP_REASONS = valueTable('The end of a response → `stop_reason`', {
  Stop: 'end_turn',
  Length: 'max_tokens',
  StopSequence: 'stop_sequence',
  ToolCalls: 'tool_use',
  Refusal: 'refusal',
  ContextWindow: 'model_context_window_exceeded',
  Paused: 'pause_turn',
});

/** What the client gets of a response's parts. */
export const RESPONSE_PARTS = kindTable('Parts of a response', {
  Text: converted('a `text` block'),
  Refusal: converted('a `text` block, `stop_reason` refusal and `stop_details.explanation`'),
  Reasoning: converted('a `thinking` or `redacted_thinking` block, with its proof as `signature` or `data`'),
  ToolCall: converted("a `tool_use` block; an id in other letters than the protocol's is rewritten"),
  Image: dropped('messages have no images of the assistant'),
});

/** What of a conversation the dialect has words for. */
export const SAYS: Says = {
  settings: [
    'maxOutputTokens',
    'temperature',
    'topP',
    'topK',
    'stop',
    'effort',
    'reasoning',
    'responseFormat',
    'toolChoice',
    'parallelToolCalls',
    'user',
    'cache',
    'serviceTier',
  ],
  parts: ['Text', 'Image', 'Document', 'SearchResult', 'ToolResult', 'ToolCall', 'Reasoning', 'cache mark'],
  tools: ['name', 'description', 'schema', 'strict', 'examples', 'cache'],
};

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [
  REQUEST,
  OUTPUT_CONFIG,
  THINKING,
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
  TOOL_REFERENCE_BLOCK,
  TOOL_USE_BLOCK,
  THINKING_BLOCK,
  REDACTED_BLOCK,
  TOOL,
  TOOL_CHOICE,
];
export const RESPONSE_TABLES = [RESPONSE_PARTS, STOP_REASONS];
