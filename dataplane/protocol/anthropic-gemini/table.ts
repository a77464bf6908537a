/**
 * How Anthropic's messages are converted to Gemini's own API. The converters of this folder read objects through these
 * tables, and docs/protocols.md is generated from them.
 */
import { ACCOUNT_FIELDS, MESSAGE_SETTINGS, TOOL_CHANGES, UNREADABLE_BLOCKS } from '../anthropic/shared-rows.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../field-table.ts';

const CITATIONS = 'answers have no citations';
const SERVER_TOOL = 'Anthropic runs it, and Gemini does not';
const CACHE = dropped('Gemini caches by itself');

export const REQUEST = objectTable('Request', {
  model: converted('the path, by the name that the channel has for it'),
  messages: converted('`contents`; turns of one side are joined'),
  system: converted('`systemInstruction`'),
  max_tokens: converted('`generationConfig.maxOutputTokens`'),
  stream: converted('the path: `streamGenerateContent`'),
  temperature: converted('`generationConfig.temperature`'),
  top_p: converted('`generationConfig.topP`'),
  top_k: converted('`generationConfig.topK`'),
  stop_sequences: converted('`generationConfig.stopSequences`; of more than five the first five'),
  tools: converted('`functionDeclarations` of one of the `tools`'),
  tool_choice: converted('`toolConfig.functionCallingConfig`'),
  thinking: converted('`generationConfig.thinkingConfig`'),
  output_config: converted('`generationConfig`'),
  output_format: converted('`generationConfig.responseJsonSchema`'),
  context_management: converted(
    'nothing: edits that clear thoughts, which Gemini does not get back; others are refused',
  ),
  cache_control: CACHE,
  metadata: dropped('Gemini keeps no users'),
  service_tier: dropped("an account's tiers are others, and its default is served"),
  diagnostics: dropped('asks for nothing but an explanation of cache misses'),
  speed: refused('there is no such setting', ['standard']),
  inference_geo: refused("the channel's address decides the region", ['global']),
  mcp_servers: refused(SERVER_TOOL, [[]]),
  container: refused(SERVER_TOOL),
  compaction: refused('Gemini summarises nothing'),
  thread: refused('Gemini keeps no conversation'),
  ...ACCOUNT_FIELDS,
});

export const OUTPUT_CONFIG = objectTable('`output_config`', {
  effort: converted('`thinkingLevel` from Gemini 3 on, and `thinkingBudget` before'),
  format: converted('`responseJsonSchema`'),
  task_budget: dropped('advice to the model on how to pace itself'),
});

export const THINKING = objectTable('`thinking`', {
  type: converted('disabled as little thinking as the model can: the lowest level or budget'),
  budget_tokens: converted('`thinkingBudget`, and from Gemini 3 on the `thinkingLevel` that comes near to it'),
  display: converted('`includeThoughts`'),
});

export const FORMAT = objectTable('`output_config.format`', {
  type: converted('`json_schema`, the only one'),
  schema: converted(
    '`responseJsonSchema`; for models without schemas, and before Gemini 3 beside tools, a paragraph of `system`',
  ),
});

export const LEVELS = valueTable('`effort` → `thinkingLevel`', {
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
});

export const BUDGETS = valueTable('`effort` → `thinkingBudget`', {
  low: '1024',
  medium: '8192',
  high: '24576',
  xhigh: '24576',
  max: '24576',
});

export const ROLES = kindTable('Messages by role', {
  user: converted('a content of the role user'),
  assistant: converted('a content of the role model'),
  system: converted('text of a user content, where it stands'),
});

export const MESSAGE = objectTable('Messages', {
  role: converted('`role`'),
  content: converted('`parts`'),
  ...MESSAGE_SETTINGS,
});

export const SYSTEM_BLOCKS = kindTable('Blocks of a system message by type', {
  text: converted('`text`'),
  ...TOOL_CHANGES,
});

export const USER_BLOCKS = kindTable("Blocks of a user message, and of a tool's result, by type", {
  text: converted('`text`; an empty one is left out'),
  image: converted('`inlineData` or `fileData`'),
  document: converted('`inlineData`, `fileData` or `text`, after its title and `context`'),
  search_result: converted('`text`, with its title and source'),
  tool_result: converted("`functionResponse`, before the turn's other parts"),
  tool_reference: refused('tools are not searched for'),
  browser_state: refused(SERVER_TOOL),
  container_upload: refused(SERVER_TOOL),
});

export const ASSISTANT_BLOCKS = kindTable('Blocks of an assistant message by type', {
  text: converted('`text`; an empty one is left out'),
  tool_use: converted(
    "`functionCall`; from Gemini 3 on a turn's first call of another model gets a `thoughtSignature` that skips the " +
      'check',
  ),
  thinking: converted('the `thoughtSignature` of its part, where Gemini signed it; thoughts themselves are left out'),
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
  type: converted('`text`'),
  text: converted('`text`'),
  cache_control: CACHE,
  citations: dropped("they say where an earlier answer's words came from, not what it said"),
});

export const IMAGE_BLOCK = objectTable('Image blocks', {
  type: converted('a part'),
  source: converted('`inlineData` or `fileData`'),
  cache_control: CACHE,
  transformations: dropped('Gemini fits images itself'),
});

export const DOCUMENT_BLOCK = objectTable('Document blocks', {
  type: converted('a part'),
  source: converted('`inlineData` or `fileData` of a PDF, or text; content blocks as parts'),
  title: converted('`text` before it'),
  context: converted('`text` before it'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: CACHE,
});

export const SOURCES = kindTable('Sources of images and documents by type', {
  base64: converted('`inlineData`'),
  text: converted('`text`'),
  content: converted('`text` and media parts'),
  url: converted('`fileData`: Google fetches it'),
  file: refused('the file is kept at another provider'),
});

export const SOURCE = objectTable('Sources', {
  type: converted('what it is'),
  media_type: converted('`mimeType`'),
  data: converted('`data` or `text`'),
  content: converted('parts'),
  url: converted('`fileUri`; the type is read from its ending'),
  file_id: refused('the file is kept at another provider'),
});

export const SEARCH_RESULT_BLOCK = objectTable('Search result blocks', {
  type: converted('`text`'),
  title: converted('a line of the text'),
  source: converted('a line of the text'),
  content: converted('`text`'),
  citations: refused(CITATIONS, [{ enabled: false }, {}]),
  cache_control: CACHE,
});

export const TOOL_RESULT_BLOCK = objectTable('Tool result blocks', {
  type: converted('`functionResponse`'),
  tool_use_id: converted('`name` of the call, and `id` where Gemini gave one'),
  content: converted('`response`; media as `parts` of it from Gemini 3 on, and before as parts of the turn'),
  is_error: converted('`response.error` instead of `response.output`'),
  cache_control: CACHE,
  toolset_name: refused(SERVER_TOOL),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: converted('`functionCall`'),
  id: converted('`id`, where Gemini gave one'),
  name: converted('`name`'),
  input: converted('`args`'),
  cache_control: CACHE,
  caller: refused('only the model calls tools', [{ type: 'direct' }]),
  toolset_name: refused(SERVER_TOOL),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: converted('nothing by itself'),
  thinking: dropped('Gemini does not want thoughts back'),
  signature: converted('`thoughtSignature` of the part that it names'),
});

export const TOOL = objectTable('Tools', {
  type: converted(
    '`functionDeclarations`; tools that Anthropic runs are left out and named, those that it only describes are ' +
      'refused',
  ),
  name: converted('`name`; one of more than 64 characters is shortened, and written back in the answer'),
  description: converted('`description`'),
  input_schema: converted('`parametersJsonSchema`'),
  strict: converted("the mode VALIDATED, where the choice is the model's"),
  input_examples: converted('lines of the description'),
  cache_control: CACHE,
  eager_input_streaming: dropped('input comes as Gemini streams it'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: refused('only the model calls tools', [['direct']]),
});

export const TOOL_CHOICE = objectTable('`tool_choice`', {
  type: converted('`mode`'),
  name: converted('`allowedFunctionNames`'),
  disable_parallel_tool_use: omitted('Gemini has no such switch', [false]),
});

/** The provider's response. Fields that are in no table are left out. */
export const RESPONSE = objectTable('Answer', {
  candidates: converted('`content` and `stop_reason`, of the first'),
  promptFeedback: converted('a refusal, where the prompt was blocked'),
  usageMetadata: converted('`usage`'),
  modelVersion: dropped('the answer names the model as the client does'),
  responseId: dropped("the answer has an id of the gateway's"),
  createTime: dropped('messages have no time'),
});

export const PARTS = kindTable('Parts of an answer', {
  text: converted('a `text` block; a `thinking` block where it is a thought'),
  functionCall: converted('a `tool_use` block'),
  thoughtSignature: converted('the `signature` of a `thinking` block, with the id of the call that it belongs to'),
  inlineData: dropped('messages have no images of the assistant'),
  executableCode: dropped('is not asked for'),
  codeExecutionResult: dropped('is not asked for'),
});

export const USAGE = objectTable('Usage', {
  promptTokenCount: converted('`input_tokens`, less what was read from the cache'),
  toolUsePromptTokenCount: converted('`input_tokens`, added'),
  cachedContentTokenCount: converted('`cache_read_input_tokens`'),
  candidatesTokenCount: converted('`output_tokens`'),
  thoughtsTokenCount: converted('`output_tokens`, added, and `output_tokens_details.thinking_tokens`'),
  promptTokensDetails: converted('the price of audio and images'),
  trafficType: converted('the tier that is billed'),
  totalTokenCount: converted('`output_tokens`, where there are no other counts of the output'),
});

export const STOP_REASONS = valueTable('`finishReason` → `stop_reason`', {
  STOP: 'end_turn',
  MAX_TOKENS: 'max_tokens',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
  IMAGE_RECITATION: 'refusal',
  MODEL_ARMOR: 'refusal',
  BLOCKED: 'refusal',
});

/** Values that mean a failure. */
export const FAILURES = valueTable('`finishReason` that ends the answer with an error', {
  MALFORMED_FUNCTION_CALL: 'api_error',
  UNEXPECTED_TOOL_CALL: 'api_error',
  TOO_MANY_TOOL_CALLS: 'api_error',
  MALFORMED_RESPONSE: 'api_error',
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  OUTPUT_CONFIG,
  THINKING,
  LEVELS,
  BUDGETS,
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
  TOOL,
  TOOL_CHOICE,
];
export const RESPONSE_TABLES = [RESPONSE, PARTS, USAGE, STOP_REASONS, FAILURES];
