/**
 * Rankings of documents by a query, in the form of Cohere, Jina and Voyage, which pass through: OpenAI client, OpenAI
 * provider.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from '../call-facts.ts';
import { estimateTokens } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { isRecord, readModel, stringOf, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { foldName } from '../folded-names.ts';
import { findImage, findImageField, isImageData } from '../image-inputs.ts';
import { largestCount } from '../usage.ts';
import { inputOnlyConverter, usageMember, WRAPPING_TOKENS } from './input-only.ts';

export interface RerankFacts {
  readonly model: string;
  readonly query: RankedText;
  readonly documents: readonly RankedText[];
  /** The field with the first image; undefined: none. */
  readonly imageParam: string | undefined;
}

export interface RankedText {
  /** Of its text. */
  readonly bytes: number;
  /** It is an image, or may name a file: what it comes to is bounded by the model's context alone. */
  readonly hasMedia: boolean;
}

/** Documents that a price per request counts once, whatever their length. */
export const DOCUMENTS_PER_UNIT = 100;

/** Throws RequestFault where the model, the query or the documents are missing or wrong. */
export function readRerankFacts(parsed: JsonRecord): RerankFacts {
  const model = readModel(parsed);
  const query = readText(parsed['query'], 'query');
  const { documents } = parsed;
  if (!Array.isArray(documents) || documents.length === 0) throw textFault('documents');
  const items: readonly unknown[] = documents;
  const texts = items.map((document, index) => readText(document, `documents[${index}]`));
  const isPicture = (value: unknown): boolean => isImageData(value) || (isRecord(value) && holdsImage(value));
  const pictured = isPicture(parsed['query']) ? 'query' : items.some(isPicture) ? 'documents' : undefined;
  return { model, query, documents: texts, imageParam: findImageField(parsed) ?? pictured };
}

/** Upper bound of input tokens: the model reads the query with each document. */
export function boundRerankInput({ query, documents }: RerankFacts, { contextTokens }: ModelTokens): number {
  return documents.reduce((sum, document) => sum + boundPair(query, document, contextTokens), 0);
}

/**
 * A document beyond the context is cut into pieces, each of which is read with the query. A piece takes at least half
 * of the context.
 */
function boundPair(query: RankedText, document: RankedText, contextTokens: number): number {
  if (query.hasMedia || document.hasMedia) return contextTokens;
  const whole = query.bytes + document.bytes + WRAPPING_TOKENS;
  if (whole <= contextTokens) return whole;
  const pieces = Math.ceil((2 * whole) / contextTokens);
  return document.bytes + pieces * (Math.min(query.bytes, contextTokens) + WRAPPING_TOKENS);
}

/** Likely input tokens, at most the bound. */
export function estimateRerankInput(facts: RerankFacts, model: ModelTokens): number {
  const likely = ({ bytes, hasMedia }: RankedText): number =>
    estimateTokens(bytes) + (hasMedia ? model.imageTokens : 0);
  const query = likely(facts.query);
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
  if (isImageData(value)) return { bytes: 0, hasMedia: true };
  if (typeof value === 'string') return { bytes: Buffer.byteLength(value), hasMedia: false };
  if (!isRecord(value)) throw textFault(param);
  if (holdsImage(value) || Object.values(value).some(mayNameFile))
    return { bytes: utf8Bytes(stringOf(value['text'])), hasMedia: true };
  return { bytes: Buffer.byteLength(JSON.stringify(value)), hasMedia: false };
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
