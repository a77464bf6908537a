/** Reads the facts about a request for embeddings in Google's protocol: each content gets an embedding of its own. */
import { Buffer } from 'node:buffer';
import type { ChatFacts } from '../call-facts.ts';
import { addImage, countedFacts, startCounts } from '../content-counts.ts';
import type { ContentCounts } from '../content-counts.ts';
import { estimateTokens, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { isRecord, readRecords, stringOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { otherBytes } from '../other-members.ts';
import { malformed } from '../unsupported.ts';
import { readContent } from './facts.ts';

export interface EmbedFacts extends Pick<ChatFacts, 'images' | 'imageParam' | 'files' | 'unbounded'> {
  readonly contents: readonly EmbeddedContent[];
  /** Bytes of what is beside the contents, which may be read with each. */
  readonly besideBytes: number;
}

export interface EmbeddedContent {
  /** Upper bound of its text, with the settings beside it. */
  readonly bytes: number;
  /** Of its texts alone. */
  readonly textBytes: number;
  readonly images: number;
  readonly files: number;
}

const BATCH_NAMES: ReadonlySet<string> = new Set(['requests']);

/** One content. Expects a request in camel case (names.ts). Throws RequestFault where the content is missing or wrong. */
export function readEmbedFacts(body: Uint8Array, request: JsonRecord): EmbedFacts {
  const counts = startCounts(0);
  const content = readEmbedded(counts, request, { bytes: body.length, param: 'content' });
  return { ...countedFacts(counts), contents: [content], besideBytes: 0 };
}

/** Several requests with a content each. */
export function readBatchEmbedFacts(body: Uint8Array, request: JsonRecord): EmbedFacts {
  const counts = startCounts(0);
  const requests = readRecords(request['requests'], 'requests');
  if (requests.length === 0) throw malformed('requests', 'a list of at least one request');
  const contents = requests.map((each, index) =>
    readEmbedded(counts, each, {
      bytes: Buffer.byteLength(JSON.stringify(each)),
      param: `requests[${index}].content`,
    }),
  );
  return { ...countedFacts(counts), contents, besideBytes: otherBytes(body, BATCH_NAMES) };
}

/** Upper bound of input tokens, at most the context of each content, which a file may fill. */
export function boundEmbedInput(facts: EmbedFacts, { contextTokens, imageTokens }: ModelTokens): number {
  const bounds = facts.contents.map(({ bytes, images, files }) =>
    files > 0
      ? contextTokens
      : Math.min(contextTokens, bytes + facts.besideBytes + TEMPLATE_TOKENS + images * imageTokens),
  );
  return bounds.reduce((sum, tokens) => sum + tokens, 0);
}

/** Likely input tokens, at most the bound. A file counts as one page, and a PDF as two. */
export function estimateEmbedInput(facts: EmbedFacts, model: ModelTokens): number {
  const likely = facts.contents.map(
    ({ textBytes, images, files }) => estimateTokens(textBytes) + (images + files) * model.imageTokens,
  );
  return Math.min(
    boundEmbedInput(facts, model),
    likely.reduce((sum, tokens) => sum + tokens, 0),
  );
}

interface Place {
  /** Of the JSON that the request is. */
  readonly bytes: number;
  /** The path of its content. */
  readonly param: string;
}

/** `counts`: of all contents together. */
function readEmbedded(counts: ContentCounts, request: JsonRecord, place: Place): EmbeddedContent {
  const { content, title } = request;
  if (!isRecord(content)) throw malformed(place.param, 'a content');
  const { images, files } = counts;
  counts.textBytes = place.bytes;
  readContent(counts, content, place.param);
  const parts = readRecords(content['parts'], `${place.param}.parts`);
  for (const [index, part] of parts.entries()) readFiles(counts, part, `${place.param}.parts[${index}]`);
  const texts = parts.map(({ text }) => utf8Bytes(text));
  return {
    bytes: Math.max(0, counts.textBytes),
    textBytes: texts.reduce((sum, each) => sum + each, utf8Bytes(title)),
    images: counts.images - images,
    files: counts.files - files,
  };
}

/** Types that have a price: of text, of images or of sound. */
const PRICED_FILE = /^(?:text\/|application\/json\b|image\/|audio\/)/i;
const PDF = /^application\/pdf\b/i;

/**
 * Pages of a PDF are read as images. Any other file, such as a video, has a price of its own at Google and none here;
 * one by its URI is refused as such (facts.ts).
 */
function readFiles(counts: ContentCounts, part: JsonRecord, param: string): void {
  const { inlineData: inline, fileData: file, functionResponse: response } = part;
  if (isRecord(file) && PDF.test(stringOf(file['mimeType']))) addImage(counts, `${param}.fileData`, 0);
  if (isRecord(inline)) readInline(counts, stringOf(inline['mimeType']), `${param}.inlineData`);
  if (!isRecord(response)) return;
  const path = `${param}.functionResponse.parts`;
  for (const [index, inner] of readRecords(response['parts'], path).entries())
    readFiles(counts, inner, `${path}[${index}]`);
}

function readInline(counts: ContentCounts, mimeType: string, param: string): void {
  if (PDF.test(mimeType)) addImage(counts, param, 0);
  else if (!PRICED_FILE.test(mimeType)) counts.unbounded.push({ feature: 'FileReferences', param, what: OTHER_FILE });
}

const OTHER_FILE = 'a file that is neither text, an image nor audio';
