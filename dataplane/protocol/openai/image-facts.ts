/** Facts of requests for images: of generations, and of edits and variations, which begin with pictures. */
import { RequestFault } from '../call-facts.ts';
import type { UnboundedUse } from '../call-facts.ts';
import { estimateTokens, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { readCount, readFlag, readModel, utf8Bytes } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { imageConfigOf } from '../image-size.ts';
import {
  findField,
  FORMAT_FIELDS,
  FORMAT_SETTINGS,
  locateFields,
  QUALITY_FIELDS,
  readAttribute,
  readStoredFiles,
  SIZE_FIELDS,
} from './generation-fields.ts';

export interface ImagesFacts {
  readonly model: string;
  readonly stream: boolean;
  /** Of its text, which is all that a model reads beside pictures. */
  readonly promptBytes: number;
  /** Number of images, by which the price is multiplied. */
  readonly generations: number;
  /** The field with an input image, which compatible providers accept in generations too; undefined: none. */
  readonly imageParam: string | undefined;
  readonly unbounded: readonly UnboundedUse[];
  readonly made: ImageAttributes;
}

/** Undefined: the provider chooses it, or another field may. */
export interface ImageAttributes {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  /** The resolution that a conversion to Google's protocol makes of the size; absent: none. */
  readonly convertedSize?: string | undefined;
}

/** The API's limit of `n`. */
const MAX_IMAGES = 10;

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readImagesFacts(fields: JsonRecord): ImagesFacts {
  checkPrompt(fields);
  return readImages(fields);
}

/** From a JSON body or a form's fields. Throws RequestFault like readImagesFacts, and where there is no picture. */
export function readImageEditFacts(fields: JsonRecord): ImagesFacts {
  checkPrompt(fields);
  return withPicture(readImages(fields));
}

/** The same for variations, which have no prompt. */
export function readImageVariationFacts(fields: JsonRecord): ImagesFacts {
  return withPicture(readImages(fields));
}

/** Upper bound of input tokens, where a model has any. What pictures come to is bounded by its context alone. */
export function boundImagesInput(facts: ImagesFacts, { contextTokens }: ModelTokens): number {
  return facts.imageParam === undefined ? Math.min(contextTokens, facts.promptBytes + TEMPLATE_TOKENS) : contextTokens;
}

/** Likely input tokens, at most the bound; several pictures count as one. */
export function estimateImagesInput(facts: ImagesFacts, model: ModelTokens): number {
  const pictures = facts.imageParam === undefined ? 0 : model.imageTokens;
  return Math.min(boundImagesInput(facts, model), estimateTokens(facts.promptBytes) + pictures);
}

function readImages(fields: JsonRecord): ImagesFacts {
  return {
    model: readModel(fields),
    stream: readFlag(fields['stream'], 'stream'),
    promptBytes: utf8Bytes(fields['prompt']),
    generations: readCount(fields['n'], 'n', [1, MAX_IMAGES]) ?? 1,
    imageParam: findImageField(fields),
    unbounded: readStoredFiles(fields),
    made: readMade(fields),
  };
}

function checkPrompt({ prompt }: JsonRecord): void {
  if (typeof prompt !== 'string' || prompt === '')
    throw new RequestFault('invalid_request', 'The field "prompt" must be a text.', 'prompt');
}

function withPicture(facts: ImagesFacts): ImagesFacts {
  if (facts.imageParam !== undefined) return facts;
  throw new RequestFault('invalid_request', 'The field "image" must be a picture.', 'image');
}

/** A size or quality that may be in another field is not known. */
function readMade(fields: JsonRecord): ImageAttributes {
  const { size, quality } = imageAttributes(fields);
  return {
    ...(findField(fields, SIZE_FIELDS, 'size') === undefined && { size, ...convertedSize(size) }),
    ...(findField(fields, QUALITY_FIELDS, 'quality') === undefined && { quality }),
  };
}

function convertedSize(size: string | undefined): { readonly convertedSize?: string } {
  const resolution = size === undefined ? undefined : imageConfigOf(size)?.resolution;
  return resolution === undefined ? {} : { convertedSize: resolution };
}

/** Of one picture. Others cost more: an SVG is written by a second model, and a GIF has several pictures. */
const PICTURE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'jpg', 'webp']);

/** Fields that ask for a format which costs more than one picture of its size and quality, whose price has no bound. */
export function findFormatFields(fields: JsonRecord): readonly string[] {
  const formats = locateFields(fields, FORMAT_FIELDS).filter(({ value }) => !isPictureFormat(value));
  return [...formats, ...locateFields(fields, FORMAT_SETTINGS)].map((located) => located.path);
}

/** `png` or `image/png`. */
function isPictureFormat(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    PICTURE_FORMATS.has(
      value
        .trim()
        .toLowerCase()
        .replace(/^image\//, ''),
    )
  );
}

/** As a request asks for them, or a response names them. */
export function imageAttributes({ size, quality }: JsonRecord): ImageAttributes {
  return { size: readAttribute(size), quality: readAttribute(quality) };
}
