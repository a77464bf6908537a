/**
 * Reads the facts about a chat completion request, including fields of compatible providers that raise the price.
 */
import { RequestFault } from '../call-facts.ts';
import type { ChatFacts } from '../call-facts.ts';
import { MAX_CANDIDATES } from '../candidates.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import {
  addHiddenImage,
  addImage,
  addPricedFields,
  addProviderTool,
  addUnbounded,
  asksForLongCache,
  countedFacts,
  dataUrlBytes,
  readServiceTier,
  startCounts,
} from '../content-counts.ts';
import type { ContentCounts, PricedField } from '../content-counts.ts';
import {
  isGiven,
  isRecord,
  itemsOf,
  readCount,
  readFlag,
  readMessages,
  readModel,
  readRecords,
  stringOf,
  utf8Bytes,
} from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { isImageData } from '../image-inputs.ts';
import { hasAtMostOne, hasOnly } from '../known-members.ts';

const ANSWERS_RANGE = [1, MAX_CANDIDATES] as const;
const POSITIVE = [1, Number.MAX_SAFE_INTEGER] as const;

/** Chat's own search, which is not among the tools. */
export const SEARCH_OPTIONS = 'web_search_options';

/** Also those of compatible providers. The responses API has the same fields. */
export const PRICED_FIELDS: readonly PricedField[] = [
  { field: SEARCH_OPTIONS, feature: 'ServerTools', droppable: true },
  { field: 'service_tier', feature: 'ServiceTiers', harmless: ['auto', 'default'], names: 'serviceTier' },
  { field: 'audio', feature: 'Audio', needs: { tokens: 'audioOutput' } },
  // xAI, OpenRouter, Qwen, Azure: searches and plugins that the provider runs
  { field: 'search_parameters', feature: 'ServerTools' },
  { field: 'plugins', feature: 'ServerTools' },
  { field: 'enable_search', feature: 'ServerTools' },
  { field: 'data_sources', feature: 'ServerTools' },
  { field: 'mcp_servers', feature: 'ServerTools' },
  // OpenRouter: other models than the priced one, or more expensive hosts
  { field: 'models', feature: 'ServiceTiers' },
  { field: 'provider', feature: 'ServiceTiers' },
];

/** Content parts whose tokens are bounded by their bytes. */
const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  'text',
  'refusal',
  'input_text',
  'output_text',
  'thinking',
  'reasoning',
]);
/** Members of such a part; with any other it may hold more than its text, and is of an unknown kind. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'refusal',
  'thinking',
  'reasoning',
  'signature',
  'annotations',
  'citations',
  'logprobs',
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
  'index',
  'format',
]);
/** Members of a part that is an image or a recording, with a text at most. A file is counted by itself. */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'file',
  'image_url',
  'image',
  'input_audio',
  'audio_url',
  'detail',
  'format',
  'cache_control',
  'prompt_cache_breakpoint',
  'id',
  'index',
]);
const MEDIA = ['image_url', 'image', 'input_audio', 'audio_url'] as const;
const MEDIUM_MEMBERS: ReadonlySet<string> = new Set(['url', 'data', 'detail', 'format', 'media_type', 'mime_type']);
/** Members of a message that are bounded by their bytes, or read in their place. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'id',
  'tool_calls',
  'tool_call_id',
  'function_call',
  'refusal',
  'audio',
  'images',
  'annotations',
  'citations',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoning_signature',
  'reasoning_opaque',
  'reasoning_text',
  'thinking',
  'thinking_blocks',
  'signature',
  'cache_control',
  'prefix',
  'partial',
  'provider_specific_fields',
  'extra_content',
  'metadata',
  'usage',
  'logprobs',
  'finish_reason',
  'type',
  'status',
  'timestamp',
  'created',
  'created_at',
  'createdAt',
  'model',
]);
/** Compatible providers fetch files by URL. */
const URL_START = /^\s*[a-z][a-z0-9+.-]{1,20}:\/\//i;
/** Members that hold a part's content. */
const NESTED = ['image_url', 'file', 'source'] as const;
/** Members of a tool that the client runs. Layers over other protocols run a tool by any other (`googleSearch`). */
const TOOL_MEMBERS: ReadonlySet<string> = new Set(['type', 'function', 'custom', 'cache_control', 'strict']);
const CLIENT_TOOL_TYPES: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom']);
/** Of `functions`, the older form. */
const FUNCTION_MEMBERS: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'strict']);
const CHOICE_MEMBERS: ReadonlySet<string> = new Set(['type', 'function', 'custom', 'allowed_tools', 'name']);

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readChatFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const counts = startCounts(body.length);
  for (const [index, message] of readMessages(parsed).entries()) readMessage(counts, message, `messages[${index}]`);
  const tools = readTools(counts, parsed);
  const schema = hasSchema(parsed['response_format']);
  if (tools > 0 || schema) counts.units += PREAMBLE_UNITS;
  addPricedFields(counts, parsed, PRICED_FIELDS);
  readModalities(counts, parsed['modalities']);
  return {
    model,
    stream,
    wantsStreamUsage: stream && readStreamOptions(parsed['stream_options']),
    maxOutputTokens: readLimit(parsed),
    answers: readAnswers(parsed),
    ...countedFacts(counts),
    predictionTokens: readPrediction(parsed['prediction'], body.length),
    thinkingBudget: readThinkingBudget(parsed),
    fixedOutput: tools > 0 || schema,
    oneHourCache: asksForLongCache(parsed),
    serviceTier: readServiceTier(parsed['service_tier']),
  };
}

/** OpenAI refuses a request with both limits; here both are allowed if they are equal. */
function readLimit(parsed: JsonRecord): number | undefined {
  const completionLimit = readCount(parsed['max_completion_tokens'], 'max_completion_tokens', POSITIVE);
  const legacyLimit = readCount(parsed['max_tokens'], 'max_tokens', POSITIVE);
  if (completionLimit !== undefined && legacyLimit !== undefined && completionLimit !== legacyLimit)
    throw new RequestFault(
      'invalid_request',
      'The fields "max_tokens" and "max_completion_tokens" differ; send only one of them.',
      'max_tokens',
    );
  return completionLimit ?? legacyLimit;
}

/** With `best_of` some providers generate several answers, bill all, and return the best. */
function readAnswers(parsed: JsonRecord): number {
  return Math.max(
    readCount(parsed['n'], 'n', ANSWERS_RANGE) ?? 1,
    readCount(parsed['best_of'], 'best_of', ANSWERS_RANGE) ?? 1,
  );
}

/** Whether the client asks for usage. Throws RequestFault. */
export function readStreamOptions(options: unknown): boolean {
  if (!isGiven(options)) return false;
  if (!isRecord(options))
    throw new RequestFault('invalid_request', 'The field "stream_options" must be an object.', 'stream_options');
  return readFlag(options['include_usage'], 'stream_options.include_usage');
}

function readMessage(counts: ContentCounts, message: JsonRecord, param: string): void {
  refuseFoldedNames(message, param);
  counts.units += 1 + itemsOf(message['tool_calls']).length;
  // a reference to an earlier spoken answer
  if (isGiven(message['audio'])) {
    addUnbounded(counts, 'Audio', `${param}.audio`, { tokens: 'audioInput' });
    counts.files++;
  }
  // images that a model generated before, as OpenRouter returns them
  for (const [index, image] of itemsOf(message['images']).entries())
    readPart(counts, isRecord(image) ? image : { image }, `${param}.images[${index}]`);
  if (!hasOnly(message, MESSAGE_MEMBERS)) readUnknownPart(counts, { ...message, content: undefined }, param);
  const { content } = message;
  if (Array.isArray(content))
    for (const [index, part] of (content as unknown[]).entries()) readPart(counts, part, `${param}.content[${index}]`);
  else if (isRecord(content)) readPart(counts, content, `${param}.content`);
}

/** By type and by key, because some providers go by a part's keys. */
function readPart(counts: ContentCounts, part: unknown, param: string): void {
  counts.units++;
  if (!isRecord(part)) return;
  refuseFoldedNames(part, param);
  for (const name of NESTED) if (isRecord(part[name])) refuseFoldedNames(part[name], `${param}.${name}`);
  const type = stringOf(part['type']);
  const { images } = counts;
  const isMedium = [readImagePart(counts, part, param, type), readAudioPart(counts, part, param, type)].includes(true);
  if (isMedium && !isOneMedium(part)) counts.files++;
  const isFile = readFilePart(counts, part, param, type);
  if (!isMedium && !isFile && !isText(part, type)) readUnknownPart(counts, part, param);
  // a file or a recording may have an image beside it
  else if (counts.images === images) addHiddenImage(counts, part, param);
}

function isText(part: JsonRecord, type: string): boolean {
  return (TEXT_PARTS.has(type) || (type === '' && typeof part['text'] === 'string')) && hasOnly(part, TEXT_MEMBERS);
}

/** An unknown part, or a message with other media, may fill the context, and may hold an image, as Anthropic's blocks do. */
function readUnknownPart(counts: ContentCounts, part: JsonRecord, param: string): void {
  counts.files++;
  addHiddenImage(counts, part, param);
}

function readImagePart(counts: ContentCounts, part: JsonRecord, param: string, type: string): boolean {
  if (!type.includes('image') && !isGiven(part['image_url']) && !isGiven(part['image'])) return false;
  const source = part['image_url'] ?? part['image'];
  const url = isRecord(source) ? source['url'] : source;
  addImage(counts, param, typeof url === 'string' ? dataUrlBytes(url) : 0);
  return true;
}

function readAudioPart(counts: ContentCounts, part: JsonRecord, param: string, type: string): boolean {
  if (!type.includes('audio') && !isGiven(part['input_audio']) && !isGiven(part['audio_url'])) return false;
  const { input_audio: audio } = part;
  const isInline = isRecord(audio) && typeof audio['data'] === 'string';
  addUnbounded(counts, 'Audio', param, isInline ? { tokens: 'audioInput' } : undefined);
  return true;
}

/** Whether a part holds one image or one recording: with anything beside it, it may fill the context. */
function isOneMedium(part: JsonRecord): boolean {
  if (!hasOnly(part, MEDIA_MEMBERS) || !hasAtMostOne(part, MEDIA)) return false;
  return MEDIA.every((name) => {
    const medium = part[name];
    return !isGiven(medium) || typeof medium === 'string' || (isRecord(medium) && hasOnly(medium, MEDIUM_MEMBERS));
  });
}

function readFilePart(counts: ContentCounts, part: JsonRecord, param: string, type: string): boolean {
  const file = part['file'];
  if (type !== 'file' && !isGiven(file)) return false;
  counts.files++;
  const data = isRecord(file) ? file['file_data'] : undefined;
  if (isImageData(data)) addImage(counts, param, 0);
  if (typeof data !== 'string' || URL_START.test(data)) addUnbounded(counts, 'FileReferences', `${param}.file`);
  return true;
}

/** Whether the client runs the tool: it defines a function or a custom tool, and has nothing unknown beside it. */
export function isClientTool(tool: JsonRecord): boolean {
  const isDefined = isRecord(tool['function']) || isRecord(tool['custom']);
  return isDefined && CLIENT_TOOL_TYPES.has(tool['type']) && hasOnly(tool, TOOL_MEMBERS);
}

/** How many tools and functions there are. */
function readTools(counts: ContentCounts, parsed: JsonRecord): number {
  const tools = readRecords(parsed['tools'], 'tools');
  for (const [index, tool] of tools.entries()) {
    refuseFoldedNames(tool, `tools[${index}]`);
    if (!isClientTool(tool)) addProviderTool(counts, `tools[${index}].type`);
  }
  const functions = readRecords(parsed['functions'], 'functions');
  for (const [index, each] of functions.entries()) {
    refuseFoldedNames(each, `functions[${index}]`);
    if (!hasOnly(each, FUNCTION_MEMBERS)) addUnbounded(counts, 'ServerTools', `functions[${index}]`);
  }
  const { tool_choice: choice } = parsed;
  if (isRecord(choice) && !hasOnly(choice, CHOICE_MEMBERS)) addUnbounded(counts, 'ServerTools', 'tool_choice');
  const count = tools.length + functions.length;
  counts.units += count;
  return count;
}

function readModalities(counts: ContentCounts, modalities: unknown): void {
  if (itemsOf(modalities).some((modality) => stringOf(modality).toLowerCase() === 'audio'))
    addUnbounded(counts, 'Audio', 'modalities', { tokens: 'audioOutput' });
}

/** Rejected tokens of a prediction are billed as output. One of an unknown shape is bounded by the whole body. */
function readPrediction(prediction: unknown, bodyBytes: number): number {
  if (!isGiven(prediction)) return 0;
  const content = isRecord(prediction) ? prediction['content'] : undefined;
  if (typeof content === 'string') return utf8Bytes(content);
  if (!Array.isArray(content) || !content.every((part) => isRecord(part) && typeof part['text'] === 'string'))
    return bodyBytes;
  return content.filter(isRecord).reduce((sum, part) => sum + utf8Bytes(part['text']), 0);
}

/** Not OpenAI's own: some providers take Anthropic's `thinking`, and OpenRouter has `reasoning.max_tokens`. */
function readThinkingBudget(parsed: JsonRecord): number | undefined {
  const { thinking, reasoning } = parsed;
  const budgets: unknown[] = [
    isRecord(thinking) ? thinking['budget_tokens'] : undefined,
    isRecord(reasoning) ? reasoning['max_tokens'] : undefined,
  ];
  return budgets.find((budget): budget is number => Number.isSafeInteger(budget) && Number(budget) > 0);
}

function hasSchema(format: unknown): boolean {
  return isRecord(format) && isGiven(format['type']) && format['type'] !== 'text';
}
