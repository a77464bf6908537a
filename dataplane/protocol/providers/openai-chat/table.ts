/**
 * What providers of OpenAI's chat completions take of a conversation, and what is read of their responses. The writer of
 * this folder goes by these tables, and docs/reference/protocols is generated from them.
 */
import type { PartsTable, SettingsTable, ToolTable } from '../../conversation/take.ts';
import { converted, dropped, kindTable, objectTable, refused, valueTable } from '../../field-table.ts';
import { EFFORTS, HIGHEST_EFFORTS } from '../openai-effort.ts';

const CACHING = 'these providers cache by themselves';

export const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`max_completion_tokens`, or `max_tokens` where the route says so'),
  temperature: converted('`temperature`, for models that take it'),
  topP: converted('`top_p`, for models that take a temperature'),
  topK: dropped('it only narrows the choice of words'),
  seed: converted('`seed`'),
  frequencyPenalty: converted('`frequency_penalty`, for models that take a temperature'),
  presencePenalty: converted('`presence_penalty`, for models that take a temperature'),
  stop: converted('`stop`, for models that take it; more than four are refused'),
  candidates: converted('`n`'),
  logProbabilities: converted('`logprobs` and `top_logprobs`, for models that take a temperature'),
  effort: converted('`reasoning_effort`, for models that reason'),
  reasoning: converted(
    '`reasoning_effort`, by its budget, for models that reason, where no effort is given; disabled it is `thinking` ' +
      'for DeepSeek, Kimi and GLM',
  ),
  verbosity: converted('`verbosity`, for GPT-5'),
  responseFormat: converted(
    '`response_format`, strict where the schema meets the rules; what is no object is a member of one, and is taken ' +
      'out of it in the response; for models without schemas a paragraph of the system message, and named',
  ),
  toolChoice: converted('`tool_choice`; tools that may not be called are left out'),
  parallelToolCalls: converted('`parallel_tool_calls`: false, for models that take it'),
  user: converted('`user`; one of more than 64 characters as its SHA-256'),
  promptCacheKey: converted("`prompt_cache_key`, for OpenAI's models"),
  cache: dropped(CACHING),
  modalities: converted('`modalities`; audio is refused'),
  imageConfig: converted("`image_config` (OpenRouter's)"),
  serviceTier: converted('`service_tier`; standard is `default`'),
};

export const SETTINGS_SECTION = objectTable('Settings', SETTINGS);

export const PARTS = kindTable('Parts of turns', {
  Text: converted('`text`'),
  Refusal: converted('`content`'),
  Image: converted("an `image_url` part; one that the assistant has made follows as the user's"),
  Audio: converted('an `input_audio` part, where it is data'),
  Video: refused('chat completions take no video'),
  Document: converted('a `file` part (PDF) or `text` and `image_url` parts; by URL it is refused'),
  SearchResult: converted('a `text` part, with its title and source'),
  ToolResult: converted(
    'a tool message, after `Error: ` where the call failed; its images and files follow in a user message, as tool ' +
      'messages hold text',
  ),
  ToolCall: converted("`tool_calls`; an id of more than 40 characters as a digest, and Gemini's signatures with them"),
  Reasoning: converted(
    '`reasoning_content`, for models that need it back (DeepSeek, Kimi, GLM, MiniMax); DeepSeek and Kimi get a ' +
      'placeholder with calls that have none; `reasoning_details`, for models that are named with their maker, as ' +
      'OpenRouter names them (`anthropic/claude`, `google/gemini`, `openai/` but GPT-OSS), and whose own it is; for ' +
      'others it is left out',
  ),
  'cache mark': dropped(CACHING),
} satisfies PartsTable);

export const TOOL = objectTable('Tools', {
  name: converted('`function.name`; one of more than 64 characters is shortened, and written back in the response'),
  description: converted('`function.description`; the system message has one that is too long for the model'),
  schema: converted('`function.parameters`; keywords that the API refuses become part of the description'),
  strict: converted('`function.strict`, where the schema meets the rules of strict mode'),
  examples: converted('the end of the description'),
  cache: dropped(CACHING),
  takesText: converted('an object with the text as `input`'),
} satisfies ToolTable);

/** The provider's response. Fields that are in no table are left out. */
export const COMPLETION = objectTable('Response', {
  model: converted('the model'),
  choices: converted('the response, and its candidates where several were asked for'),
  usage: converted('the usage'),
  service_tier: converted('the tier that served the call'),
  error: converted('an error, whatever stands beside it'),
  id: dropped("the response has an id of the gateway's"),
  object: dropped('the kind of response is known; `error` is one'),
  created: dropped('the gateway has a time of its own'),
  system_fingerprint: dropped('no counterpart'),
  metadata: dropped('no counterpart'),
  moderation: dropped('was not asked for'),
});

export const CHOICE = objectTable('Choices', {
  index: converted('the candidate'),
  message: converted('its content'),
  delta: converted('a piece of its content'),
  finish_reason: converted('why it has ended'),
  logprobs: converted('log probabilities'),
});

export const MESSAGE = objectTable('Messages and deltas of a response', {
  content: converted('text'),
  refusal: converted('a refusal'),
  reasoning_content: converted('reasoning'),
  reasoning: converted('the same, where there is no `reasoning_content`'),
  tool_calls: converted('calls'),
  function_call: converted('a call'),
  images: converted('images'),
  annotations: converted('citations of what has an address'),
  reasoning_details: converted('reasoning, with what proves whose it is (OpenRouter)'),
  extra_content: converted("Gemini's thought signature of the text"),
  role: dropped('always the assistant'),
  audio: dropped('cannot be asked for'),
});

export const TOOL_CALL = objectTable('Tool calls', {
  index: converted('which call a piece belongs to'),
  id: converted('the id; a call without one, or with one that another call has, gets one'),
  type: dropped('what it holds says it'),
  function: converted('the name, which may come in pieces, and the arguments: text, an object, or text encoded twice'),
  extra_content: converted("Gemini's thought signature"),
  custom: dropped('cannot be asked for'),
});

export const USAGE = objectTable('Usage', {
  prompt_tokens: converted('input, less the next two'),
  prompt_tokens_details: converted('input that was read from the cache and written to it'),
  completion_tokens: converted('output'),
  completion_tokens_details: converted('the reasoning of the output'),
  total_tokens: converted('output, where a provider leaves reasoning out of that count'),
});

export const FINISH_REASONS = valueTable('`finish_reason` → the end of a response; any other is Stop', {
  stop: 'Stop',
  length: 'Length',
  max_tokens: 'Length',
  model_length: 'ContextWindow',
  tool_calls: 'ToolCalls',
  function_call: 'ToolCalls',
  content_filter: 'Refusal',
});

/** Values that mean a failure. */
export const FAILURES = valueTable('`finish_reason` that ends a response with an error', {
  error: 'api_error',
  insufficient_system_resource: 'overloaded_error',
  abort: 'api_error',
});

export const CHUNKS = kindTable('Pieces of a stream', {
  'first chunk': converted('the start'),
  content: converted('content, in its order: calls come one after the other, and what comes meanwhile waits'),
  '[DONE]': converted('the end; a provider that sends none has ended once it said a `finish_reason`'),
  comment: converted('a ping'),
  error: converted('an error'),
});

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [SETTINGS_SECTION, EFFORTS, HIGHEST_EFFORTS, PARTS, TOOL];
export const RESPONSE_TABLES = [COMPLETION, CHOICE, MESSAGE, TOOL_CALL, USAGE, FINISH_REASONS, FAILURES, CHUNKS];
