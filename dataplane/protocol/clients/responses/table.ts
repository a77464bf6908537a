/**
 * What the gateway reads of OpenAI's Responses, and what a client gets. The reader of this folder reads objects through
 * these tables, and docs/reference/protocols is generated from them.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';
import type { Says } from '../client.ts';
import type { ConvertedFields } from '../../field-table.ts';

const OWN_CACHE = dropped('OpenAI caches by itself; a provider that needs cache marks gets some');
const KEPT_THERE = 'it is kept at another provider';
const SERVER_TOOL = 'the provider runs no such tool';
const OWN_ID = dropped('a conversation has no ids of items');
const NO_STATE = 'the provider keeps no conversation';
const OTHERS_STATE =
  'what another provider keeps; what the gateway keeps comes before the items of `input`, so that nothing is refused';
const OWN_SCHEMA = "its description is OpenAI's own";
const TYPE = converted('which one it is');

export const REQUEST = objectTable('Request', {
  model: converted('the model'),
  input: converted('turns: items of the assistant that follow each other are one, as are outputs of calls'),
  instructions: converted('the system prompt, with the messages of the system at the beginning'),
  max_output_tokens: converted('the output limit'),
  stream: converted('whether the response streams'),
  temperature: converted('temperature'),
  top_p: converted('top_p'),
  frequency_penalty: converted('the frequency penalty'),
  presence_penalty: converted('the presence penalty'),
  top_logprobs: converted('log probabilities, with this many alternatives'),
  include: converted(
    'log probabilities, where it has `message.output_text.logprobs`; encrypted reasoning always comes, and the rest ' +
      'belongs to tools that the provider runs',
  ),
  tools: converted('tools'),
  tool_choice: converted('the choice of tools'),
  parallel_tool_calls: converted('whether calls may be parallel, where there are tools'),
  reasoning: converted('effort, and reasoning'),
  text: converted('the format of the response, and verbosity'),
  user: converted('the user'),
  safety_identifier: converted('the user, before `user`'),
  prompt_cache_key: converted('the key of the cache'),
  service_tier: converted('the service tier: default is standard, auto is left out'),
  metadata: converted('`metadata` of the response'),
  store: dropped('the provider stores nothing; the gateway keeps the response where the platform wants it'),
  stream_options: dropped('events have no padding'),
  max_tool_calls: dropped('it limits tools that the provider runs'),
  prompt_cache_retention: OWN_CACHE,
  prompt_cache_options: OWN_CACHE,
  client_metadata: dropped("Codex's own, which no model reads"),
  truncation: omitted('a conversation that is too long is refused by its provider', ['disabled']),
  context_management: omitted('the provider summarises nothing', [[]]),
  image: omitted('the provider makes no images'),
  moderation: refused('the provider moderates by its own rules'),
  access_programs: refused('they belong to an account at OpenAI'),
  previous_response_id: refused(OTHERS_STATE),
  conversation: refused(OTHERS_STATE),
  prompt: refused(KEPT_THERE),
  background: refused(NO_STATE, [false]),
});

export type ResponsesRequest = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

export const REASONING_SETTINGS = objectTable('`reasoning`', {
  effort: converted('effort, and reasoning: none switches it off'),
  summary: dropped('what the provider shows of its reasoning is the summary'),
  generate_summary: dropped('what the provider shows of its reasoning is the summary'),
  context: dropped('reasoning of earlier turns goes to models that want it back'),
  max_tokens: dropped('the output limit holds for reasoning too'),
  mode: omitted('there is no such setting', ['standard']),
});

export const TEXT_SETTINGS = objectTable('`text`', {
  format: converted('the format of the response'),
  verbosity: converted('verbosity'),
});

export const FORMATS = kindTable('`text.format` by type', {
  text: converted('nothing: the default'),
  json_object: converted('JSON'),
  json_schema: converted('a schema'),
});

export const FORMAT = objectTable('`text.format`', {
  type: TYPE,
  name: converted('its name'),
  schema: converted('the schema'),
  strict: converted('whether the response must match it'),
  description: converted('its description'),
});

export const ITEMS = kindTable('Input items by type', {
  message: converted("a turn of its role, or a text of the assistant's turn"),
  reasoning: converted("reasoning of the assistant's turn; left out where the turn ends with it"),
  function_call: converted("a call of the assistant's turn"),
  function_call_output: converted("a tool's result"),
  custom_tool_call: converted("a call of the assistant's turn, with the text as its `input`"),
  custom_tool_call_output: converted("a tool's result"),
  tool_search_call: converted("a call of the assistant's turn, where the client searches"),
  tool_search_output: converted("a tool's result with the names of the tools, which join the others"),
  additional_tools: converted('tools'),
  image_generation_call: converted("an image of the assistant's turn; one without a `result` is left out and named"),
  compaction: omitted('only the account that made it can read it'),
  web_search_call: omitted(SERVER_TOOL),
  file_search_call: omitted(SERVER_TOOL),
  code_interpreter_call: omitted(SERVER_TOOL),
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

export const ROLES = kindTable('Messages by role', {
  user: converted("a user's turn"),
  assistant: converted("a text of the assistant's turn"),
  system: converted("a system's turn, where it stands; those at the beginning are one with `instructions`"),
  developer: converted("a system's turn, likewise"),
});

export const MESSAGE = objectTable('Messages', {
  type: TYPE,
  role: converted('whose turn it is'),
  content: converted('its parts'),
  id: OWN_ID,
  status: OWN_ID,
  phase: dropped('it tells the client which messages to show'),
});

export const REASONING = objectTable('Reasoning', {
  type: TYPE,
  encrypted_content: converted('what the gateway has sealed: reasoning and what proves whose it is'),
  content: converted('reasoning without a proof, where there is none of the gateway'),
  summary: converted('the same, where there is no `content`'),
  id: OWN_ID,
  status: OWN_ID,
});

const CALL = {
  type: TYPE,
  call_id: converted('the id of the call'),
  name: converted('the name of the tool'),
  namespace: converted('the beginning of the name'),
  id: OWN_ID,
  status: OWN_ID,
  async: dropped('every call is answered before the model goes on'),
  caller: dropped('only the model calls tools'),
};

export const FUNCTION_CALL = objectTable('Function calls', {
  ...CALL,
  arguments: converted('the arguments'),
  parsed_arguments: dropped("the SDK's reading of the arguments"),
});

export const CUSTOM_CALL = objectTable('Calls of custom tools', { ...CALL, input: converted('its text') });

const MADE = dropped('the image shows it');

export const IMAGE_CALL = objectTable('Images that were made', {
  type: TYPE,
  result: converted('the data of the image'),
  output_format: converted("the image's type, where its data don't show it"),
  revised_prompt: dropped('the image shows what was made of it'),
  background: MADE,
  size: MADE,
  quality: MADE,
  action: MADE,
  id: OWN_ID,
  status: OWN_ID,
});

export const CALL_OUTPUT = objectTable('Outputs of calls', {
  type: TYPE,
  call_id: converted('the id of the call'),
  output: converted('its parts'),
  id: OWN_ID,
  status: OWN_ID,
  name: dropped('the call has it'),
  namespace: dropped('the call has it'),
  caller: dropped('only the model calls tools'),
});

export const TOOL_SEARCH_CALL = objectTable('Tool searches', {
  type: TYPE,
  call_id: converted('the id of the call'),
  arguments: converted('the arguments'),
  execution: converted('nothing: a search by the provider is left out and named'),
  id: OWN_ID,
  status: OWN_ID,
  created_by: OWN_ID,
});

export const TOOL_SEARCH_OUTPUT = objectTable('Outputs of tool searches', {
  type: TYPE,
  call_id: converted('the id of the call'),
  tools: converted('tools, and their names as the result'),
  execution: converted('nothing: a search by the provider is left out, and its tools join'),
  id: OWN_ID,
  status: OWN_ID,
  created_by: OWN_ID,
});

export const ADDITIONAL_TOOLS = objectTable('Additional tools', {
  type: TYPE,
  tools: converted('tools'),
  role: dropped('tools have no role'),
  id: OWN_ID,
});

export const PARTS = kindTable('Content parts by type', {
  input_text: converted('a text; empty ones are left out'),
  output_text: converted('a text'),
  text: converted('a text'),
  refusal: converted('a refusal of the assistant, and a text of others'),
  input_image: converted('an image; of the user and of tools'),
  input_file: converted('a document, an image, audio or a video; of the user and of tools'),
  input_audio: converted('audio; of the user and of tools'),
});

export const TEXT_PART = objectTable('Text parts', {
  type: TYPE,
  text: converted('the text'),
  annotations: dropped("they say where an earlier response's words came from, not what it said"),
  logprobs: dropped('they come back from a response, and say nothing to the model'),
  parsed: dropped("the SDK's reading of the text"),
  prompt_cache_breakpoint: OWN_CACHE,
});

export const REFUSAL_PART = objectTable('Refusals', { type: TYPE, refusal: converted('the text') });

export const IMAGE_PART = objectTable('Images', {
  type: TYPE,
  image_url: converted('a URL, or the data of a data URL'),
  detail: converted('how closely the model looks at it: original as high'),
  file_id: converted('a file that is kept at a provider'),
  prompt_cache_breakpoint: OWN_CACHE,
});

export const AUDIO_PART = objectTable('Audio parts', {
  type: TYPE,
  input_audio: converted('its data'),
  prompt_cache_breakpoint: OWN_CACHE,
});

export const AUDIO = objectTable('`input_audio`', {
  data: converted('the data'),
  format: converted('the media type: `audio/` and the format'),
});

export const FILE_PART = objectTable('Files', {
  type: TYPE,
  file_data: converted('the data of a data URL, as its media type says; text and JSON as text'),
  filename: converted('the title of a document'),
  file_url: converted('a URL, where there is no data'),
  file_id: converted('a file that is kept at a provider, where there is neither'),
  detail: dropped('the provider looks at files in its own way'),
  prompt_cache_breakpoint: OWN_CACHE,
});

export const TOOLS = kindTable('Tools by type', {
  function: converted('a tool'),
  custom: converted('a tool that takes one text; calls of it are custom again'),
  namespace: converted('tools with the namespace before their names; calls come back with `namespace`'),
  tool_search: converted('a tool, where the client searches; calls come back as `tool_search_call`'),
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
  type: TYPE,
  name: converted('its name; at most 64 characters, and written back'),
  description: converted('its description'),
  defer_loading: dropped('the tool is there from the beginning'),
  allowed_callers: dropped('only the model calls tools'),
  async: dropped('every call is answered before the model goes on'),
};

export const FUNCTION_TOOL = objectTable('Functions', {
  ...TOOL,
  parameters: converted('the schema of its arguments'),
  strict: converted('whether calls must match the schema'),
  output_schema: dropped("it describes the output to the client's programs"),
});

export const CUSTOM_TOOL = objectTable('Custom tools', {
  ...TOOL,
  format: converted('its description: a grammar is shown to the model, which is not held to it'),
});

export const NAMESPACE_TOOL = objectTable('Namespaces', {
  type: TYPE,
  name: converted('the beginning of the names of its tools'),
  tools: converted('tools'),
  description: converted('a paragraph of the system prompt'),
});

export const TOOL_SEARCH_TOOL = objectTable('Tool search', {
  type: TYPE,
  execution: converted('nothing: a search by the provider is left out, and every tool is there from the beginning'),
  description: converted('its description'),
  parameters: converted('the schema of its arguments'),
});

export const CHOICES = kindTable('`tool_choice` by type', {
  function: converted('this tool'),
  custom: converted('this tool'),
  tool_search: converted('this tool'),
  allowed_tools: converted('its mode, and the tools that may be called'),
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

/** What the client gets of a response's parts. */
export const RESPONSE_PARTS = kindTable('Parts of a response', {
  Text: converted('a message item with an `output_text` part'),
  Refusal: converted('a `refusal` part of a message item'),
  Reasoning: converted(
    'a reasoning item: `summary`, which streams, and `content` where it has no proof; sealed in `encrypted_content` ' +
      'where it has one, or the model wants it back',
  ),
  ToolCall: converted(
    'an item as its tool was declared: `function_call` with its `namespace`, `custom_tool_call`, `tool_search_call`',
  ),
  Image: converted('an `image_generation_call` item'),
  citation: converted('`annotations`, where it has a web address'),
  'log probabilities': converted('`logprobs` of the text'),
});

export const INCOMPLETE = valueTable('The end of a response → `incomplete_details.reason`; all others are completed', {
  Length: 'max_output_tokens',
  ContextWindow: 'max_output_tokens',
  Refusal: 'content_filter',
});

export const SERVICE_TIERS = valueTable('The tier that served → `service_tier`', {
  standard: 'default',
  priority: 'priority',
  flex: 'flex',
});

export const USAGE = kindTable('Usage', {
  input: converted('`input_tokens`, with all that was read from and written to the cache'),
  cached: converted('`input_tokens_details.cached_tokens`'),
  'cache writes': converted('`input_tokens_details.cache_write_tokens`: of both lifetimes together'),
  output: converted('`output_tokens`'),
  reasoning: converted('`output_tokens_details.reasoning_tokens`'),
});

export const EVENTS = kindTable('Events of a stream', {
  start: converted('`response.created` and `response.in_progress`'),
  content: converted('an item that is added, grows by deltas, and is done before the next is added'),
  ping: converted('a comment'),
  end: converted('`response.completed` or `response.incomplete`, with the whole response'),
  error: converted('`response.failed`, which ends the stream, as does a provider that breaks off'),
});

/** What of a conversation the dialect has words for. */
export const SAYS: Says = {
  settings: [
    'maxOutputTokens',
    'temperature',
    'topP',
    'frequencyPenalty',
    'presencePenalty',
    'logProbabilities',
    'effort',
    'reasoning',
    'verbosity',
    'responseFormat',
    'toolChoice',
    'parallelToolCalls',
    'user',
    'promptCacheKey',
    'serviceTier',
  ],
  parts: ['Text', 'Refusal', 'Image', 'Audio', 'Document', 'ToolResult', 'ToolCall', 'Reasoning'],
  tools: ['name', 'description', 'schema', 'strict', 'takesText'],
};

/** In the order of docs/reference/protocols. */
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
  IMAGE_CALL,
  CALL_OUTPUT,
  TOOL_SEARCH_CALL,
  TOOL_SEARCH_OUTPUT,
  ADDITIONAL_TOOLS,
  PARTS,
  TEXT_PART,
  REFUSAL_PART,
  IMAGE_PART,
  AUDIO_PART,
  AUDIO,
  FILE_PART,
  TOOLS,
  FUNCTION_TOOL,
  CUSTOM_TOOL,
  NAMESPACE_TOOL,
  TOOL_SEARCH_TOOL,
  CHOICES,
];
export const RESPONSE_TABLES = [RESPONSE_PARTS, INCOMPLETE, USAGE, SERVICE_TIERS, EVENTS];
