/**
 * Converts content parts of the Responses dialect to those of chat completions.
 */
import { readKind, readObject } from '../field-table.ts';
import { isGiven, isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { FILE_PART, IMAGE_PART, PARTS, REFUSAL_PART, TEXT_PART } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';

type Part = NonNullable<typeof PARTS.converted>;
type PartConverter = (part: JsonRecord, param: string, target: Target) => JsonRecord;

const CONVERTERS: Readonly<Record<Part, PartConverter>> = {
  input_text: convertText,
  output_text: convertText,
  text: convertText,
  refusal: (part, param, target) => textPart(readObject(REFUSAL_PART, part, location(target, param)).refusal),
  input_image: convertImage,
  input_file: convertFile,
};

/** `content`: a text or a list of parts. Throws RequestFault for a part that cannot be converted. */
export function convertParts(content: unknown, param: string, target: Target): readonly JsonRecord[] {
  if (!isGiven(content)) return [];
  if (typeof content === 'string') return [textPart(content)];
  if (!Array.isArray(content)) throw malformed(param, 'a text or a list of parts');
  const items: readonly unknown[] = content;
  return items.map((part, index) => {
    if (!isRecord(part)) throw malformed(`${param}[${index}]`, 'an object');
    const partParam = `${param}[${index}]`;
    return CONVERTERS[readKind(PARTS, part['type'], location(target, `${partParam}.type`))](part, partParam, target);
  });
}

/** All texts, joined. Throws RequestFault for a part that is not text. */
export function convertTexts(
  content: unknown,
  {
    param,
    separator,
  }: {
    readonly param: string;
    readonly separator: string;
  },
  target: Target,
): string {
  const parts = convertParts(content, param, target);
  const other = parts.findIndex((part) => !isText(part));
  if (other >= 0) throw unsupported(`${param}[${other}].type`, target.upstream, 'only text may stand here');
  return joinTexts(parts, separator);
}

export function isText(part: JsonRecord): boolean {
  return part['type'] === 'text';
}

/** The texts among the parts. */
export function joinTexts(parts: readonly JsonRecord[], separator = '\n'): string {
  return parts
    .filter(isText)
    .map((part) => stringOf(part['text']))
    .join(separator);
}

/** A single text becomes a string, which every provider accepts. */
export function writeParts(parts: readonly JsonRecord[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isText(only) ? only['text'] : parts;
}

function textPart(text: unknown): JsonRecord {
  return { type: 'text', text: stringOf(text) };
}

function convertText(part: JsonRecord, param: string, target: Target): JsonRecord {
  return textPart(readObject(TEXT_PART, part, location(target, param)).text);
}

function convertImage(part: JsonRecord, param: string, target: Target): JsonRecord {
  const { image_url: image, detail } = readObject(IMAGE_PART, part, location(target, param));
  // some clients nest the URL, as chat completions do
  const url = textOf(isRecord(image) ? image['url'] : image);
  if (url === undefined) throw malformed(`${param}.image_url`, 'a URL');
  const given = detail === 'original' ? 'high' : textOf(detail);
  return { type: 'image_url', image_url: { url, ...(given === undefined ? {} : { detail: given }) } };
}

function convertFile(part: JsonRecord, param: string, target: Target): JsonRecord {
  const { file_data: data, file_url: url, filename } = readObject(FILE_PART, part, location(target, param));
  if (textOf(data) === undefined && target.upstream === 'OpenAI' && isGiven(url))
    throw unsupported(`${param}.file_url`, target.upstream, 'chat completions take no files by URL');
  const source = textOf(data) ?? textOf(url);
  if (source === undefined) throw malformed(`${param}.file_data`, 'a data URL in base64');
  return { type: 'file', file: { filename: textOf(filename) ?? 'document.pdf', file_data: source } };
}
