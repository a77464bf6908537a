/**
 * What the gateway reads of OpenAI's chat completions, and what a client gets. The reader of this folder reads objects
 * through these tables, and docs/reference/protocols is generated from them.
 */
import { converted, dropped, kindTable, objectTable, refused, valueTable } from '../../field-table.ts';
import type { Says } from '../client.ts';
import type { ConvertedFields } from '../../field-table.ts';

const CACHE = converted('a cache mark after it');
const CACHE_OF_LAST = converted('a cache mark after its last part');
const OWN_CACHE = dropped(
  'OpenAI caches by itself; a provider that needs cache marks gets those of `cache_control`, or some',
);
const NAMES = dropped('only its role tells a speaker apart');
const ECHO = dropped('comes back from a response, and says nothing to the model');
const TYPE = converted('which part it is');

/** Fields that clients store on messages and calls for their own use, and send back. */
const CLIENTS_OWN = dropped("a client's own, which no provider reads");
const PRIVATE_FIELDS = {
  provider_specific_fields: CLIENTS_OWN,
  additional_kwargs: CLIENTS_OWN,
  response_metadata: CLIENTS_OWN,
  extra_content: CLIENTS_OWN,
  id: CLIENTS_OWN,
};

export const REQUEST = objectTable('Request', {
  model: converted('the model'),
  messages: converted('turns'),
  max_completion_tokens: converted('the output limit'),
  max_tokens: converted('the output limit'),
  stream: converted('whether the response streams'),
  stream_options: converted('whether the stream has a chunk with the usage'),
  temperature: converted('temperature'),
  top_p: converted('top_p'),
  top_k: converted("top_k (not OpenAI's own)"),
  seed: converted('the seed'),
  frequency_penalty: converted('the frequency penalty'),
  presence_penalty: converted('the presence penalty'),
  stop: converted('stop sequences'),
  n: converted('the number of responses'),
  logprobs: converted('log probabilities'),
  top_logprobs: converted('their alternatives, with `logprobs`'),
  tools: converted('tools'),
  tool_choice: converted('the choice of tools'),
  parallel_tool_calls: converted('whether calls may be parallel, where there are tools'),
  functions: converted('tools, of which the response calls one, as `function_call`'),
  function_call: converted('the choice of tools, where there are `functions`'),
  response_format: converted('the format of the response'),
  reasoning_effort: converted('effort, and reasoning: none switches it off'),
  verbosity: converted('verbosity'),
  thinking: converted("reasoning (not OpenAI's own)"),
  reasoning: converted("effort and reasoning (OpenRouter's)"),
  enable_thinking: converted("reasoning (Qwen's)"),
  user: converted('the user'),
  safety_identifier: converted('the user, before `user`'),
  prompt_cache_key: converted('the key of the cache'),
  service_tier: converted('the service tier: default is standard, auto is left out'),
  modalities: converted('what the response consists of'),
  image_config: converted("the shape and the resolution of pictures (OpenRouter's)"),
  cache_control: converted("a cache mark at the end of the conversation (not OpenAI's own)"),
  prompt_cache_retention: OWN_CACHE,
  prompt_cache_options: OWN_CACHE,
  metadata: dropped('OpenAI keeps it with the stored response'),
  store: dropped('nothing is stored'),
  prediction: dropped('it makes a response quicker, not another one'),
  best_of: refused('one response of several is not chosen', [1]),
  logit_bias: refused('there are no tokens to name', [{}]),
  audio: refused('responses have no audio'),
  moderation: refused('the provider moderates by its own rules'),
  web_search_options: refused('searches at the provider are a tool of its own; left out and named by `Drop`'),
});

export type ChatRequest = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

export const STREAM_OPTIONS = objectTable('`stream_options`', {
  include_usage: converted('the chunk with the usage, before `[DONE]`'),
  include_obfuscation: dropped('chunks have no padding'),
});

export const IMAGE_CONFIG = objectTable('`image_config`', {
  aspect_ratio: converted('the ratio of width to height'),
  image_size: converted('the resolution'),
});

export const THINKING = objectTable('`thinking`', {
  type: converted('the mode of reasoning'),
  budget_tokens: converted('its budget'),
  display: converted('whether it is shown'),
});

export const REASONING = objectTable('`reasoning`', {
  effort: converted('effort'),
  max_tokens: converted('its budget'),
  enabled: converted('the mode of reasoning'),
  exclude: converted('whether it is shown'),
});

export const ROLES = kindTable('Messages by role', {
  system: converted("a system's turn, where it stands"),
  developer: converted("a system's turn, where it stands"),
  user: converted("a user's turn"),
  assistant: converted("an assistant's turn; one without content is left out"),
  tool: converted("a tool's result"),
  function: converted('the result of the latest `function_call`'),
});

export const SYSTEM_MESSAGE = objectTable('System and developer messages', {
  role: converted('whose turn it is'),
  content: converted('its texts'),
  name: NAMES,
  cache_control: CACHE_OF_LAST,
  ...PRIVATE_FIELDS,
});

export const USER_MESSAGE = objectTable('User messages', {
  role: converted('whose turn it is'),
  content: converted('its parts'),
  name: converted('a text of its own before the content: `bob:`'),
  cache_control: CACHE_OF_LAST,
  ...PRIVATE_FIELDS,
});

export const ASSISTANT_MESSAGE = objectTable('Assistant messages', {
  role: converted('whose turn it is'),
  content: converted('texts'),
  refusal: converted('a refusal'),
  tool_calls: converted('calls'),
  function_call: converted('a call'),
  images: converted("images (OpenRouter's)"),
  reasoning_details: converted('reasoning, with what proves whose it is'),
  thinking_blocks: converted("the same (LiteLLM's), where there are no `reasoning_details`"),
  reasoning_content: converted('reasoning without a proof, where there is none of the two'),
  reasoning: converted('as reasoning_content'),
  name: NAMES,
  annotations: ECHO,
  parsed: dropped("the SDK's reading of the content"),
  cache_control: CACHE_OF_LAST,
  ...PRIVATE_FIELDS,
  audio: refused("it is kept at OpenAI, and is no other provider's"),
});

export const TOOL_MESSAGE = objectTable('Tool and function messages', {
  role: converted("a tool's result"),
  tool_call_id: converted('the id of the call'),
  content: converted('its parts'),
  name: dropped('the call has it'),
  cache_control: CACHE,
  ...PRIVATE_FIELDS,
});

export const PARTS = kindTable('Content parts by type', {
  text: converted('a text; empty ones are left out'),
  refusal: converted('a refusal of the assistant'),
  image_url: converted('an image; of the user and of tools'),
  input_audio: converted('audio; of the user and of tools'),
  video_url: converted("a video (not OpenAI's own); of the user and of tools"),
  file: converted('a document, an image, audio or a video; of the user and of tools'),
});

export const TEXT_PART = objectTable('Text parts', {
  type: TYPE,
  text: converted('the text'),
  cache_control: CACHE,
  prompt_cache_breakpoint: OWN_CACHE,
});

export const REFUSAL_PART = objectTable('Refusal parts', { type: TYPE, refusal: converted('the text') });

export const IMAGE_PART = objectTable('Image parts', {
  type: TYPE,
  image_url: converted('its data or URL'),
  cache_control: CACHE,
  prompt_cache_breakpoint: OWN_CACHE,
});

export const IMAGE_URL = objectTable('`image_url`', {
  url: converted('a URL, or the data of a data URL; image/jpg is image/jpeg'),
  detail: converted('how closely the model looks at it'),
});

export const AUDIO_PART = objectTable('Audio parts', {
  type: TYPE,
  input_audio: converted('its data'),
  cache_control: CACHE,
  prompt_cache_breakpoint: OWN_CACHE,
});

export const AUDIO = objectTable('`input_audio`', {
  data: converted('the data'),
  format: converted('the media type: `audio/` and the format'),
});

export const VIDEO_PART = objectTable('Video parts', {
  type: TYPE,
  video_url: converted('its data or URL'),
  cache_control: CACHE,
  prompt_cache_breakpoint: OWN_CACHE,
});

export const VIDEO_URL = objectTable('`video_url`', { url: converted('a URL, or the data of a data URL') });

export const FILE_PART = objectTable('File parts', {
  type: TYPE,
  file: converted('its data, URL or id'),
  cache_control: CACHE,
  prompt_cache_breakpoint: OWN_CACHE,
});

export const FILE = objectTable('`file`', {
  file_data: converted('a URL, or the data of a data URL, as its media type says; text and JSON as text'),
  filename: converted('the title of a document'),
  file_id: converted('a file that is kept at a provider'),
});

export const TOOLS = kindTable('Tools and calls by type', {
  function: converted('a tool'),
  custom: converted('a tool that takes one text; calls of it are custom again'),
});

export const TOOL = objectTable('Tools', {
  type: converted('which tool it is'),
  function: converted('its definition'),
  custom: converted('its definition'),
  cache_control: CACHE,
});

export const FUNCTION = objectTable('`function` of a tool, and `functions`', {
  name: converted('its name'),
  description: converted('its description'),
  parameters: converted('the schema of its arguments'),
  strict: converted('whether calls must match the schema'),
  cache_control: converted("a cache mark after the tool (LiteLLM's)"),
});

export const CUSTOM_TOOL = objectTable('`custom` of a tool', {
  name: converted('its name'),
  description: converted('its description'),
  format: refused("a tool's text cannot be held to a grammar", [{ type: 'text' }]),
});

export const TOOL_CALL = objectTable('Tool calls', {
  id: converted('the id of the call'),
  type: converted('which call it is'),
  function: converted('the tool and the arguments'),
  custom: converted('the tool and its text'),
  index: dropped('calls stand in their order'),
  cache_control: CACHE,
  provider_specific_fields: CLIENTS_OWN,
  extra_content: converted("reasoning: the `thought_signature` of Google's, which belongs to the call"),
});

export const FUNCTION_CALL = objectTable('`function` of a tool call, and `function_call`', {
  name: converted('the name of the tool'),
  arguments: converted('the arguments'),
  parsed_arguments: dropped("the SDK's reading of the arguments"),
});

export const CUSTOM_CALL = objectTable('`custom` of a tool call', {
  name: converted('the name of the tool'),
  input: converted('its text'),
});

export const FORMATS = kindTable('`response_format` by type', {
  text: converted('nothing: the default'),
  json_schema: converted('a schema'),
  json_object: converted('JSON'),
});

export const FORMAT = objectTable('`response_format`', {
  type: converted('which format it is'),
  json_schema: converted('the schema'),
});

export const JSON_SCHEMA = objectTable('`json_schema`', {
  schema: converted('the schema'),
  name: converted('its name'),
  description: converted('its description'),
  strict: converted('whether the response must match it'),
});

export const CHOICES = valueTable('`tool_choice` → the choice of tools', {
  auto: 'Auto',
  none: 'None',
  required: 'Required',
});

export const FINISH_REASONS = valueTable('The end of a response → `finish_reason`', {
  Stop: 'stop',
  StopSequence: 'stop',
  Paused: 'stop',
  Length: 'length',
  ContextWindow: 'length',
  ToolCalls: 'tool_calls',
  Refusal: 'content_filter',
});

/** What the client gets of a response's parts. */
export const RESPONSE_PARTS = kindTable('Parts of a response', {
  Text: converted('`content`; several are joined'),
  Refusal: converted('`refusal`'),
  Reasoning: converted('`reasoning_content`, and with its proof `reasoning_details`, which bring it back'),
  ToolCall: converted('`tool_calls`; `function_call` for older functions'),
  Image: converted("`images`, as data URLs (OpenRouter's)"),
  citation: converted('`annotations`, where it has a web address'),
  'log probabilities': converted('`logprobs.content`'),
});

export const SERVICE_TIERS = valueTable('The tier that served → `service_tier`', {
  standard: 'default',
  priority: 'priority',
  flex: 'flex',
});

export const USAGE = kindTable('Usage', {
  input: converted('`prompt_tokens`, with all that was read from and written to the cache'),
  cached: converted('`prompt_tokens_details.cached_tokens`'),
  'cache writes': converted('`prompt_tokens_details.cache_write_tokens`: of both lifetimes together'),
  output: converted('`completion_tokens`'),
  reasoning: converted('`completion_tokens_details.reasoning_tokens`'),
  audio: converted('`audio_tokens` of the details'),
});

/** What of a conversation the dialect has words for. */
export const SAYS: Says = {
  settings: [
    'maxOutputTokens',
    'temperature',
    'topP',
    'topK',
    'seed',
    'frequencyPenalty',
    'presencePenalty',
    'stop',
    'candidates',
    'modalities',
    'imageConfig',
    'logProbabilities',
    'effort',
    'reasoning',
    'verbosity',
    'responseFormat',
    'toolChoice',
    'parallelToolCalls',
    'user',
    'promptCacheKey',
    'cache',
    'serviceTier',
  ],
  parts: [
    'Text',
    'Refusal',
    'Image',
    'Audio',
    'Video',
    'Document',
    'ToolResult',
    'ToolCall',
    'Reasoning',
    'cache mark',
  ],
  tools: ['name', 'description', 'schema', 'strict', 'cache', 'takesText'],
};

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [
  REQUEST,
  STREAM_OPTIONS,
  IMAGE_CONFIG,
  THINKING,
  REASONING,
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
  AUDIO_PART,
  AUDIO,
  VIDEO_PART,
  VIDEO_URL,
  FILE_PART,
  FILE,
  TOOLS,
  TOOL,
  FUNCTION,
  CUSTOM_TOOL,
  TOOL_CALL,
  FUNCTION_CALL,
  CUSTOM_CALL,
  CHOICES,
  FORMATS,
  FORMAT,
  JSON_SCHEMA,
];
export const RESPONSE_TABLES = [RESPONSE_PARTS, FINISH_REASONS, USAGE, SERVICE_TIERS];
