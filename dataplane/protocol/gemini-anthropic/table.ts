/**
 * How requests in Google's protocol are converted to Anthropic's messages. The converters of this folder read objects
 * through these tables, and docs/protocols.md is generated from them.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../field-table.ts';

const SERVER_TOOL = 'the provider runs no such tool';
const SERVER_STEP = omitted('a step of a tool that Google ran: the text after it says what came of it');
const AUDIO_ONLY = refused('answers are text');
const RESULT_SCHEMA = dropped('it describes what the client itself answers');
const HOW_TO_LOOK = dropped('the provider looks at the whole file');
const CLIENTS_OWN = dropped("a client's own, which no model reads");

export const REQUEST = objectTable('Request', {
  contents: converted('`messages`'),
  systemInstruction: converted('`system`'),
  tools: converted('`tools`'),
  toolConfig: converted('`tool_choice`'),
  generationConfig: converted('the settings'),
  model: dropped('the path names it'),
  labels: dropped("Google's own, for its bills"),
  safetySettings: omitted('the provider filters by its own rules', [[]]),
  serviceTier: omitted("the provider's tiers are others", [
    'standard',
    'unspecified',
    'STANDARD',
    'SERVICE_TIER_UNSPECIFIED',
  ]),
  store: dropped('nothing is stored'),
  cachedContent: refused('what Google keeps belongs to an account there; providers cache by themselves'),
  continuationToken: refused('the provider keeps no answer'),
});

export const GENERATION_CONFIG = objectTable('`generationConfig`', {
  maxOutputTokens: converted('`max_tokens`'),
  temperature: converted('`temperature`, at most 1, for models that take it; left out while the model thinks'),
  topP: converted('`top_p`, for models that take it, as temperature'),
  topK: converted('`top_k`, for models that take it, as temperature'),
  stopSequences: converted('`stop_sequences`, for models that take them'),
  responseMimeType: converted('JSON, by the schema or by a line of `system`; text is the default'),
  responseSchema: converted(
    '`output_config.format`, as a JSON schema; a line of `system` where it is no object, or the model takes none',
  ),
  responseJsonSchema: converted('the same'),
  thinkingConfig: converted('`thinking` and `output_config.effort`, for models that reason'),
  seed: dropped('a best effort that promises nothing'),
  mediaResolution: HOW_TO_LOOK,
  audioTimestamp: dropped('there is no audio'),
  enableEnhancedCivicAnswers: dropped("Google's own"),
  candidateCount: refused('one answer at a time', [1]),
  responseLogprobs: refused('there are no probabilities', [false]),
  logprobs: refused('there are no probabilities', [0]),
  presencePenalty: omitted('there is no such setting', [0]),
  frequencyPenalty: omitted('there is no such setting', [0]),
  responseModalities: refused('answers are text', [['TEXT'], []]),
  responseFormat: refused('`responseJsonSchema` says it', [[]]),
  speechConfig: AUDIO_ONLY,
  audioTranscriptionConfig: AUDIO_ONLY,
  translationConfig: AUDIO_ONLY,
  enableAffectiveDialog: refused('answers are text', [false]),
  imageConfig: refused('answers are text'),
  routingConfig: refused('the route chooses the model'),
  modelSelectionConfig: refused('the route chooses the model'),
});

export const THINKING_CONFIG = objectTable('`thinkingConfig`', {
  thinkingBudget: converted(
    'an effort (below 4096 low, below 16384 medium, otherwise high), and the budget itself for Claude before 4.6; 0 is ' +
      'none, -1 leaves it to the model',
  ),
  thinkingLevel: converted('the effort'),
  includeThoughts: converted('nothing that is sent: the answer shows its thoughts'),
});

export const LEVELS = valueTable('`thinkingLevel` → effort', {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
});

export const CONTENT = objectTable('Contents', {
  role: converted('`role`: model is the assistant, anything else the user; turns of one side become one'),
  parts: converted('`content`'),
});

export const SYSTEM = objectTable('`systemInstruction`', {
  role: dropped('always the system'),
  parts: converted('blocks of `system`; only text may stand here'),
});

export const PART = objectTable('Parts', {
  text: converted('a `text` block; pieces of an answer that follow each other are one, and those without words none'),
  inlineData: converted('an `image` block, or a `document` block (PDF, text), of the user'),
  fileData: converted('the same by its URL, of the user'),
  functionCall: converted('a `tool_use` block'),
  functionResponse: converted('a `tool_result` block, before everything else of its turn'),
  thought: converted('nothing: the signature has the thinking'),
  thoughtSignature: converted(
    '`thinking` and `redacted_thinking` blocks before the part, where the gateway sealed them; others are left out',
  ),
  executableCode: SERVER_STEP,
  codeExecutionResult: SERVER_STEP,
  toolCall: SERVER_STEP,
  toolResponse: SERVER_STEP,
  mediaResolution: HOW_TO_LOOK,
  mediaProcessing: HOW_TO_LOOK,
  partMetadata: CLIENTS_OWN,
  speechMetadata: CLIENTS_OWN,
  videoMetadata: refused('there is no video'),
  audioTranscription: refused('there is no audio'),
});

export const INLINE_DATA = objectTable('`inlineData`', {
  mimeType: converted('`source.media_type`; audio, video and other types are refused'),
  data: converted('`source.data`'),
  displayName: converted('`title` of a document'),
});

export const FILE_DATA = objectTable('`fileData`', {
  mimeType: converted('which block it is'),
  fileUri: converted('`source.url`, where it is one of the web; a file that Google keeps is refused'),
  displayName: converted('`title` of a document'),
});

export const FUNCTION_CALL = objectTable('`functionCall`', {
  id: converted('`id`; a call without one gets one by its place'),
  name: converted('`name`'),
  args: converted('`input`'),
  partialArgs: refused('arguments come whole', [[]]),
  willContinue: refused('arguments come whole', [false]),
});

export const FUNCTION_RESPONSE = objectTable('`functionResponse`', {
  id: converted('`tool_use_id`'),
  name: converted('the call that it answers, where the id names none'),
  response: converted(
    '`content`: `output` or `result` alone as text, anything else as JSON; `error` alone sets `is_error`',
  ),
  parts: converted('blocks of `content`'),
  scheduling: dropped('calls do not run in the background'),
  willContinue: refused('results come whole', [false]),
});

export const TOOL = objectTable('Tools', {
  functionDeclarations: converted('a tool each'),
  googleSearch: omitted(SERVER_TOOL),
  googleSearchRetrieval: omitted(SERVER_TOOL),
  googleMaps: omitted(SERVER_TOOL),
  urlContext: omitted(SERVER_TOOL),
  codeExecution: omitted(SERVER_TOOL),
  fileSearch: omitted(SERVER_TOOL),
  retrieval: omitted(SERVER_TOOL),
  enterpriseWebSearch: omitted(SERVER_TOOL),
  exaAiSearch: omitted(SERVER_TOOL),
  parallelAiSearch: omitted(SERVER_TOOL),
  mcpServers: omitted(SERVER_TOOL, [[]]),
  computerUse: refused("its description is Google's own"),
});

export const FUNCTION = objectTable('`functionDeclarations`', {
  name: converted("`name`; one in other letters than the API's is rewritten, and written back in the answer"),
  description: converted('`description`'),
  parameters: converted('`input_schema`, as a JSON schema'),
  parametersJsonSchema: converted('`input_schema`'),
  response: RESULT_SCHEMA,
  responseJsonSchema: RESULT_SCHEMA,
  behavior: refused('the model waits for its results', ['BLOCKING', 'UNSPECIFIED']),
});

export const TOOL_CONFIG = objectTable('`toolConfig`', {
  functionCallingConfig: converted('`tool_choice`'),
  retrievalConfig: omitted(SERVER_TOOL),
  includeServerSideToolInvocations: dropped(SERVER_TOOL),
});

export const CALLING_CONFIG = objectTable('`functionCallingConfig`', {
  mode: converted('`tool_choice.type`'),
  allowedFunctionNames: converted('the tool to call, where it is one; the other tools are left out'),
  streamFunctionCallArguments: omitted('arguments come whole', [false]),
});

export const MODES = valueTable('`functionCallingConfig.mode`', {
  MODE_UNSPECIFIED: 'auto',
  AUTO: 'auto',
  VALIDATED: 'auto',
  ANY: 'any',
  NONE: 'none',
});

export const MIME_TYPES = kindTable('`responseMimeType`', {
  'text/plain': converted('nothing: the default'),
  'application/json': converted('the schema, or a line of `system`'),
  'text/x.enum': refused('an answer cannot be held to a list of words'),
});

/** In the order of docs/protocols.md. */
export const REQUEST_TABLES = [
  REQUEST,
  GENERATION_CONFIG,
  THINKING_CONFIG,
  LEVELS,
  MIME_TYPES,
  CONTENT,
  SYSTEM,
  PART,
  INLINE_DATA,
  FILE_DATA,
  FUNCTION_CALL,
  FUNCTION_RESPONSE,
  TOOL,
  FUNCTION,
  TOOL_CONFIG,
  CALLING_CONFIG,
  MODES,
];
