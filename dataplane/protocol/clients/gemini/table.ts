/**
 * What the gateway reads of requests in Google's protocol, and what a client gets. The reader of this folder reads
 * objects through these tables, and docs/reference/protocols is generated from them.
 */
import { converted, dropped, kindTable, objectTable, omitted, refused, valueTable } from '../../field-table.ts';
import type { Says } from '../client.ts';

const SERVER_TOOL = 'the provider runs no such tool';
const SERVER_STEP = omitted('a step of a tool that Google ran: the text after it says what came of it');
const TEXT_ONLY = refused('responses are text');
const RESULT_SCHEMA = dropped('it describes what the client itself responds with');
const HOW_TO_LOOK = dropped('the provider looks at the whole file');
const CLIENTS_OWN = dropped("a client's own, which no model reads");

export const REQUEST = objectTable('Request', {
  contents: converted('turns'),
  systemInstruction: converted('the first turn, of the system'),
  tools: converted('tools'),
  toolConfig: converted('the choice of tools'),
  generationConfig: converted('settings'),
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
  continuationToken: refused('the provider keeps no response'),
});

export const GENERATION_CONFIG = objectTable('`generationConfig`', {
  maxOutputTokens: converted('the output limit'),
  temperature: converted('temperature'),
  topP: converted('top_p'),
  topK: converted('top_k'),
  stopSequences: converted('stop sequences'),
  responseMimeType: converted('the format of the response'),
  responseSchema: converted('its schema, as a JSON schema'),
  responseJsonSchema: converted('its schema'),
  thinkingConfig: converted('effort and reasoning'),
  seed: converted('seed'),
  candidateCount: converted('candidates'),
  responseLogprobs: converted('log probabilities'),
  logprobs: converted('how many log probabilities'),
  presencePenalty: converted('presence penalty'),
  frequencyPenalty: converted('frequency penalty'),
  mediaResolution: HOW_TO_LOOK,
  audioTimestamp: dropped('the provider tells no times of audio'),
  enableEnhancedCivicAnswers: dropped("Google's own"),
  responseModalities: converted('what the response consists of'),
  responseFormat: refused('`responseJsonSchema` says it', [[]]),
  speechConfig: TEXT_ONLY,
  audioTranscriptionConfig: TEXT_ONLY,
  translationConfig: TEXT_ONLY,
  enableAffectiveDialog: refused('responses are text', [false]),
  imageConfig: converted('the shape and the resolution of pictures'),
  routingConfig: refused('the route chooses the model'),
  modelSelectionConfig: refused('the route chooses the model'),
});

const OWN_PICTURES = refused('other providers have no such setting');

export const IMAGE_CONFIG = objectTable('`imageConfig`', {
  aspectRatio: converted('the ratio of width to height'),
  imageSize: converted('the resolution'),
  personGeneration: OWN_PICTURES,
  prominentPeople: OWN_PICTURES,
  outputMimeType: OWN_PICTURES,
  outputCompressionQuality: OWN_PICTURES,
  imageOutputOptions: OWN_PICTURES,
});

export const THINKING_CONFIG = objectTable('`thinkingConfig`', {
  thinkingBudget: converted(
    'the budget, and an effort that comes near to it (below 4096 low, below 16384 medium, otherwise high); 0 is none, ' +
      '-1 leaves it to the model',
  ),
  thinkingLevel: converted('the effort'),
  includeThoughts: converted('nothing of the conversation: the response shows its thoughts'),
});

export const LEVELS = valueTable('`thinkingLevel` → effort', {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
});

export const CONTENT = objectTable('Contents', {
  role: converted('whose turn it is: model is the assistant, anything else the user'),
  parts: converted('its parts'),
});

export const SYSTEM = objectTable('`systemInstruction`', {
  role: dropped('always the system'),
  parts: converted('its parts; only text may stand here'),
});

export const PART = objectTable('Parts', {
  text: converted('a text; pieces of a response that follow each other are one'),
  inlineData: converted('an image, a document (PDF, text), audio or video, of the user'),
  fileData: converted('the same by its URL, of the user'),
  functionCall: converted('a call'),
  functionResponse: converted("a tool's result"),
  thought: converted('nothing: the signature has the reasoning'),
  thoughtSignature: converted('reasoning before the part, where the gateway sealed it; others are left out'),
  executableCode: SERVER_STEP,
  codeExecutionResult: SERVER_STEP,
  toolCall: SERVER_STEP,
  toolResponse: SERVER_STEP,
  mediaResolution: HOW_TO_LOOK,
  mediaProcessing: HOW_TO_LOOK,
  partMetadata: CLIENTS_OWN,
  speechMetadata: CLIENTS_OWN,
  videoMetadata: refused('the provider looks at whole videos'),
  audioTranscription: refused('the provider tells no words of audio'),
});

export const INLINE_DATA = objectTable('`inlineData`', {
  mimeType: converted('what it is; image/jpg is image/jpeg'),
  data: converted('its data'),
  displayName: converted('the title of a document'),
});

export const FILE_DATA = objectTable('`fileData`', {
  mimeType: converted('what it is'),
  fileUri: converted('its URL, where it is one of the web; a file that Google keeps is refused'),
  displayName: converted('the title of a document'),
});

export const FUNCTION_CALL = objectTable('`functionCall`', {
  id: converted('the id; a call without one gets one by its place'),
  name: converted('the name of the tool'),
  args: converted('the arguments'),
  partialArgs: refused('arguments come whole', [[]]),
  willContinue: refused('arguments come whole', [false]),
});

export const FUNCTION_RESPONSE = objectTable('`functionResponse`', {
  id: converted('the id of the call'),
  name: converted('the call, where the id names none'),
  response: converted('`output` or `result` alone as text, anything else as JSON; `error` alone says that it failed'),
  parts: converted('files'),
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
  name: converted('its name'),
  description: converted('its description'),
  parameters: converted('the schema of its arguments, as a JSON schema'),
  parametersJsonSchema: converted('the schema of its arguments'),
  response: RESULT_SCHEMA,
  responseJsonSchema: RESULT_SCHEMA,
  behavior: refused('the model waits for its results', ['BLOCKING', 'UNSPECIFIED']),
});

export const TOOL_CONFIG = objectTable('`toolConfig`', {
  functionCallingConfig: converted('the choice of tools'),
  retrievalConfig: omitted(SERVER_TOOL),
  includeServerSideToolInvocations: dropped(SERVER_TOOL),
});

export const CALLING_CONFIG = objectTable('`functionCallingConfig`', {
  mode: converted('the choice: auto, any or none'),
  allowedFunctionNames: converted('the tools that may be called'),
  streamFunctionCallArguments: omitted('arguments come whole', [false]),
});

export const MIME_TYPES = kindTable('`responseMimeType`', {
  'text/plain': converted('nothing: the default'),
  'application/json': converted('JSON, of the schema if there is one'),
  'text/x.enum': converted('one of the words of the schema'),
});

export const FINISH_REASONS = valueTable('The end of a response → `finishReason`', {
  Stop: 'STOP',
  StopSequence: 'STOP',
  ToolCalls: 'STOP',
  Paused: 'STOP',
  Length: 'MAX_TOKENS',
  ContextWindow: 'MAX_TOKENS',
  Refusal: 'SAFETY',
});

export const RESPONSE_PARTS = kindTable('Parts of a response', {
  Text: converted('a part with `text`'),
  Refusal: converted('a part with `text`; the `finishReason` is SAFETY, and `finishMessage` explains it'),
  Reasoning: converted(
    'parts with `thought`, where `includeThoughts` asks for them; what has a proof, sealed in the `thoughtSignature` of ' +
      'the part after it',
  ),
  ToolCall: converted('a part with `functionCall`, once its arguments are whole'),
  Image: converted('a part with `inlineData`'),
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
    'responseFormat',
    'toolChoice',
  ],
  parts: ['Text', 'Image', 'Audio', 'Video', 'Document', 'ToolResult', 'ToolCall', 'Reasoning'],
  tools: ['name', 'description', 'schema'],
};

/** In the order of docs/reference/protocols. */
export const REQUEST_TABLES = [
  REQUEST,
  GENERATION_CONFIG,
  IMAGE_CONFIG,
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
];
export const RESPONSE_TABLES = [RESPONSE_PARTS, FINISH_REASONS];
