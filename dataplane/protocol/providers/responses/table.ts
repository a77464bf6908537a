/**
 * What providers of OpenAI's Responses take of a conversation, and what is read of their responses. The writer of this
 * folder goes by these tables, and docs/reference/protocols is generated from them.
 */
import type { PartsTable, SettingsTable, ToolTable } from '../../conversation/take.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';

const CACHING = 'these providers cache by themselves';

export const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`max_output_tokens`, at least 16'),
  temperature: converted('`temperature`, for models that take it'),
  topP: converted('`top_p`, for models that take a temperature'),
  topK: dropped('it only narrows the choice of words'),
  seed: omitted('Responses have no seed'),
  frequencyPenalty: omitted('Responses have no penalties', [0]),
  presencePenalty: omitted('Responses have no penalties', [0]),
  stop: omitted('Responses have no stop sequences'),
  candidates: refused('a response is one candidate', [1]),
  logProbabilities: converted('`top_logprobs` and `include`, for models that take a temperature'),
  effort: converted('`reasoning.effort`, for models that reason'),
  reasoning: converted(
    '`reasoning.effort`, by its budget, for models that reason, where no effort is given; `none` where it is disabled, ' +
      'from GPT-5.1 on; `reasoning.summary` is `auto`, unless thoughts are not to be shown',
  ),
  verbosity: converted('`text.verbosity`, for GPT-5'),
  responseFormat: converted(
    '`text.format`, strict where the schema meets the rules; what is no object is a member of one, and is taken out of ' +
      'it in the response; for models without schemas a paragraph of the system prompt, and named',
  ),
  toolChoice: converted('`tool_choice`, with `allowed_tools` where some of the tools may be called'),
  parallelToolCalls: converted('`parallel_tool_calls`: false, for models that take it'),
  user: converted(
    "`safety_identifier` for OpenAI's models, else `user`; one of more than 64 characters as its SHA-256",
  ),
  promptCacheKey: converted("`prompt_cache_key`, for OpenAI's models"),
  cache: dropped(CACHING),
  modalities: omitted('a response is text', [['text']]),
  imageConfig: omitted('a response is text'),
  serviceTier: converted('`service_tier`; standard is `default`'),
};

export const SETTINGS_SECTION = objectTable('Settings', SETTINGS);

export const PARTS = kindTable('Parts of turns', {
  Text: converted(
    '`input_text`, `output_text` of the assistant; the system prompt is `instructions`; from GPT-5.4 on a message of the ' +
      'assistant has a `phase`: commentary beside calls, else final_answer',
  ),
  Refusal: converted('`refusal`'),
  Image: converted("`input_image`; one that the assistant has made follows as the user's"),
  Audio: refused('Responses take no audio'),
  Video: refused('Responses take no video'),
  Document: converted('`input_file`, by its data or its URL, or texts and images'),
  SearchResult: converted('`input_text`, with its title and source'),
  ToolResult: converted(
    '`function_call_output` or `custom_tool_call_output`, with images and files; after `Error: ` where the call failed',
  ),
  ToolCall: converted('`function_call`, or `custom_tool_call` of a tool that takes a text'),
  Reasoning: converted(
    '`reasoning` with `encrypted_content`, without its id, which only a stored item has; reasoning of other makers and ' +
      'other channels is left out',
  ),
  'cache mark': dropped(CACHING),
} satisfies PartsTable);

export const TOOL = objectTable('Tools', {
  name: converted('`name`; one of more than 64 characters is shortened, and written back in the response'),
  description: converted('`description`; `instructions` have one that is too long for the model'),
  schema: converted('`parameters`; keywords that the API refuses become part of the description'),
  strict: converted('`strict`, where the schema meets the rules of strict mode; else false'),
  examples: converted('the end of the description'),
  cache: dropped(CACHING),
  takesText: converted('a `custom` tool'),
} satisfies ToolTable);

/** The provider's response. Fields that are in no table are left out. */
export const RESPONSE = objectTable('Response', {
  model: converted('the model'),
  output: converted('the response'),
  status: converted('whether it has failed'),
  incomplete_details: converted('why it has ended early'),
  error: converted('an error'),
  usage: converted('the usage'),
  service_tier: converted('the tier that served the call'),
  id: dropped("the response has an id of the gateway's, and is not stored"),
  object: dropped('the kind of response is known'),
  created_at: dropped('the gateway has a time of its own'),
  completed_at: dropped('the gateway has a time of its own'),
});

export const ITEMS = kindTable('Items of a response; any other is left out', {
  message: converted('its content'),
  reasoning: converted('reasoning'),
  function_call: converted('a call'),
  custom_tool_call: converted('a call, whose input becomes a JSON object'),
  image_generation_call: converted('an image'),
});

export const MESSAGE = kindTable('Content of messages', {
  output_text: converted('text, its log probabilities and its sources'),
  refusal: converted('a refusal'),
});

export const REASONING = objectTable('Reasoning', {
  summary: converted('its text, where it has no `content` that comes as it is'),
  content: converted('its text'),
  encrypted_content: converted('its proof, which goes back with the next call'),
  id: converted('a part of the proof'),
  status: dropped('it is whole'),
});

export const CALL = objectTable('Calls', {
  call_id: converted('the id'),
  name: converted('the name'),
  arguments: converted('the arguments'),
  input: converted('the text of a custom tool'),
  id: dropped('only a stored item has one'),
  status: dropped('it is whole'),
  namespace: dropped('no namespace was sent'),
});

export const USAGE = objectTable('Usage', {
  input_tokens: converted('input, less the next two'),
  input_tokens_details: converted('input that was read from the cache and written to it'),
  output_tokens: converted('output'),
  output_tokens_details: converted('the reasoning of the output'),
  total_tokens: dropped('the sum'),
});

export const INCOMPLETE = valueTable('`incomplete_details.reason` → the end of a response; any other is Length', {
  max_output_tokens: 'Length',
  content_filter: 'Refusal',
});

export const EVENTS = kindTable('Events of a stream; any other is left out', {
  'response.created': converted('the start'),
  'response.output_item.added': converted('the start of a call'),
  'response.output_text.delta': converted('text and its log probabilities'),
  'response.refusal.delta': converted('a refusal'),
  'response.reasoning_summary_text.delta': converted('reasoning'),
  'response.reasoning_text.delta': converted('reasoning'),
  'response.function_call_arguments.delta': converted('the arguments of a call'),
  'response.custom_tool_call_input.delta': converted('the arguments of a call'),
  'response.output_item.done': converted('the end of an item, and what no other event said of it'),
  'response.completed': converted('the end'),
  'response.incomplete': converted('the end'),
  'response.failed': converted('an error'),
  error: converted('an error'),
  comment: converted('a ping'),
});

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [SETTINGS_SECTION, PARTS, TOOL];
export const RESPONSE_TABLES = [RESPONSE, ITEMS, MESSAGE, REASONING, CALL, USAGE, INCOMPLETE, EVENTS];
