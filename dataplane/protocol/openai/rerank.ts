/**
 * Rankings of documents by a query, in the form of Cohere, Jina and Voyage, which pass through: OpenAI client, OpenAI
 * provider.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from '../call-facts.ts';
import { estimateTokens, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { isRecord, readCount, readModel, stringOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { foldName } from '../folded-names.ts';
import { findImage, findImageField, isImageData } from '../image-inputs.ts';
import { otherBytes, otherTextBytes } from '../other-members.ts';
import { largestCount } from '../usage.ts';
import { inputOnlyConverter, usageMember } from './input-only.ts';

export interface RerankFacts {
  readonly model: string;
  readonly query: RankedText;
  readonly documents: readonly RankedText[];
  /** Of the body's other members, such as an instruction, which may be read with each document. */
  readonly otherBytes: number;
  readonly otherTextBytes: number;
  /** The pieces of a document that the request asks for. */
  readonly pieces: Pieces;
  /** The field with the first image; undefined: none. */
  readonly imageParam: string | undefined;
}

export interface Pieces {
  /** Tokens of a piece; undefined: what fits. Some providers leave out what is longer. */
  readonly size: number | undefined;
  /** Tokens that each piece repeats of the one before. */
  readonly overlap: number;
}

export interface RankedText {
  /** Of its text. */
  readonly bytes: number;
  /** An image, or what may name a file: its tokens are bounded by the model's context alone. */
  readonly media: 'Image' | 'File' | undefined;
}

/** Documents that a price per request counts once, whatever their length. */
export const DOCUMENTS_PER_UNIT = 100;

const INPUT_NAMES: ReadonlySet<string> = new Set(['query', 'documents']);
/** Members left out of the estimate: models do not read them, or they are counted separately. */
const UNREAD_NAMES: ReadonlySet<string> = new Set([...INPUT_NAMES, 'model', 'user', 'rank_fields', 'metadata']);
const POSITIVE = [1, Number.MAX_SAFE_INTEGER] as const;
const FROM_ZERO = [0, Number.MAX_SAFE_INTEGER] as const;

/** Throws RequestFault where the model, the query or the documents are missing or wrong. */
export function readRerankFacts(body: Uint8Array, parsed: JsonRecord): RerankFacts {
  const model = readModel(parsed);
  const query = readText(parsed['query'], 'query');
  const { documents } = parsed;
  if (!Array.isArray(documents) || documents.length === 0) throw textFault('documents');
  const items: readonly unknown[] = documents;
  const texts = items.map((document, index) => readText(document, `documents[${index}]`));
  const isPicture = (text: RankedText): boolean => text.media === 'Image';
  const pictured = isPicture(query) ? 'query' : texts.some(isPicture) ? 'documents' : undefined;
  return {
    model,
    query,
    documents: texts,
    otherBytes: otherBytes(body, INPUT_NAMES),
    otherTextBytes: otherTextBytes(parsed, UNREAD_NAMES),
    pieces: {
      size: readCount(parsed['max_tokens_per_doc'], 'max_tokens_per_doc', POSITIVE),
      overlap: readCount(parsed['overlap_tokens'], 'overlap_tokens', FROM_ZERO) ?? 0,
    },
    imageParam: findImageField(parsed) ?? pictured,
  };
}

/** Upper bound of input tokens: the model reads the query with each document. */
export function boundRerankInput(facts: RerankFacts, { contextTokens }: ModelTokens): number {
  return facts.documents.reduce((sum, document) => sum + boundPair(facts, document, contextTokens), 0);
}

/**
 * A document beyond the context, or the size that is asked for, is cut into pieces, each of which is read with the
 * query and the rest of the body. A piece takes at least half of the context, or that size.
 */
function boundPair(facts: RerankFacts, document: RankedText, contextTokens: number): number {
  const { query, pieces } = facts;
  if (query.media ?? document.media) return contextTokens;
  const beside = query.bytes + facts.otherBytes;
  const whole = beside + document.bytes + TEMPLATE_TOKENS;
  const { size = contextTokens, overlap } = pieces;
  if (whole <= contextTokens && document.bytes <= size) return whole;
  const step = Math.max(1, Math.min(contextTokens / 2, size) - overlap);
  const each = Math.min(beside, contextTokens) + TEMPLATE_TOKENS + Math.min(overlap, contextTokens);
  return document.bytes + Math.ceil(whole / step) * each;
}

/** Likely input tokens, at most the bound. */
export function estimateRerankInput(facts: RerankFacts, model: ModelTokens): number {
  const likely = (text: RankedText): number => estimateTokens(text.bytes) + (text.media ? model.imageTokens : 0);
  const query = likely(facts.query) + estimateTokens(facts.otherTextBytes);
  return Math.min(
    boundRerankInput(facts, model),
    facts.documents.reduce((sum, document) => sum + query + likely(document), 0),
  );
}

export const rerankConverter = inputOnlyConverter({
  path: '/rerank',
  isResponse: (response) => Array.isArray(response['results']) || Array.isArray(response['data']),
  fault: 'the answer holds no ranking',
  readUsage: (response) => {
    const usage = usageMember(response);
    return { ...usage, prompt: largestCount(usage.prompt, usage.total, ...metaCounts(response['meta'])) };
  },
});

/** Cohere's counts, and those of providers that take after it. */
function metaCounts(meta: unknown): readonly unknown[] {
  if (!isRecord(meta)) return [];
  const counts = [meta['tokens'], meta['billed_units']].filter(isRecord);
  return counts.flatMap((each) => [each['input_tokens'], each['total_tokens']]);
}

/** A text, or an object whose members a provider reads. */
function readText(value: unknown, param: string): RankedText {
  if (isImageData(value)) return { bytes: 0, media: 'Image' };
  if (typeof value === 'string') return { bytes: Buffer.byteLength(value), media: undefined };
  if (!isRecord(value)) throw textFault(param);
  const media = holdsImage(value) ? 'Image' : Object.values(value).some(mayNameFile) ? 'File' : undefined;
  return media
    ? { bytes: utf8Bytes(stringOf(value['text'])), media }
    : { bytes: Buffer.byteLength(JSON.stringify(value)), media };
}

/** By names in any case: the members of a document are the client's own. */
function holdsImage(value: JsonRecord): boolean {
  const folded = Object.fromEntries(Object.entries(value).map(([name, member]) => [foldName(name), member]));
  return findImage(folded, '') !== undefined;
}

const FILE_START = /^\s*(?:[a-z][a-z0-9+.-]{1,20}:\/\/|data:)/i;

/** An object within a document may hold anything. */
function mayNameFile(member: unknown): boolean {
  return typeof member === 'string'
    ? FILE_START.test(member.slice(0, 64))
    : typeof member === 'object' && member !== null;
}

function textFault(param: string): RequestFault {
  return new RequestFault(
    'invalid_request',
    `The field "${param}" must be ${param === 'documents' ? 'a list of texts or objects' : 'a text or an object'}.`,
    param,
  );
}
