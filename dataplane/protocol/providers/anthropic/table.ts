/**
 * What providers of Anthropic's protocol take of a conversation, and what is read of their responses. The writer of this
 * folder goes by these tables, and docs/reference/protocols is generated from them.
 */
import type { PartsTable, SettingsTable, ToolTable } from '../../conversation/take.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';

const NO_SETTING = 'there is no such setting';
const CACHE = converted('`cache_control`; of more than four the last four');
const OWN_STEP = dropped("the provider's own step: the text has what came of it");
const NOT_ASKED = dropped('is not asked for');

export const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`max_tokens`'),
  temperature: converted('`temperature`, at most 1, for models that take it; left out while the model thinks'),
  topP: converted(
    '`top_p`, for models that take it, some of them only without a temperature; left out while the model thinks, ' +
      'unless at least 0.95',
  ),
  topK: converted('`top_k`, for models that take it; left out while the model thinks'),
  seed: omitted(NO_SETTING),
  frequencyPenalty: omitted(NO_SETTING, [0]),
  presencePenalty: omitted(NO_SETTING, [0]),
  stop: converted('`stop_sequences`, for models that take them; those without words are left out and named'),
  candidates: omitted('one response at a time', [1]),
  modalities: refused('responses are text', [['text']]),
  imageConfig: refused('responses are text'),
  logProbabilities: omitted(NO_SETTING),
  effort: converted('`output_config.effort`, for models that reason; a budget for Claude before 4.6'),
  reasoning: converted('`thinking`, for models that reason; without a budget that fits, it is left out and named'),
  verbosity: omitted(NO_SETTING, ['medium']),
  responseFormat: converted(
    '`output_config.format`, with the schema closed to other properties; what is no object is a member of one, and is ' +
      'taken out of it in the response; without a schema, and for models without them, a paragraph of `system`, and named',
  ),
  toolChoice: converted('`tool_choice`; tools that may not be called are left out, unless one is forced'),
  parallelToolCalls: converted('`tool_choice.disable_parallel_tool_use`: where false'),
  user: converted('`metadata.user_id`; one that may tell who it is, or is longer than 256 characters, as its SHA-256'),
  promptCacheKey: dropped('Anthropic caches by cache marks'),
  cache: converted('`cache_control`'),
  serviceTier: converted(
    '`service_tier`: standard is standard_only; one that is faster is left out and named, any other refused',
  ),
};

export const SETTINGS_SECTION = objectTable('Settings', SETTINGS);

export const PARTS = kindTable('Parts of turns', {
  Text: converted('`text`; one without words is left out'),
  Refusal: converted('`text`'),
  Image: converted("`image`: data or a URL; one that the assistant has made follows as the user's"),
  Audio: refused('there is no audio'),
  Video: refused('there is no video'),
  Document: converted('`document`: data of a PDF, text, parts, or a URL, with its title and context'),
  SearchResult: converted('`search_result`'),
  ToolResult: converted('`tool_result`'),
  ToolCall: converted('`tool_use`; an id in other letters or of more than 256 characters is rewritten'),
  Reasoning: converted('`thinking` or `redacted_thinking`, where Anthropic signed it; else it is left out'),
  'cache mark': CACHE,
} satisfies PartsTable);

export const TOOL = objectTable('Tools', {
  name: converted('`name`; one in other letters or of more than 128 is rewritten, and written back in the response'),
  description: converted('`description`'),
  schema: converted('`input_schema`; alternatives at its root become part of the description'),
  strict: converted('`strict`, for models with schemas, with the schema closed to other properties'),
  examples: converted('`input_examples`'),
  cache: CACHE,
  takesText: converted('an object with the text as `input`'),
} satisfies ToolTable);

/** The provider's response. Fields that are in no table are left out. */
export const MESSAGE = objectTable('Response', {
  model: converted('the model'),
  content: converted('the parts'),
  stop_reason: converted('the end'),
  stop_sequence: converted('which stop sequence ended it'),
  stop_details: converted('the explanation of a refusal'),
  usage: converted('the usage'),
  id: dropped("the response has an id of the gateway's"),
  type: dropped('an error has another'),
  role: dropped('always the assistant'),
  container: NOT_ASKED,
  context_management: NOT_ASKED,
  diagnostics: NOT_ASKED,
});

export const BLOCKS = kindTable('Blocks of a response by type', {
  text: converted('text, and its citations'),
  thinking: converted("reasoning, with Anthropic's proof"),
  redacted_thinking: converted('reasoning that only Anthropic can read'),
  tool_use: converted('a call'),
  server_tool_use: OWN_STEP,
  web_search_tool_result: OWN_STEP,
  compaction: NOT_ASKED,
});

export const TEXT_BLOCK = objectTable('Text blocks', {
  type: converted('which block it is'),
  text: converted('the text'),
  citations: converted('citations of what has an address'),
});

export const THINKING_BLOCK = objectTable('Thinking blocks', {
  type: converted('which block it is'),
  thinking: converted('the text'),
  signature: converted('the proof'),
  data: converted('the proof, of `redacted_thinking`'),
});

export const TOOL_USE_BLOCK = objectTable('Tool use blocks', {
  type: converted('which block it is'),
  id: converted('the id'),
  name: converted('the name of the tool'),
  input: converted('the arguments'),
  caller: dropped('always the model'),
  toolset_name: NOT_ASKED,
});

export const USAGE = objectTable('Usage', {
  input_tokens: converted('input, which excludes the next two'),
  cache_read_input_tokens: converted('input that was read from the cache'),
  cache_creation_input_tokens: converted('input that was written to the cache'),
  cache_creation: converted('which of it stays for an hour'),
  output_tokens: converted('output'),
  output_tokens_details: converted('the reasoning of the output'),
  service_tier: converted('the tier that served the call'),
  speed: converted('the tier, where it is another than the standard one'),
  inference_geo: converted('the region that is billed'),
  server_tool_use: converted('uses that are billed'),
});

export const FINISH_REASONS = valueTable('`stop_reason` → the end of a response; any other is Stop', {
  end_turn: 'Stop',
  tool_use: 'ToolCalls',
  max_tokens: 'Length',
  stop_sequence: 'StopSequence',
  refusal: 'Refusal',
  pause_turn: 'Paused',
  model_context_window_exceeded: 'ContextWindow',
});

export const EVENTS = kindTable('Events of a stream', {
  message_start: converted('the start, and the usage so far'),
  content_block_start: converted('what the block begins with: a call, text, reasoning'),
  content_block_delta: converted('a piece of text, reasoning or arguments; a citation'),
  content_block_stop: converted('the end of a call or of reasoning; the input of a call that came whole'),
  message_delta: converted('why the response has ended, and the usage'),
  message_stop: converted('the end; a provider that sends none has ended once it said a `stop_reason`'),
  ping: converted('a ping'),
  error: converted('an error'),
});

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [SETTINGS_SECTION, PARTS, TOOL];
export const RESPONSE_TABLES = [
  MESSAGE,
  BLOCKS,
  TEXT_BLOCK,
  THINKING_BLOCK,
  TOOL_USE_BLOCK,
  USAGE,
  FINISH_REASONS,
  EVENTS,
];
