/**
 * How requests in the Responses dialect are converted to chat completions. Requests for Anthropic's messages take the
 * same way and go on from there by openai-anthropic/table.ts. The converters of this folder read objects through these
 * tables, and docs/protocols.md is generated from them.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../field-table.ts';

const CACHING = 'the provider caches by itself';
const KEPT_THERE = 'it is kept at another provider';
const SERVER_TOOL = 'the provider runs no such tool';
const OWN_ID = 'chat completions have no ids of messages';
const NO_STATE = 'the provider keeps no conversation';
const OWN_SCHEMA = "its description is OpenAI's own";

export const REQUEST = objectTable('Request', {
  model: converted('`model`, by the name that the channel has for it'),
  input: converted('`messages`'),
  instructions: converted('the first message, of the system, together with system messages at the beginning'),
  max_output_tokens: converted('`max_completion_tokens`, or `max_tokens` where the route says so; `max_tokens`'),
  stream: converted('`stream`'),
  temperature: converted('`temperature`, for models that take it'),
  top_p: converted('`top_p`, for models that take a temperature'),
  tools: converted('`tools`'),
  tool_choice: converted('`tool_choice`; `allowed_tools` also leaves the other tools out'),
  parallel_tool_calls: converted('`parallel_tool_calls`, where false'),
  reasoning: converted('`reasoning_effort`'),
  text: converted('`response_format` and `verbosity`'),
  user: converted('`user`; one of more than 64 characters as its SHA-256'),
  safety_identifier: converted('`user`, before `user`'),
  service_tier: converted('`service_tier`; auto is left out'),
  metadata: converted('`metadata` of the answer'),
  store: dropped('nothing is stored'),
  include: dropped('encrypted reasoning always comes; the rest belongs to tools that the provider runs'),
  stream_options: dropped('events have no padding'),
  max_tool_calls: dropped('it limits tools that the provider runs'),
  prompt_cache_key: dropped(CACHING),
  prompt_cache_retention: dropped(CACHING),
  prompt_cache_options: dropped(CACHING),
  client_metadata: dropped("Codex's own, which no model reads"),
  truncation: omitted('a conversation that is too long is refused by its provider', ['disabled']),
  context_management: omitted('the provider summarises nothing', [[]]),
  image: omitted('the provider makes no images'),
  top_logprobs: refused('not all providers have probabilities', [0]),
  moderation: refused('the provider moderates by its own rules'),
  access_programs: refused('they belong to an account at OpenAI'),
  previous_response_id: refused(NO_STATE),
  conversation: refused(NO_STATE),
  prompt: refused(KEPT_THERE),
  background: refused(NO_STATE, [false]),
});

export const REASONING_SETTINGS = objectTable('`reasoning`', {
  effort: converted('`reasoning_effort`, for models that reason'),
  summary: dropped('what the provider shows of its reasoning is the summary'),
  generate_summary: dropped('what the provider shows of its reasoning is the summary'),
  context: dropped('reasoning of earlier turns goes to models that want it back'),
  max_tokens: dropped('the output limit holds for reasoning too'),
  mode: omitted('there is no such setting', ['standard']),
});

export const TEXT_SETTINGS = objectTable('`text`', {
  format: converted('`response_format`'),
  verbosity: converted('`verbosity`, for GPT-5; for others it is left out and named'),
});

export const FORMATS = kindTable('`text.format` by type', {
  text: converted('nothing: text is the default'),
  json_object: converted('`json_object`'),
  json_schema: converted('`json_schema`; for models without it `json_object` and a line of the system message'),
});

export const FORMAT = objectTable('`text.format`', {
  type: converted('`type`'),
  name: converted('`json_schema.name`'),
  schema: converted('`json_schema.schema`'),
  strict: converted('`json_schema.strict`'),
  description: converted('`json_schema.description`'),
});

export const ITEMS = kindTable('Input items by type', {
  message: converted('a message of its role'),
  reasoning: converted("`reasoning_content` or thinking blocks of the assistant's message that follows"),
  function_call: converted('`tool_calls` of an assistant message; calls that follow each other are one message'),
  function_call_output: converted('a tool message; its images and files follow in a user message'),
  custom_tool_call: converted('`tool_calls`: a function with the text as its `input`'),
  custom_tool_call_output: converted('a tool message'),
  tool_search_call: converted('`tool_calls`, where the client searches'),
  tool_search_output: converted("a tool message with the tools' names, and `tools`"),
  additional_tools: converted('`tools`'),
  compaction: omitted('only the account that made it can read it'),
  web_search_call: omitted(SERVER_TOOL),
  file_search_call: omitted(SERVER_TOOL),
  code_interpreter_call: omitted(SERVER_TOOL),
  image_generation_call: omitted(SERVER_TOOL),
  mcp_list_tools: omitted(SERVER_TOOL),
  mcp_call: omitted(SERVER_TOOL),
  mcp_approval_request: omitted(SERVER_TOOL),
  mcp_approval_response: omitted(SERVER_TOOL),
  program: omitted(SERVER_TOOL),
  program_output: omitted(SERVER_TOOL),
  computer_call: omitted(OWN_SCHEMA),
  computer_call_output: omitted(OWN_SCHEMA),
  local_shell_call: omitted(OWN_SCHEMA),
  local_shell_call_output: omitted(OWN_SCHEMA),
  shell_call: omitted(OWN_SCHEMA),
  shell_call_output: omitted(OWN_SCHEMA),
  apply_patch_call: omitted(OWN_SCHEMA),
  apply_patch_call_output: omitted(OWN_SCHEMA),
  configuration_update: omitted('settings are for the whole call'),
  compaction_trigger: refused('the provider summarises nothing'),
  item_reference: refused(KEPT_THERE),
});

export const MESSAGE = objectTable('Messages', {
  type: converted('a message'),
  role: converted('`role`'),
  content: converted('`content`'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
  phase: dropped('it tells the client which messages to show'),
});

export const ROLES = kindTable('Messages by role', {
  user: converted('a user message'),
  assistant: converted('an assistant message'),
  system: converted('a system message; those at the beginning are one'),
  developer: converted('a system message, likewise'),
});

export const REASONING = objectTable('Reasoning', {
  type: converted('`reasoning_content`'),
  summary: converted('`reasoning_content`, likewise, where there is no `content`'),
  content: converted('`reasoning_content`, for models that want it back (DeepSeek, Kimi)'),
  encrypted_content: converted('thinking that the gateway has sealed, with its signature, for the channel it is of'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
});

const CALL = {
  type: converted('`tool_calls`'),
  call_id: converted('`tool_calls[].id`'),
  name: converted('`function.name`'),
  namespace: converted('`function.name`, before the name'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
  async: dropped('every call is answered before the model goes on'),
  caller: dropped('only the model calls tools'),
};

export const FUNCTION_CALL = objectTable('Function calls', {
  ...CALL,
  arguments: converted('`function.arguments`'),
  parsed_arguments: dropped("the SDK's reading of the arguments"),
});
export const CUSTOM_CALL = objectTable('Calls of custom tools', {
  ...CALL,
  input: converted('`function.arguments`: `{"input":…}`'),
});

export const CALL_OUTPUT = objectTable('Outputs of calls', {
  type: converted('a tool message'),
  call_id: converted('`tool_call_id`'),
  output: converted('`content`'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
  name: dropped('the call has it'),
  namespace: dropped('the call has it'),
  caller: dropped('only the model calls tools'),
});

export const TOOL_SEARCH_CALL = objectTable('Tool searches', {
  type: converted('`tool_calls`'),
  call_id: converted('`tool_calls[].id`'),
  arguments: converted('`function.arguments`'),
  execution: converted('nothing: a search by the provider is left out and named'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
  created_by: dropped(OWN_ID),
});

export const TOOL_SEARCH_OUTPUT = objectTable('Outputs of tool searches', {
  type: converted('a tool message'),
  call_id: converted('`tool_call_id`'),
  tools: converted('`tools`, and their names as the `content`'),
  execution: converted('nothing: a search by the provider is left out, and its tools join'),
  id: dropped(OWN_ID),
  status: dropped(OWN_ID),
  created_by: dropped(OWN_ID),
});

export const ADDITIONAL_TOOLS = objectTable('Additional tools', {
  type: converted('`tools`'),
  tools: converted('`tools`'),
  role: dropped('tools have no role'),
  id: dropped(OWN_ID),
});

export const PARTS = kindTable('Content parts by type', {
  input_text: converted('a `text` part'),
  output_text: converted('text'),
  text: converted('a `text` part'),
  refusal: converted('text'),
  input_image: converted('an `image_url` part'),
  input_file: converted('a `file` part'),
  input_audio: refused('there is no audio'),
});

export const TEXT_PART = objectTable('Text parts', {
  type: converted('`text`'),
  text: converted('`text`'),
  annotations: dropped("they say where an earlier answer's words came from, not what it said"),
  logprobs: dropped('they come back from an answer, and say nothing to the model'),
  parsed: dropped("the SDK's reading of the text"),
  prompt_cache_breakpoint: dropped(CACHING),
});

export const REFUSAL_PART = objectTable('Refusals', { type: converted('`text`'), refusal: converted('`text`') });

export const IMAGE_PART = objectTable('Images', {
  type: converted('`image_url`'),
  image_url: converted('`image_url.url`'),
  detail: converted('`image_url.detail`: original as high'),
  file_id: refused(KEPT_THERE),
  prompt_cache_breakpoint: dropped(CACHING),
});

export const FILE_PART = objectTable('Files', {
  type: converted('`file`'),
  file_data: converted('`file.file_data`'),
  filename: converted('`file.filename`'),
  file_url: converted("the `source` of a document on Anthropic's protocol; chat completions take no files by URL"),
  detail: dropped('the provider looks at files in its own way'),
  file_id: refused(KEPT_THERE),
  prompt_cache_breakpoint: dropped(CACHING),
});

export const TOOLS = kindTable('Tools by type', {
  function: converted('a function'),
  custom: converted("a function with one text, `input`; the answer's calls are custom again"),
  namespace: converted('functions with the namespace before their names; calls come back with `namespace`'),
  tool_search: converted('a function, where the client searches; calls come back as `tool_search_call`'),
  web_search: omitted(SERVER_TOOL),
  web_search_preview: omitted(SERVER_TOOL),
  file_search: omitted(SERVER_TOOL),
  code_interpreter: omitted(SERVER_TOOL),
  image_generation: omitted(SERVER_TOOL),
  mcp: omitted(SERVER_TOOL),
  programmatic_tool_calling: omitted(SERVER_TOOL),
  computer: omitted(OWN_SCHEMA),
  computer_use_preview: omitted(OWN_SCHEMA),
  local_shell: omitted(OWN_SCHEMA),
  shell: omitted(OWN_SCHEMA),
  apply_patch: omitted(OWN_SCHEMA),
});

const TOOL = {
  type: converted('`function`'),
  name: converted('`function.name`; at most 64 characters, and written back'),
  description: converted('`function.description`; the system message has one that is too long for the model'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: dropped('only the model calls tools'),
  async: dropped('every call is answered before the model goes on'),
};

export const FUNCTION_TOOL = objectTable('Functions', {
  ...TOOL,
  parameters: converted('`function.parameters`; an object without fields where there are none'),
  strict: converted('`function.strict`, where true and for models that take it'),
  output_schema: dropped("it describes the output to the client's programs"),
});

export const CUSTOM_TOOL = objectTable('Custom tools', {
  ...TOOL,
  format: converted('`function.description`: a grammar is shown to the model, which is not held to it'),
});

export const NAMESPACE_TOOL = objectTable('Namespaces', {
  type: converted('functions'),
  name: converted('the beginning of `function.name`'),
  tools: converted('functions'),
  description: converted('`function.description` of each tool, in front'),
});

export const TOOL_SEARCH_TOOL = objectTable('Tool search', {
  type: converted('a function'),
  execution: converted('nothing: a search by the provider is left out, and every tool is there from the beginning'),
  description: converted('`function.description`'),
  parameters: converted('`function.parameters`'),
});

export const CHOICES = kindTable('`tool_choice` by type', {
  function: converted('the function'),
  custom: converted('the function'),
  allowed_tools: converted('its mode; the other tools are left out'),
  tool_search: converted('the function'),
  web_search_preview: omitted(SERVER_TOOL),
  file_search: omitted(SERVER_TOOL),
  code_interpreter: omitted(SERVER_TOOL),
  image_generation: omitted(SERVER_TOOL),
  mcp: omitted(SERVER_TOOL),
  programmatic_tool_calling: omitted(SERVER_TOOL),
  computer: omitted(OWN_SCHEMA),
  computer_use: omitted(OWN_SCHEMA),
  computer_use_preview: omitted(OWN_SCHEMA),
  shell: omitted(OWN_SCHEMA),
  apply_patch: omitted(OWN_SCHEMA),
});

export const EFFORTS = valueTable('`reasoning.effort` → `reasoning_effort`, for models other than GPT-5', {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  REASONING_SETTINGS,
  TEXT_SETTINGS,
  FORMATS,
  FORMAT,
  ITEMS,
  ROLES,
  MESSAGE,
  REASONING,
  FUNCTION_CALL,
  CUSTOM_CALL,
  CALL_OUTPUT,
  TOOL_SEARCH_CALL,
  TOOL_SEARCH_OUTPUT,
  ADDITIONAL_TOOLS,
  PARTS,
  TEXT_PART,
  REFUSAL_PART,
  IMAGE_PART,
  FILE_PART,
  TOOLS,
  FUNCTION_TOOL,
  CUSTOM_TOOL,
  NAMESPACE_TOOL,
  TOOL_SEARCH_TOOL,
  CHOICES,
  EFFORTS,
];
