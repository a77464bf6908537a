/**
 * What Bedrock's Converse takes of a conversation, and what is read of its responses. The writer of this folder goes by
 * these tables, and docs/reference/protocols is generated from them.
 */
import type { PartsTable, SettingsTable, ToolTable } from '../../conversation/take.ts';
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';

const CACHE = converted('a `cachePoint` after it, for models that cache');
const NO_SETTING = 'there is no such setting';

export const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`inferenceConfig.maxTokens`'),
  temperature: converted('`inferenceConfig.temperature`, at most 1, for models that take it'),
  topP: converted('`inferenceConfig.topP`, for models that take it'),
  topK: converted('`additionalModelRequestFields`: `top_k` of Claude, `inferenceConfig.topK` of Nova; else left out'),
  seed: omitted(NO_SETTING),
  frequencyPenalty: omitted(NO_SETTING, [0]),
  presencePenalty: omitted(NO_SETTING, [0]),
  stop: converted('`inferenceConfig.stopSequences`'),
  candidates: omitted('one response at a time', [1]),
  modalities: refused('responses are text', [['text']]),
  imageConfig: refused('responses are text'),
  logProbabilities: omitted(NO_SETTING),
  effort: converted(
    '`outputConfig.effort` of Claude; `reasoningConfig` of Nova 2 and `reasoning_effort` of GPT-OSS, minimal as low, ' +
      'xhigh and max as high',
  ),
  reasoning: converted(
    '`additionalModelRequestFields`: `thinking` of Claude, by its budget `reasoningConfig` of Nova 2 and ' +
      '`reasoning_effort` of GPT-OSS',
  ),
  verbosity: omitted(NO_SETTING, ['medium']),
  responseFormat: converted(
    '`outputConfig.textFormat`, with the schema closed to other properties; what is no object is a member of one, and ' +
      'is taken out of it in the response; without a schema, and for models without them, a paragraph of `system`, and ' +
      'named',
  ),
  toolChoice: converted('`toolConfig.toolChoice`; none leaves the tools out where no turn has used one'),
  parallelToolCalls: omitted('Converse has no such switch', [true]),
  user: dropped("Converse keeps such values in the account's own logs only"),
  promptCacheKey: dropped('Converse caches by cache points'),
  cache: converted('a `cachePoint` after the last message, for models that cache'),
  serviceTier: omitted('the default is served: one that is faster is left out, any other refused', ['standard']),
};

export const SETTINGS_SECTION = objectTable('Settings', SETTINGS);

export const PARTS = kindTable('Parts of turns', {
  Text: converted('`text`; one without words is left out'),
  Refusal: converted('`text`'),
  Image: converted(
    '`image`: the data of a png, jpeg, gif or webp, others are refused; one that the assistant has made follows as the ' +
      "user's",
  ),
  Audio: refused('there is no audio'),
  Video: refused('there is no video'),
  Document: converted('`document`, the data of a PDF or text, after its context; parts as blocks; URLs are refused'),
  SearchResult: converted('`text`, with its title and source'),
  ToolResult: converted('`toolResult`'),
  ToolCall: converted('`toolUse`; an id of more than 64 characters as a digest'),
  Reasoning: converted('`reasoningContent`, where Anthropic signed it; else it is left out'),
  'cache mark': CACHE,
} satisfies PartsTable);

export const TOOL = objectTable('Tools', {
  name: converted('`name`; one of more than 64 characters is shortened, and written back in the response'),
  description: converted('`description`'),
  schema: converted('`inputSchema.json`'),
  strict: converted('`strict`, for models with schemas, with the schema closed to other properties'),
  examples: converted('the end of the description'),
  cache: converted('a `cachePoint` after it, for Claude'),
  takesText: converted('an object with the text as `input`'),
} satisfies ToolTable);

/** The provider's response. Fields that are in no table are left out. */
export const RESPONSE = objectTable('Response', {
  output: converted('the parts, of its `message`'),
  stopReason: converted('the end'),
  usage: converted('the usage'),
  serviceTier: converted('the tier that is billed'),
  metrics: dropped('no counterpart'),
  trace: dropped("what a guardrail found stays in the account's logs"),
  performanceConfig: dropped('no counterpart'),
  additionalModelResponseFields: dropped('are not asked for'),
});

export const CONTENT_BLOCKS = kindTable('Blocks of a response', {
  text: converted('text'),
  toolUse: converted('a call'),
  reasoningContent: converted("reasoning, with Anthropic's proof"),
  citationsContent: converted('text: its content'),
  image: dropped('is not asked for'),
  guardContent: dropped('is not asked for'),
  cachePoint: dropped('no content'),
});

export const USAGE = objectTable('Usage', {
  inputTokens: converted('input, which excludes the next two'),
  cacheReadInputTokens: converted('input that was read from the cache'),
  cacheWriteInputTokens: converted('input that was written to the cache'),
  cacheDetails: converted('which of them stay for an hour'),
  outputTokens: converted('output'),
  totalTokens: dropped('the sum of the others'),
});

export const FINISH_REASONS = valueTable('`stopReason` → the end of a response', {
  end_turn: 'Stop',
  tool_use: 'ToolCalls',
  max_tokens: 'Length',
  stop_sequence: 'StopSequence',
  guardrail_intervened: 'Refusal',
  content_filtered: 'Refusal',
  model_context_window_exceeded: 'ContextWindow',
});

/** Values that mean a failure. */
export const FAILURES = valueTable('`stopReason` that ends the response with an error', {
  malformed_model_output: 'api_error',
  malformed_tool_use: 'api_error',
});

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [SETTINGS_SECTION, PARTS, TOOL];
export const RESPONSE_TABLES = [RESPONSE, CONTENT_BLOCKS, USAGE, FINISH_REASONS, FAILURES];
