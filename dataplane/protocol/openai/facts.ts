/**
 * What the gateway must know of a chat completion request. Fields that are none of its business are not looked at. Compatible
 * providers have fields of their own; those that are known to raise the price are named here too.
 */
import { RequestFault } from '../call-facts.ts';
import type { ChatFacts } from '../call-facts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import { addImage, addPricedFields, addUnbounded, asksForLongCache, dataUrlBytes, startTally } from '../facts-tally.ts';
import type { FactsTally, PricedField } from '../facts-tally.ts';
import { isGiven, isRecord, itemsOf, readCount, readFlag, readMessages, readModel, readRecords, utf8Bytes, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseVariants } from '../name-variants.ts';
import { findImage, isImageData } from '../image-inputs.ts';

/** The reference's bound of `n`. */
const SOME_ANSWERS = [1, 128] as const;
const ANY_COUNT = [1, Number.MAX_SAFE_INTEGER] as const;

/** Of compatible providers too; the responses of OpenAI have the same. */
export const PRICED_FIELDS: readonly PricedField[] = [
  { field: 'web_search_options', feature: 'ServerTools' },
  { field: 'service_tier', feature: 'ServiceTiers', harmless: ['auto', 'default'] },
  { field: 'audio', feature: 'Audio' },
  // xAI, OpenRouter, Qwen, Azure: searches and plug-ins that the provider runs
  { field: 'search_parameters', feature: 'ServerTools' },
  { field: 'plugins', feature: 'ServerTools' },
  { field: 'enable_search', feature: 'ServerTools' },
  { field: 'data_sources', feature: 'ServerTools' },
  { field: 'mcp_servers', feature: 'ServerTools' },
  // OpenRouter: other models than the one that was priced, or dearer hosts of it
  { field: 'models', feature: 'ServiceTiers' },
  { field: 'provider', feature: 'ServiceTiers' },
];

/** Content parts that are text, and so bounded by their bytes. */
const TEXT_PARTS: ReadonlySet<unknown> = new Set(['text', 'refusal', 'input_text', 'output_text', 'thinking', 'reasoning']);
/** Compatible providers fetch a file from there. */
const URL_START = /^\s*[a-z][a-z0-9+.-]{1,20}:\/\//i;
/** Members of a part that hold what it is about. */
const NESTED = ['image_url', 'file', 'source'] as const;
/** Tools that the client runs. */
const CLIENT_TOOLS: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom']);

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readChatFacts(body: Uint8Array, parsed: JsonRecord): ChatFacts {
  const model = readModel(parsed);
  const stream = readFlag(parsed['stream'], 'stream');
  const tally = startTally(body.length);
  for (const [index, message] of readMessages(parsed).entries()) readMessage(tally, message, `messages[${index}]`);
  const tools = readTools(tally, parsed);
  const schema = hasSchema(parsed['response_format']);
  if (tools > 0 || schema) tally.units += PREAMBLE_UNITS;
  addPricedFields(tally, parsed, PRICED_FIELDS);
  readModalities(tally, parsed['modalities']);
  return {
    model,
    stream,
    wantsStreamUsage: stream && readStreamOptions(parsed['stream_options']),
    maxOutputTokens: readLimit(parsed),
    answers: readAnswers(parsed),
    textBytes: Math.max(0, tally.textBytes),
    units: tally.units,
    images: tally.images,
    imageParam: tally.imageParam,
    files: tally.files,
    predictionTokens: readPrediction(parsed['prediction'], body.length),
    thinkingBudget: readThinkingBudget(parsed),
    fixedOutput: tools > 0 || schema,
    oneHourCache: asksForLongCache(parsed),
    unbounded: tally.unbounded,
  };
}

/** OpenAI refuses a request that names both limits; here they may at least agree. */
function readLimit(parsed: JsonRecord): number | undefined {
  const newer = readCount(parsed['max_completion_tokens'], 'max_completion_tokens', ANY_COUNT);
  const older = readCount(parsed['max_tokens'], 'max_tokens', ANY_COUNT);
  if (newer !== undefined && older !== undefined && newer !== older)
    throw new RequestFault('invalid_request', 'The fields "max_tokens" and "max_completion_tokens" differ; send only one of them.', 'max_tokens');
  return newer ?? older;
}

/** `best_of` of some providers generates as many and returns the best: all are paid. */
function readAnswers(parsed: JsonRecord): number {
  return Math.max(readCount(parsed['n'], 'n', SOME_ANSWERS) ?? 1, readCount(parsed['best_of'], 'best_of', SOME_ANSWERS) ?? 1);
}

function readStreamOptions(options: unknown): boolean {
  if (!isGiven(options)) return false;
  if (!isRecord(options)) throw new RequestFault('invalid_request', 'The field "stream_options" must be an object.', 'stream_options');
  return readFlag(options['include_usage'], 'stream_options.include_usage');
}

function readMessage(tally: FactsTally, message: JsonRecord, param: string): void {
  refuseVariants(message, param);
  tally.units += 1 + itemsOf(message['tool_calls']).length;
  // an earlier spoken answer, by reference
  if (isGiven(message['audio'])) addUnbounded(tally, 'Audio', `${param}.audio`);
  // pictures that a model made before, as OpenRouter gives them back
  for (const [index, image] of itemsOf(message['images']).entries()) readPart(tally, isRecord(image) ? image : { image }, `${param}.images[${index}]`);
  const { content } = message;
  if (Array.isArray(content)) for (const [index, part] of (content as unknown[]).entries()) readPart(tally, part, `${param}.content[${index}]`);
  else if (isRecord(content)) readPart(tally, content, `${param}.content`);
}

/** By type and by key alike: some providers take a part by the key that it has. */
function readPart(tally: FactsTally, part: unknown, param: string): void {
  tally.units++;
  if (!isRecord(part)) return;
  refuseVariants(part, param);
  for (const name of NESTED) if (isRecord(part[name])) refuseVariants(part[name], `${param}.${name}`);
  const type = wordOf(part['type']);
  const media = [readImagePart(tally, part, param, type), readAudioPart(tally, part, param, type), readFilePart(tally, part, param, type)];
  if (media.includes(true)) return;
  if (!TEXT_PARTS.has(type) && !(type === '' && typeof part['text'] === 'string')) readUnknownPart(tally, part, param);
}

/** Whatever it is, it fills the context at most; an image may hide in it, such as in a block of Anthropic's. */
function readUnknownPart(tally: FactsTally, part: JsonRecord, param: string): void {
  tally.files++;
  const image = findImage(part, param);
  if (image !== undefined) addImage(tally, image, 0);
}

function readImagePart(tally: FactsTally, part: JsonRecord, param: string, type: string): boolean {
  if (!type.includes('image') && !isGiven(part['image_url']) && !isGiven(part['image'])) return false;
  const source = part['image_url'] ?? part['image'];
  const url = isRecord(source) ? source['url'] : source;
  addImage(tally, param, typeof url === 'string' ? dataUrlBytes(url) : 0);
  return true;
}

function readAudioPart(tally: FactsTally, part: JsonRecord, param: string, type: string): boolean {
  if (!type.includes('audio') && !isGiven(part['input_audio']) && !isGiven(part['audio_url'])) return false;
  addUnbounded(tally, 'Audio', param);
  return true;
}

function readFilePart(tally: FactsTally, part: JsonRecord, param: string, type: string): boolean {
  const file = part['file'];
  if (type !== 'file' && !isGiven(file)) return false;
  tally.files++;
  const data = isRecord(file) ? file['file_data'] : undefined;
  if (isImageData(data)) addImage(tally, param, 0);
  if (typeof data !== 'string' || URL_START.test(data)) addUnbounded(tally, 'FileReferences', `${param}.file`);
  return true;
}

/** How many tools and functions there are. */
function readTools(tally: FactsTally, parsed: JsonRecord): number {
  const tools = readRecords(parsed['tools'], 'tools');
  for (const [index, tool] of tools.entries()) {
    refuseVariants(tool, `tools[${index}]`);
    if (!CLIENT_TOOLS.has(tool['type'])) addUnbounded(tally, 'ServerTools', `tools[${index}].type`);
  }
  const count = tools.length + readRecords(parsed['functions'], 'functions').length;
  tally.units += count;
  return count;
}

function readModalities(tally: FactsTally, modalities: unknown): void {
  if (itemsOf(modalities).some((modality) => wordOf(modality).toLowerCase() === 'audio')) addUnbounded(tally, 'Audio', 'modalities');
}

/** Text whose rejected tokens are billed as output; in a shape that is not known, the whole body bounds it. */
function readPrediction(prediction: unknown, bodyBytes: number): number {
  if (!isGiven(prediction)) return 0;
  const content = isRecord(prediction) ? prediction['content'] : undefined;
  if (typeof content === 'string') return utf8Bytes(content);
  if (!Array.isArray(content) || !content.every((part) => isRecord(part) && typeof part['text'] === 'string')) return bodyBytes;
  return content.filter(isRecord).reduce((sum, part) => sum + utf8Bytes(part['text']), 0);
}

/** Not OpenAI's own: compatible providers take Anthropic's `thinking`, OpenRouter has `reasoning.max_tokens`. */
function readThinkingBudget(parsed: JsonRecord): number | undefined {
  const { thinking, reasoning } = parsed;
  const budgets: unknown[] = [isRecord(thinking) ? thinking['budget_tokens'] : undefined, isRecord(reasoning) ? reasoning['max_tokens'] : undefined];
  return budgets.find((budget): budget is number => Number.isSafeInteger(budget) && Number(budget) > 0);
}

function hasSchema(format: unknown): boolean {
  return isRecord(format) && isGiven(format['type']) && format['type'] !== 'text';
}
