/**
 * What Gemini's own API takes of a conversation, and what is read of its responses. The writer of this folder goes by
 * these tables, and docs/reference/protocols is generated from them.
 */
import type { PartsTable, SettingsTable, ToolTable } from '../../conversation/take.ts';
import { converted, dropped, kindTable, objectTable, omitted, valueTable } from '../../field-table.ts';

export const SETTINGS: SettingsTable = {
  maxOutputTokens: converted('`generationConfig.maxOutputTokens`'),
  temperature: converted('`generationConfig.temperature`'),
  topP: converted('`generationConfig.topP`'),
  topK: converted('`generationConfig.topK`'),
  seed: converted('`generationConfig.seed`'),
  frequencyPenalty: converted('`generationConfig.frequencyPenalty`'),
  presencePenalty: converted('`generationConfig.presencePenalty`'),
  stop: converted('`generationConfig.stopSequences`; of more than five the first five'),
  candidates: converted('`generationConfig.candidateCount`'),
  modalities: converted('`generationConfig.responseModalities`; audio is refused'),
  imageConfig: converted(
    '`generationConfig.imageConfig`; a resolution from Gemini 3 on, and before that 1K alone, which is left out',
  ),
  logProbabilities: converted('`generationConfig.responseLogprobs` and `logprobs`'),
  effort: converted('`thinkingLevel` from Gemini 3 on, and `thinkingBudget` before'),
  reasoning: converted('`generationConfig.thinkingConfig`; disabled as little as the model can'),
  verbosity: omitted('there is no such setting', ['medium']),
  responseFormat: converted(
    '`responseMimeType` and `responseJsonSchema`; for models without schemas, and before Gemini 3 beside tools, a ' +
      'paragraph of `systemInstruction`, and named',
  ),
  toolChoice: converted('`toolConfig.functionCallingConfig`'),
  parallelToolCalls: omitted('Gemini has no such switch', [true]),
  user: dropped('Gemini keeps no users'),
  promptCacheKey: dropped('Gemini caches by itself'),
  cache: dropped('Gemini caches by itself'),
  serviceTier: omitted('the default is served: one that is faster is left out, any other refused', ['standard']),
};

export const SETTINGS_SECTION = objectTable('Settings', SETTINGS);

export const PARTS = kindTable('Parts of turns', {
  Text: converted('`text`; an empty one is left out'),
  Refusal: converted('`text`'),
  Image: converted('`inlineData` or `fileData`, which Google fetches'),
  Audio: converted('`inlineData` or `fileData`'),
  Video: converted('`inlineData` or `fileData`'),
  Document: converted('`inlineData`, `fileData` or `text`, after its title and context'),
  SearchResult: converted('`text`, with its title and source'),
  ToolResult: converted(
    "`functionResponse`, before the turn's other parts; media as `parts` of it from Gemini 3 on, and before as parts " +
      'of the turn',
  ),
  ToolCall: converted(
    "`functionCall`; a turn's first call of another model gets a `thoughtSignature` that skips the check",
  ),
  Reasoning: converted('the `thoughtSignature` of its part, where Gemini signed it; thoughts themselves are left out'),
  'cache mark': dropped('Gemini caches by itself'),
} satisfies PartsTable);

export const TOOL = objectTable('Tools', {
  name: converted(
    '`name`; one of more than 64 characters, or that starts with neither a letter nor an underscore, is replaced, and ' +
      'written back in the response',
  ),
  description: converted('`description`'),
  schema: converted('`parametersJsonSchema`'),
  strict: converted("the mode VALIDATED, where the choice is the model's"),
  examples: converted('the end of the description'),
  cache: dropped('Gemini caches by itself'),
  takesText: converted('an object with the text as `input`'),
} satisfies ToolTable);

export const LEVELS = valueTable('effort → `thinkingLevel`', {
  minimal: 'LOW',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
});

export const BUDGETS = valueTable('effort → `thinkingBudget`', {
  minimal: '1024',
  low: '1024',
  medium: '8192',
  high: '24576',
  xhigh: '24576',
  max: '24576',
});

/** The provider's response. Fields that are in no table are left out. */
export const RESPONSE = objectTable('Response', {
  candidates: converted('the response'),
  promptFeedback: converted('a refusal, where the prompt was blocked'),
  usageMetadata: converted('the usage'),
  modelVersion: dropped('the response names the model as the client does'),
  responseId: dropped("the response has an id of the gateway's"),
  createTime: dropped('the gateway has a time of its own'),
});

export const CANDIDATE = objectTable('Candidates', {
  index: converted('which of the responses it is'),
  content: converted('its parts'),
  finishReason: converted('its end'),
  finishMessage: converted('the explanation of a refusal or a failure'),
  logprobsResult: converted('log probabilities'),
  avgLogprobs: dropped('the client can add them up'),
  tokenCount: dropped('the usage has it'),
  safetyRatings: dropped('no counterpart'),
  citationMetadata: dropped('no counterpart'),
  groundingMetadata: dropped('is not asked for'),
  urlContextMetadata: dropped('is not asked for'),
});

export const RESPONSE_PARTS = kindTable('Parts of a response', {
  text: converted('text, or reasoning where it is a thought'),
  functionCall: converted('a call'),
  thoughtSignature: converted('the proof of reasoning, with the id of the call that it belongs to'),
  inlineData: converted('an image; one among the thoughts is left out'),
  executableCode: dropped('is not asked for'),
  codeExecutionResult: dropped('is not asked for'),
});

export const USAGE = objectTable('Usage', {
  promptTokenCount: converted('input, less what was read from the cache'),
  toolUsePromptTokenCount: converted('input, added'),
  cachedContentTokenCount: converted('input that was read from the cache'),
  candidatesTokenCount: converted('output'),
  thoughtsTokenCount: converted('output, added, and its reasoning'),
  promptTokensDetails: converted('the price of audio and images'),
  trafficType: converted('the tier that is billed'),
  totalTokenCount: converted('output, where there are no other counts of it'),
});

export const FINISH_REASONS = valueTable('`finishReason` → the end of a response; any other is an error', {
  STOP: 'Stop',
  MAX_TOKENS: 'Length',
  SAFETY: 'Refusal',
  RECITATION: 'Refusal',
  LANGUAGE: 'Refusal',
  BLOCKLIST: 'Refusal',
  PROHIBITED_CONTENT: 'Refusal',
  SPII: 'Refusal',
  IMAGE_SAFETY: 'Refusal',
  IMAGE_PROHIBITED_CONTENT: 'Refusal',
  IMAGE_RECITATION: 'Refusal',
  MODEL_ARMOR: 'Refusal',
  BLOCKED: 'Refusal',
});

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [SETTINGS_SECTION, LEVELS, BUDGETS, PARTS, TOOL];
export const RESPONSE_TABLES = [RESPONSE, CANDIDATE, RESPONSE_PARTS, USAGE, FINISH_REASONS];
