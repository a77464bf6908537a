/**
 * Reads the facts about a request in Google's protocol. Its model, and whether it streams, are in the path.
 */
import type { ChatFacts } from '../call-facts.ts';
import { MAX_CANDIDATES } from '../candidates.ts';
import {
  addHiddenImage,
  addImage,
  addProviderTool,
  addUnbounded,
  countedFacts,
  startCounts,
} from '../content-counts.ts';
import type { ContentCounts } from '../content-counts.ts';
import { PREAMBLE_UNITS } from '../estimate.ts';
import { isGiven, isRecord, itemsOf, readCount, readRecords, recordOf, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { isImageData } from '../image-inputs.ts';
import { malformed } from '../unsupported.ts';
import { isStoredFile } from './stored-file.ts';

export type GenerateFacts = Omit<ChatFacts, 'model' | 'stream'>;

/** The provider's own definition of a tool that it runs is not in the body; in units of estimate.ts. */
const PROVIDER_TOOL_UNITS = 96;
/** Kinds of parts whose tokens are bounded by their bytes, and members that may stand beside them. */
const BOUNDED_PARTS: ReadonlySet<string> = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
  'partMetadata',
  'mediaResolution',
  'videoMetadata',
  'mediaProcessing',
  'speechMetadata',
]);
const TEXT_FILE = /^(?:text\/|application\/json\b)/i;
const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'standard', 'unspecified', 'service_tier_unspecified']);

/**
 * Expects a request in camel case (names.ts). Throws RequestFault where a field that the gateway needs is missing or
 * wrong.
 */
export function readGenerateFacts(body: Uint8Array, request: JsonRecord): GenerateFacts {
  const counts = startCounts(body.length);
  readContents(counts, request);
  const tools = readTools(counts, request['tools']);
  const config = configOf(request);
  const schema = isGiven(config['responseSchema']) || isGiven(config['responseJsonSchema']);
  if (tools > 0 || schema) counts.units += PREAMBLE_UNITS;
  const serviceTier = readTier(counts, request['serviceTier']);
  readModalities(counts, config['responseModalities']);
  checkImageConfig(config['imageConfig']);
  if (isGiven(request['cachedContent'])) addReference(counts, 'cachedContent');
  return {
    wantsStreamUsage: true,
    maxOutputTokens: readCount(config['maxOutputTokens'], 'generationConfig.maxOutputTokens', [
      1,
      Number.MAX_SAFE_INTEGER,
    ]),
    answers: readCount(config['candidateCount'], 'generationConfig.candidateCount', [1, MAX_CANDIDATES]) ?? 1,
    ...countedFacts(counts),
    predictionTokens: 0,
    thinkingBudget: budgetOf(config),
    fixedOutput: tools > 0 || schema,
    oneHourCache: false,
    ...(serviceTier !== undefined && { serviceTier }),
  };
}

/** Whether the request asks the model to think. */
export function asksForThoughts(request: JsonRecord): boolean {
  const { thinkingBudget: budget, thinkingLevel: level } = thinkingOf(configOf(request));
  return isGiven(level) || (typeof budget === 'number' && budget !== 0);
}

function configOf({ generationConfig: config }: JsonRecord): JsonRecord {
  if (isGiven(config) && !isRecord(config)) throw malformed('generationConfig', 'an object');
  return recordOf(config);
}

function thinkingOf({ thinkingConfig: thinking }: JsonRecord): JsonRecord {
  return recordOf(thinking);
}

/** 0 means no thoughts, and a negative budget leaves it to the model. */
function budgetOf(config: JsonRecord): number | undefined {
  const { thinkingBudget: budget } = thinkingOf(config);
  const param = 'generationConfig.thinkingConfig.thinkingBudget';
  const count = readCount(budget, param, [-1, Number.MAX_SAFE_INTEGER]);
  return count !== undefined && count > 0 ? count : undefined;
}

function readContents(counts: ContentCounts, { contents: given, systemInstruction: system }: JsonRecord): void {
  const contents = readRecords(given, 'contents');
  if (contents.length === 0) throw malformed('contents', 'a list of at least one content');
  for (const [index, content] of contents.entries()) readContent(counts, content, `contents[${index}]`);
  if (isRecord(system)) readContent(counts, system, 'systemInstruction');
}

/** Adds a content to the counts. `param`: its path. */
export function readContent(counts: ContentCounts, content: JsonRecord, param: string): void {
  counts.units++;
  for (const [index, part] of readRecords(content['parts'], `${param}.parts`).entries())
    readPart(counts, part, `${param}.parts[${index}]`);
}

function readPart(counts: ContentCounts, part: JsonRecord, param: string): void {
  counts.units++;
  const { inlineData: inline, fileData: file, functionResponse: response } = part;
  if (isRecord(inline)) readInline(counts, inline, `${param}.inlineData`);
  if (isRecord(file)) readFile(counts, file, `${param}.fileData`);
  if (isRecord(response))
    for (const [index, inner] of readRecords(response['parts'], `${param}.functionResponse.parts`).entries())
      readPart(counts, inner, `${param}.functionResponse.parts[${index}]`);
  const { inlineData: _inline, fileData: _file, ...rest } = part;
  if (Object.keys(rest).every((name) => BOUNDED_PARTS.has(name))) return;
  // an unknown part may fill the context, and may hold an image
  counts.files++;
  addHiddenImage(counts, rest, param, counts.searched);
}

function readInline(counts: ContentCounts, { mimeType: type, data }: JsonRecord, param: string): void {
  const mimeType = stringOf(type);
  if (TEXT_FILE.test(mimeType)) return;
  if (/^image\//i.test(mimeType)) return addImage(counts, param, stringOf(data).length);
  counts.files++;
  if (/^audio\//i.test(mimeType)) addUnbounded(counts, 'Audio', param, { tokens: 'audioInput' });
  // an image that is sent as something else
  if (isImageData(data)) addImage(counts, param, 0);
}

function readFile(counts: ContentCounts, { mimeType: type, fileUri: uri }: JsonRecord, param: string): void {
  const mimeType = stringOf(type);
  if (mimeType === '' || /^image\//i.test(mimeType)) addImage(counts, param, 0);
  // an image by URL is bounded like any other
  const isPublic = /^https?:\/\//i.test(stringOf(uri)) && !isStoredFile(stringOf(uri));
  if (!/^image\//i.test(mimeType) || !isPublic) addReference(counts, param);
}

function addReference(counts: ContentCounts, param: string): void {
  counts.files++;
  addUnbounded(counts, 'FileReferences', param);
}

/** The number of tools. */
function readTools(counts: ContentCounts, tools: unknown): number {
  let count = 0;
  for (const [index, tool] of readRecords(tools, 'tools').entries()) {
    for (const name of Object.keys(tool).filter((field) => isGiven(tool[field]))) {
      if (name === 'functionDeclarations') {
        const declared = readRecords(tool[name], `tools[${index}].${name}`).length;
        counts.units += declared;
        count += declared;
      } else {
        addProviderTool(counts, `tools[${index}].${name}`);
        counts.units += PROVIDER_TOOL_UNITS;
        count++;
      }
    }
  }
  return count;
}

function readTier(counts: ContentCounts, value: unknown): string | undefined {
  const tier = stringOf(value).toLowerCase();
  if (!STANDARD_TIERS.has(tier)) addUnbounded(counts, 'ServiceTiers', 'serviceTier', { serviceTier: tier });
  return tier === 'standard' || !STANDARD_TIERS.has(tier) ? tier : undefined;
}

/** Pictures are tokens of the output, whatever their shape. */
function checkImageConfig(config: unknown): void {
  if (!isRecord(config)) return;
  const { aspectRatio, imageSize } = config;
  if (isGiven(aspectRatio) && typeof aspectRatio !== 'string')
    throw malformed('generationConfig.imageConfig.aspectRatio', 'a text');
  if (isGiven(imageSize) && typeof imageSize !== 'string')
    throw malformed('generationConfig.imageConfig.imageSize', 'a text');
}

/** Tokens of text and of images are bounded by the output limit. */
const BOUNDED_MODALITIES: ReadonlySet<string> = new Set(['TEXT', 'IMAGE', 'MODALITY_UNSPECIFIED']);

/** Answers of another kind. */
function readModalities(counts: ContentCounts, modalities: unknown): void {
  const others = itemsOf(modalities)
    .map((modality) => stringOf(modality).toUpperCase())
    .filter((modality) => !BOUNDED_MODALITIES.has(modality));
  const param = 'generationConfig.responseModalities';
  for (const modality of others)
    if (modality === 'AUDIO') addUnbounded(counts, 'Audio', param, { tokens: 'audioOutput' });
    else addUnbounded(counts, 'Audio', param);
}
