/** Facts about a form whose audio is written down, or translated: how long it can be, and what is read beside it. */
import { Buffer } from 'node:buffer';
import { audioLength, LEAST_BYTES_PER_SECOND } from '../audio/length.ts';
import type { AudioLength } from '../audio/length.ts';
import { asBuffer } from '../bytes.ts';
import { RequestFault } from '../call-facts.ts';
import type { UnboundedUse } from '../call-facts.ts';
import { estimateTokens, MAX_AUDIO_TOKENS_PER_SECOND, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { readFlag, readModel, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { foldName } from '../folded-names.ts';
import { pathSegments } from '../form-names.ts';
import { findImageField } from '../image-inputs.ts';
import { readParts } from '../multipart.ts';
import type { FormPart } from '../multipart.ts';
import type { BodyForm } from './form-fields.ts';
import { AUDIO_SOURCE_FIELDS, locateFields, readStoredFiles } from './generation-fields.ts';

export interface TranscriptionFacts {
  readonly model: string;
  readonly stream: boolean;
  /** The response is JSON rather than a text. */
  readonly isJson: boolean;
  /** The most seconds that the audio can have. */
  readonly seconds: number;
  readonly likelySeconds: number;
  /** Requests to the model that the provider may make of the audio, each with the texts and references. */
  readonly chunks: number;
  /** Of everything that is no audio. */
  readonly textBytes: number;
  /** The most seconds of known speakers' audio. */
  readonly referenceSeconds: number;
  readonly likelyReferenceSeconds: number;
  /** The field with the first image, which compatible providers may accept; undefined: none. */
  readonly imageParam: string | undefined;
  readonly unbounded: readonly UnboundedUse[];
}

/** Formats of a response that are JSON; the first is the default. Others are a text. */
const JSON_FORMATS: ReadonlySet<string> = new Set(['', 'json', 'verbose_json', 'diarized_json']);
/** The least seconds of a chunk, where the request lets the provider cut the audio. */
const CHUNK_SECONDS = 30;
const LIKELY_TOKENS_PER_SECOND = 10;

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readTranscriptionFacts(body: Uint8Array, fields: JsonRecord, form: BodyForm): TranscriptionFacts {
  if (form === undefined)
    throw new RequestFault('invalid_request', 'Send a form (multipart/form-data) with the audio in the field "file".');
  const bytes = asBuffer(body);
  const parts = readParts(body, form);
  const references = parts.filter(isReference);
  const others = parts.filter((part) => !references.includes(part));
  const files = others.filter(({ filename }) => filename !== undefined);
  if (!files.some(({ name }) => foldName(name) === 'file'))
    throw new RequestFault('invalid_request', 'The field "file" must be an audio file.', 'file');
  const lengths = files.map(({ start, end }) => audioLength(bytes.subarray(start, end)));
  const seconds = sum(lengths.map((length) => length.most));
  const texts = others.filter(({ filename }) => filename === undefined);
  const referenceLengths = references.map((part) => referenceLength(bytes, part));
  return {
    model: readModel(fields),
    stream: readFlag(fields['stream'], 'stream'),
    isJson: JSON_FORMATS.has(stringOf(fields['response_format']).trim().toLowerCase()),
    seconds,
    likelySeconds: sum(lengths.map((length) => length.likely)),
    chunks: isChunked(fields) ? Math.max(1, Math.ceil(seconds / CHUNK_SECONDS)) : 1,
    textBytes: sum(texts.map(({ start, end }) => end - start)),
    referenceSeconds: sum(referenceLengths.map((length) => length.most)),
    likelyReferenceSeconds: sum(referenceLengths.map((length) => length.likely)),
    imageParam: findImageField(fields),
    unbounded: readStoredFiles(fields),
  };
}

/** Fields by which a provider reads audio that the request does not hold, and whose length nobody knows. */
export function findAudioSources(fields: JsonRecord): readonly string[] {
  return [...locateFields(fields, AUDIO_SOURCE_FIELDS)]
    .filter(({ value }) => typeof value === 'string' && value !== '')
    .map((source) => source.path);
}

/** Upper bound of input tokens, at most the context of each chunk. */
export function boundTranscriptionInput(facts: TranscriptionFacts, { contextTokens }: ModelTokens): number {
  const { seconds, chunks, textBytes, referenceSeconds, imageParam } = facts;
  const beside = textBytes + TEMPLATE_TOKENS + referenceSeconds * MAX_AUDIO_TOKENS_PER_SECOND;
  const tokens = seconds * MAX_AUDIO_TOKENS_PER_SECOND + chunks * beside;
  return imageParam === undefined ? Math.min(chunks * contextTokens, tokens) : chunks * contextTokens;
}

/** Likely input tokens, at most the bound. */
export function estimateTranscriptionInput(facts: TranscriptionFacts, model: ModelTokens): number {
  const { likelySeconds, likelyReferenceSeconds, textBytes } = facts;
  const tokens = (likelySeconds + likelyReferenceSeconds) * LIKELY_TOKENS_PER_SECOND + estimateTokens(textBytes);
  return Math.min(boundTranscriptionInput(facts, model), tokens);
}

/** `chunking_strategy`, or its parts in brackets. */
function isChunked(fields: JsonRecord): boolean {
  return Object.keys(fields).some((name) => pathSegments(name).some((part) => foldName(part) === 'chunking_strategy'));
}

const REFERENCES = 'known_speaker_references';
const DATA_URL = /^data:[^,]{0,256};base64,/i;

function isReference({ name }: FormPart): boolean {
  return foldName(pathSegments(name)[0] ?? '') === REFERENCES;
}

/** Of a file, or of one in a data URL. */
function referenceLength(bytes: Buffer, part: FormPart): AudioLength {
  const content = bytes.subarray(part.start, part.end);
  const { most, likely } = audioLength(part.filename === undefined ? dataIn(content) : content);
  return { most: Math.max(most, Math.ceil(content.length / LEAST_BYTES_PER_SECOND)), likely };
}

/** What decoders read in two ways is refused. */
function dataIn(content: Buffer): Buffer {
  const [head] = DATA_URL.exec(content.toString('latin1', 0, 300)) ?? [];
  const text = content.toString('latin1', head?.length);
  const data = Buffer.from(text, 'base64');
  if (head === undefined || data.toString('base64') !== text)
    throw new RequestFault(
      'invalid_request',
      `Each item of "${REFERENCES}" must be a data URL of audio in base64.`,
      `${REFERENCES}[]`,
    );
  return data;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
