/** An example for each field of Google's protocol. */
import * as tables from '../../../../../dataplane/protocol/clients/gemini/table.ts';
import type { Examples, Fields } from '../field-examples.ts';

const SCHEMA = { type: 'OBJECT', properties: { a: { type: 'STRING' } } };
const PDF = { mimeType: 'application/pdf', data: 'AAAA' };
const HELLO = { role: 'user', parts: [{ text: 'hi' }] };
const CALLS = {
  role: 'model',
  parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }, { functionCall: { id: 'd', name: 'g', args: {} } }],
};
const TOOLS = [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }];
const SERVER_TOOLS = [
  'googleSearch',
  'googleSearchRetrieval',
  'googleMaps',
  'urlContext',
  'codeExecution',
  'fileSearch',
  'retrieval',
  'enterpriseWebSearch',
  'exaAiSearch',
  'parallelAiSearch',
];

const user = (part: Fields): Fields => ({ contents: [HELLO, { role: 'user', parts: [part] }] });
const config = (settings: Fields): Fields => ({ contents: [HELLO], generationConfig: settings });
/** Calls are in the model's contents, everything else in the user's. */
const partIn = (part: Fields): Fields => ({
  contents: [HELLO, CALLS, { role: 'functionCall' in part ? 'model' : 'user', parts: [part] }],
});

export const GEMINI: readonly Examples[] = [
  {
    table: tables.REQUEST,
    base: { contents: [HELLO] },
    place: (request) => request,
    beside: { toolConfig: { tools: TOOLS } },
    values: {
      contents: [{ role: 'user', parts: [{ text: 'other' }] }],
      systemInstruction: { parts: [{ text: 's' }] },
      tools: TOOLS,
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { temperature: 0.5 },
      model: 'models/x',
      labels: { a: 'b' },
      safetySettings: [{ category: 'x' }],
      serviceTier: 'priority',
      store: true,
      cachedContent: 'cachedContents/x',
      continuationToken: 't',
    },
  },
  {
    table: tables.GENERATION_CONFIG,
    base: {},
    place: config,
    beside: { logprobs: { responseLogprobs: true } },
    values: {
      maxOutputTokens: 7,
      temperature: 0.5,
      topP: 0.5,
      topK: 5,
      stopSequences: ['END'],
      responseMimeType: 'application/json',
      responseSchema: SCHEMA,
      responseJsonSchema: { type: 'object' },
      thinkingConfig: { thinkingLevel: 'LOW' },
      seed: 1,
      mediaResolution: 'LOW',
      audioTimestamp: true,
      enableEnhancedCivicAnswers: true,
      candidateCount: 2,
      responseLogprobs: true,
      logprobs: 2,
      presencePenalty: 1,
      frequencyPenalty: 1,
      responseModalities: ['IMAGE'],
      responseFormat: [{}],
      speechConfig: {},
      audioTranscriptionConfig: {},
      translationConfig: {},
      enableAffectiveDialog: true,
      imageConfig: { aspectRatio: '16:9' },
      routingConfig: {},
      modelSelectionConfig: {},
    },
  },
  {
    table: tables.IMAGE_CONFIG,
    base: {},
    place: (picture) => config({ imageConfig: picture }),
    values: {
      aspectRatio: '16:9',
      imageSize: '2K',
      personGeneration: 'ALLOW_ALL',
      prominentPeople: 'x',
      outputMimeType: 'image/jpeg',
      outputCompressionQuality: 5,
      imageOutputOptions: {},
    },
  },
  {
    table: tables.THINKING_CONFIG,
    base: {},
    place: (thinking) => config({ thinkingConfig: thinking }),
    // the notes have it
    unseen: ['includeThoughts'],
    values: {
      thinkingBudget: 2000,
      thinkingLevel: 'HIGH',
      includeThoughts: true,
    },
  },
  {
    table: tables.MIME_TYPES,
    base: {},
    place: ({ type }) => config({ responseMimeType: type }),
    unseen: ['text/plain'],
    values: { 'text/plain': {}, 'application/json': {}, 'text/x.enum': {} },
  },
  {
    table: tables.CONTENT,
    base: { role: 'user', parts: [{ text: 'a' }] },
    place: (content) => ({
      contents: [HELLO, content],
    }),
    values: { role: 'model', parts: [{ text: 'b' }] },
  },
  {
    table: tables.SYSTEM,
    base: { parts: [{ text: 'a' }] },
    place: (system) => ({
      contents: [HELLO],
      systemInstruction: system,
    }),
    values: { role: 'user', parts: [{ text: 'b' }] },
  },
  {
    table: tables.PART,
    base: {},
    place: partIn,
    beside: { thought: { text: 'a' } },
    // only the gateway's own signatures are read
    unseen: ['thoughtSignature'],
    values: {
      text: 'a',
      inlineData: PDF,
      fileData: { mimeType: 'image/png', fileUri: 'https://x/y' },
      functionCall: { name: 'f' },
      functionResponse: { name: 'f', response: { output: 'x' } },
      thought: true,
      thoughtSignature: 'AAAA',
      executableCode: {},
      codeExecutionResult: {},
      toolCall: {},
      toolResponse: {},
      mediaResolution: {},
      mediaProcessing: {},
      partMetadata: {},
      speechMetadata: {},
      videoMetadata: {},
      audioTranscription: {},
    },
  },
  {
    table: tables.INLINE_DATA,
    base: PDF,
    place: (data) => user({ inlineData: data }),
    values: {
      mimeType: 'image/png',
      data: 'BBBB',
      displayName: 'n',
    },
  },
  {
    table: tables.FILE_DATA,
    base: { mimeType: 'application/pdf', fileUri: 'https://x/y' },
    place: (file) => user({ fileData: file }),
    values: {
      mimeType: 'image/png',
      fileUri: 'https://x/z',
      displayName: 'n',
    },
  },
  {
    table: tables.FUNCTION_CALL,
    base: { name: 'f', args: {} },
    place: (call) => ({
      contents: [HELLO, { role: 'model', parts: [{ functionCall: call }] }],
    }),
    values: { id: 'x', name: 'g', args: { a: 1 }, partialArgs: [{}], willContinue: true },
  },
  {
    table: tables.FUNCTION_RESPONSE,
    base: { response: { output: 'a' } },
    place: (response) => ({
      contents: [HELLO, CALLS, { role: 'user', parts: [{ functionResponse: response }] }],
    }),
    values: {
      id: 'd',
      name: 'g',
      response: { error: 'b' },
      parts: [{ inlineData: PDF }],
      scheduling: 'SILENT',
      willContinue: true,
    },
  },
  {
    table: tables.TOOL,
    base: {},
    place: (tool) => ({ contents: [HELLO], tools: [tool] }),
    values: {
      functionDeclarations: [{ name: 'f' }],
      mcpServers: [{}],
      computerUse: {},
      ...Object.fromEntries(SERVER_TOOLS.map((name) => [name, {}])),
    },
  },
  {
    table: tables.FUNCTION,
    base: { name: 'f' },
    place: (declaration) => ({
      contents: [HELLO],
      tools: [{ functionDeclarations: [declaration] }],
    }),
    values: {
      name: 'g',
      description: 'd',
      parameters: SCHEMA,
      parametersJsonSchema: { type: 'object', properties: { b: {} } },
      response: SCHEMA,
      responseJsonSchema: {},
      behavior: 'NON_BLOCKING',
    },
  },
  {
    table: tables.TOOL_CONFIG,
    base: {},
    place: (settings) => ({
      contents: [HELLO],
      tools: TOOLS,
      toolConfig: settings,
    }),
    values: {
      functionCallingConfig: { mode: 'ANY' },
      retrievalConfig: {},
      includeServerSideToolInvocations: true,
    },
  },
  {
    table: tables.CALLING_CONFIG,
    base: { mode: 'ANY' },
    place: (calling) => ({
      contents: [HELLO],
      tools: TOOLS,
      toolConfig: { functionCallingConfig: calling },
    }),
    values: { mode: 'NONE', allowedFunctionNames: ['f'], streamFunctionCallArguments: true },
  },
];
