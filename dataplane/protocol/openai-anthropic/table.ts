/**
 * How OpenAI's chat completions are converted to Anthropic's protocol. The converters of this folder read objects
 * through these tables, and docs/protocols.md is generated from them.
 */
import { converted, dropped, kindTable, objectTable, refused, valueTable } from '../field-table.ts';

const OWN_CACHE = "Anthropic caches where cache_control says so: the client's on any part, or else the gateway's";
const NAMES = 'Anthropic tells speakers apart by role only';
const CACHE_OF_LAST = "`cache_control` of the message's last block (not OpenAI's own)";
const ECHO = 'comes back from an answer, and says nothing to the model';

/** Fields that clients store on messages and calls for their own use, and send back. */
const CLIENTS_OWN = "a client's own, which no provider reads";
const PRIVATE_FIELDS = {
  provider_specific_fields: dropped(CLIENTS_OWN),
  additional_kwargs: dropped(CLIENTS_OWN),
  response_metadata: dropped(CLIENTS_OWN),
  extra_content: dropped(CLIENTS_OWN),
  id: dropped(CLIENTS_OWN),
};

export const REQUEST = objectTable('Request', {
  model: converted('`model`, by the name that the channel has for it'),
  messages: converted('`system` and `messages`'),
  max_completion_tokens: converted('`max_tokens`'),
  max_tokens: converted('`max_tokens`'),
  stream: converted('`stream`'),
  stream_options: converted('nothing that is sent: `include_usage` adds the chunk with the usage to the answer'),
  temperature: converted('`temperature`, at most 1, for models that take it; left out while the model thinks'),
  top_p: converted(
    '`top_p`, for models that take it, some of them only without a temperature; left out while the model thinks, ' +
      'unless at least 0.95',
  ),
  top_k: converted("`top_k` (not OpenAI's own), as temperature"),
  stop: converted('`stop_sequences`, for models that take them'),
  tools: converted('`tools`; a request without them declares those that its history has called'),
  tool_choice: converted('`tool_choice`; `allowed_tools` also leaves the other tools out'),
  parallel_tool_calls: converted('`tool_choice.disable_parallel_tool_use`, where false'),
  functions: converted('`tools`; the answer calls one as `function_call`'),
  function_call: converted('`tool_choice`, where there are `functions`'),
  response_format: converted(
    '`output_config.format` (json_schema), or a line of `system` that asks for one JSON object (json_object, and ' +
      'json_schema for models without it)',
  ),
  reasoning_effort: converted(
    '`thinking` and `output_config.effort`, for models that reason; a thinking budget of at most half the limit for ' +
      'Claude before 4.6',
  ),
  thinking: converted("`thinking` (not OpenAI's own) as it is"),
  user: converted('`metadata.user_id`'),
  safety_identifier: converted('`metadata.user_id`, before `user`'),
  service_tier: converted(
    '`service_tier`: default is standard_only, auto is left out; priority and fast, too, and named; others are refused',
  ),
  cache_control: converted("`cache_control` (not OpenAI's own)"),
  metadata: dropped('OpenAI keeps it with the stored answer'),
  store: dropped('nothing is stored'),
  seed: dropped('a best effort that promises nothing'),
  prompt_cache_key: dropped(OWN_CACHE),
  prompt_cache_retention: dropped(OWN_CACHE),
  prompt_cache_options: dropped(OWN_CACHE),
  prediction: dropped('it makes an answer quicker, not another one'),
  n: refused('one answer at a time', [1]),
  best_of: refused('one answer at a time', [1]),
  logprobs: refused('there are no probabilities', [false]),
  top_logprobs: refused('there are no probabilities', [0]),
  logit_bias: refused('there are no tokens to name', [{}]),
  frequency_penalty: refused('there is no such setting', [0]),
  presence_penalty: refused('there is no such setting', [0]),
  modalities: refused('answers are text', [['text']]),
  audio: refused('answers are text'),
  moderation: refused('the provider moderates by its own rules'),
  verbosity: refused('there is no such setting', ['medium']),
  web_search_options: refused('searches at the provider are a tool of its own; left out and named by `Drop`'),
});

export const STREAM_OPTIONS = objectTable('`stream_options`', {
  include_usage: converted('the chunk with the usage, before `[DONE]`'),
  include_obfuscation: dropped('chunks have no padding'),
});

export const ROLES = kindTable('Messages by role', {
  system: converted('`system`, wherever it stands: all of them in their order'),
  developer: converted('`system`, likewise'),
  user: converted('a user turn; turns of one side that follow each other become one'),
  assistant: converted('an assistant turn'),
  tool: converted('a `tool_result` block, before everything else of its user turn'),
  function: converted('a `tool_result` block for the latest `function_call`'),
});

export const SYSTEM_MESSAGE = objectTable('System and developer messages', {
  role: converted('`system`'),
  content: converted('blocks of `system`'),
  name: dropped(NAMES),
  cache_control: converted(CACHE_OF_LAST),
  ...PRIVATE_FIELDS,
});

export const USER_MESSAGE = objectTable('User messages', {
  role: converted('`role`'),
  content: converted('`content`'),
  name: converted('a text of its own before the content: `bob:`'),
  cache_control: converted(CACHE_OF_LAST),
  ...PRIVATE_FIELDS,
});

export const ASSISTANT_MESSAGE = objectTable('Assistant messages', {
  role: converted('`role`'),
  content: converted('text blocks'),
  refusal: converted('a text block'),
  tool_calls: converted('`tool_use` blocks'),
  function_call: converted('a `tool_use` block'),
  reasoning_details: converted('`thinking` and `redacted_thinking` blocks, where Anthropic signed them'),
  thinking_blocks: converted("the same (LiteLLM's), where there are no `reasoning_details`"),
  reasoning_content: dropped(
    'unsigned, so the API would refuse it; `reasoning_details` and `thinking_blocks` have the signature',
  ),
  reasoning: dropped('as reasoning_content'),
  name: dropped(NAMES),
  annotations: dropped(ECHO),
  parsed: dropped("the SDK's reading of the content"),
  cache_control: converted(CACHE_OF_LAST),
  ...PRIVATE_FIELDS,
  audio: refused('there is no audio'),
});

export const TOOL_MESSAGE = objectTable('Tool and function messages', {
  role: converted('a `tool_result` block'),
  tool_call_id: converted("`tool_use_id`; an id in other letters than the API's is rewritten, here and in the call"),
  content: converted('`content`, with images and documents'),
  name: dropped('the call has it'),
  cache_control: converted("`cache_control` of the block (not OpenAI's own)"),
  ...PRIVATE_FIELDS,
});

export const PARTS = kindTable('Content parts by type', {
  text: converted('a `text` block; those without any words are left out, as the API refuses them'),
  refusal: converted('a `text` block'),
  image_url: converted('an `image` block, with a URL or base64 data; of the user and of tools'),
  file: converted('a `document` block (PDF, text) or an `image` block; of the user and of tools'),
  input_audio: refused('there is no audio'),
});

export const TEXT_PART = objectTable('Text parts', {
  type: converted('`type`'),
  text: converted('`text`'),
  cache_control: converted("`cache_control` (not OpenAI's own)"),
  prompt_cache_breakpoint: dropped(OWN_CACHE),
});

export const REFUSAL_PART = objectTable('Refusal parts', {
  type: converted('`text`'),
  refusal: converted('`text`'),
});

export const IMAGE_PART = objectTable('Image parts', {
  type: converted('`image`'),
  image_url: converted('`source`'),
  cache_control: converted("`cache_control` (not OpenAI's own)"),
  prompt_cache_breakpoint: dropped(OWN_CACHE),
});

export const IMAGE_URL = objectTable('`image_url`', {
  url: converted('`source`: url, or base64 of a data URL'),
  detail: dropped('Anthropic looks at the whole image'),
});

export const FILE_PART = objectTable('File parts', {
  type: converted('`document`'),
  file: converted('`source` and `title`'),
  cache_control: converted("`cache_control` (not OpenAI's own)"),
  prompt_cache_breakpoint: dropped(OWN_CACHE),
});

export const FILE = objectTable('`file`', {
  file_data: converted('`source`: base64 (PDF), text (text and JSON), an image block (images), or url'),
  filename: converted('`title`'),
  file_id: refused('the file is kept at another provider'),
});

export const TOOLS = kindTable('Tools and calls by type', {
  function: converted('a tool'),
  custom: converted("a tool with one text field, `input`; the answer's calls are custom again"),
});

export const TOOL = objectTable('Tools', {
  type: converted('`type`'),
  function: converted('`name`, `description`, `input_schema`'),
  custom: converted('`name`, `description`'),
  cache_control: converted("`cache_control` (not OpenAI's own)"),
});

export const FUNCTION = objectTable('`function` of a tool, and `functions`', {
  name: converted("`name`; one in other letters than the API's is rewritten, and written back in the answer"),
  description: converted('`description`'),
  parameters: converted(
    '`input_schema`; an object without fields where there are none; alternatives at its root become part of the ' +
      'description',
  ),
  strict: converted('`strict`, for models that take it, with `additionalProperties: false` in the schema'),
  cache_control: converted("`cache_control` of the tool (LiteLLM's)"),
});

export const CUSTOM_TOOL = objectTable('`custom` of a tool', {
  name: converted('`name`'),
  description: converted('`description`'),
  format: refused("a tool's text cannot be held to a grammar", [{ type: 'text' }]),
});

export const TOOL_CALL = objectTable('Tool calls', {
  id: converted("`id`; one in other letters than the API's is rewritten"),
  type: converted('`tool_use`'),
  function: converted('`name` and `input`'),
  custom: converted('`name` and `input.input`'),
  index: dropped('calls stand in their order'),
  cache_control: converted("`cache_control` of the block (not OpenAI's own)"),
  provider_specific_fields: dropped(CLIENTS_OWN),
  extra_content: dropped(CLIENTS_OWN),
});

export const FUNCTION_CALL = objectTable('`function` of a tool call, and `function_call`', {
  name: converted('`name`'),
  arguments: converted('`input`: the object; an empty one where a model wrote none, or not JSON'),
  parsed_arguments: dropped("the SDK's reading of the arguments"),
});

export const CUSTOM_CALL = objectTable('`custom` of a tool call', {
  name: converted('`name`'),
  input: converted('`input.input`'),
});

export const FORMATS = kindTable('`response_format` by type', {
  text: converted('nothing: the default'),
  json_schema: converted('`output_config.format`'),
  json_object: converted('a line of `system`: the model is asked, not held to it'),
});

export const FORMAT = objectTable('`response_format`', {
  type: converted('`type`'),
  json_schema: converted('`schema`'),
});

export const JSON_SCHEMA = objectTable('`json_schema`', {
  schema: converted(
    '`schema`, with `additionalProperties: false`; keywords that the API refuses become part of the description',
  ),
  name: dropped('a label'),
  description: dropped('the schema has its own'),
  strict: dropped('Anthropic always holds to the schema'),
});

/** The provider's response. Fields that are in no table are left out. */
export const MESSAGE = objectTable('Answer', {
  id: converted('`id`, where the gateway has none of its own'),
  model: converted('`model`'),
  content: converted('`choices[0].message`'),
  stop_reason: converted('`finish_reason`'),
  stop_details: converted('`message.refusal`: the explanation of a refusal'),
  usage: converted('`usage`'),
  type: dropped('`object` says it'),
  role: dropped('always the assistant'),
  stop_sequence: dropped('OpenAI does not tell which one'),
  container: dropped('belongs to tools that an OpenAI client cannot ask for'),
  context_management: dropped('belongs to a beta that an OpenAI client cannot ask for'),
  diagnostics: dropped('belongs to a beta that an OpenAI client cannot ask for'),
});

const BLOCKS = kindTable('Blocks of an answer by type', {
  text: converted('`content`; several are joined'),
  thinking: converted('`reasoning_content`, and `reasoning_details` with the signature, which brings it back'),
  redacted_thinking: converted('`reasoning_details`'),
  tool_use: converted('`tool_calls`; `function_call` for older functions'),
  server_tool_use: dropped("the provider's own step: the text has what came of it"),
  web_search_tool_result: dropped("the provider's own step"),
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: converted('`content`'),
  text: converted('`content`'),
  citations: converted('`annotations`, where they have a URL'),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: converted('`reasoning_details[].type`'),
  thinking: converted('`reasoning_content`'),
  signature: converted('`reasoning_details[].signature`'),
  data: converted('`reasoning_details[].data`'),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: converted('`type`'),
  id: converted('`id`'),
  name: converted('`name`'),
  input: converted('`arguments`: its JSON'),
  caller: dropped('always the model'),
  toolset_name: dropped('belongs to tools that an OpenAI client cannot ask for'),
});

export const USAGE = objectTable('Usage', {
  input_tokens: converted('`prompt_tokens`, with the next two'),
  cache_read_input_tokens: converted('`prompt_tokens_details.cached_tokens`'),
  cache_creation_input_tokens: converted('`prompt_tokens_details.cache_write_tokens`'),
  cache_creation: converted('`prompt_tokens_details.cache_write_tokens`: both kinds together'),
  output_tokens: converted('`completion_tokens`'),
  output_tokens_details: converted('`completion_tokens_details.reasoning_tokens`'),
  service_tier: converted('`service_tier`'),
  server_tool_use: dropped('belongs to tools that an OpenAI client cannot ask for'),
  inference_geo: dropped('no counterpart'),
  speed: dropped('no counterpart'),
});

export const FINISH_REASONS = valueTable('`stop_reason` → `finish_reason`', {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
});

export const SERVICE_TIERS = valueTable('`service_tier` of an answer', { standard: 'default', priority: 'priority' });

export const CHOICES = valueTable('`tool_choice`', { auto: 'auto', none: 'none', required: 'any' });

export const EFFORTS = valueTable('`reasoning_effort` → `output_config.effort`', {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
});

export const BUDGETS = valueTable('`reasoning_effort` → `thinking.budget_tokens`, for models before 4.6', {
  minimal: '1024',
  low: '2048',
  medium: '8192',
  high: '16384',
  xhigh: '32768',
  max: '32768',
});

const EVENTS = kindTable('Events of a stream', {
  message_start: converted('the first chunk: the role'),
  content_block_start: converted('of a tool call, the chunk with its id and name'),
  content_block_delta: converted('a chunk of content, reasoning or arguments'),
  content_block_stop: converted(
    "what was waited for: a custom tool's input, arguments of a provider that sends them whole, annotations",
  ),
  message_delta: converted('the chunk with the `finish_reason`, once the stream is over, and the usage'),
  message_stop: converted('`[DONE]`'),
  ping: converted('a comment'),
  error: converted('an error chunk, which ends the stream'),
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  STREAM_OPTIONS,
  ROLES,
  SYSTEM_MESSAGE,
  USER_MESSAGE,
  ASSISTANT_MESSAGE,
  TOOL_MESSAGE,
  PARTS,
  TEXT_PART,
  REFUSAL_PART,
  IMAGE_PART,
  IMAGE_URL,
  FILE_PART,
  FILE,
  TOOLS,
  TOOL,
  FUNCTION,
  CUSTOM_TOOL,
  TOOL_CALL,
  FUNCTION_CALL,
  CUSTOM_CALL,
  FORMATS,
  FORMAT,
  JSON_SCHEMA,
  CHOICES,
  EFFORTS,
  BUDGETS,
];
export const RESPONSE_TABLES = [
  MESSAGE,
  BLOCKS,
  TEXT_BLOCK,
  THINKING_BLOCK,
  TOOL_USE_BLOCK,
  USAGE,
  FINISH_REASONS,
  SERVICE_TIERS,
  EVENTS,
];
