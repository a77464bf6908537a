/** Reads content of messages and of calls' outputs, which is a text or a list of parts. */
import type { ContentPart, ImagePart, MediaSource, TextPart } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import { audioSource, filePart, urlSource } from '../media-source.ts';
import { AUDIO, AUDIO_PART, FILE_PART, IMAGE_PART, PARTS, REFUSAL_PART, TEXT_PART } from './table.ts';

type PartKind = NonNullable<typeof PARTS.converted>;
type PartReader = (part: JsonRecord, path: string, unread: UnreadField[]) => ContentPart | undefined;

/** A piece of a message that holds text only. */
export interface MessageText {
  readonly isRefusal: boolean;
  readonly text: string;
}

/** Of a user, or of a call's output. Throws RequestFault where it is malformed. */
export function readContent(content: unknown, param: string, unread: UnreadField[]): readonly ContentPart[] {
  return readParts(content, param, (part, path) => {
    const kind = kindOf(PARTS, part['type'], { param: `${path}.type`, unread });
    return kind && READERS[kind](part, path, unread);
  });
}

/** Content of which only text is allowed; texts that follow each other are joined, with this between them. */
export function readTexts(
  content: unknown,
  { param, separator }: { readonly param: string; readonly separator: string },
  unread: UnreadField[],
): readonly MessageText[] {
  const texts: MessageText[] = [];
  for (const text of readParts(content, param, (part, path) => readTextOnly(part, path, unread))) {
    const isRefusal = text.type === 'Refusal';
    const last = texts.at(-1);
    if (last?.isRefusal === isRefusal)
      texts[texts.length - 1] = { isRefusal, text: `${last.text}${separator}${text.text}` };
    else texts.push({ isRefusal, text: text.text });
  }
  return texts;
}

interface TextOnly {
  readonly type: 'Text' | 'Refusal';
  readonly text: string;
}

function readTextOnly(part: JsonRecord, path: string, unread: UnreadField[]): TextOnly | undefined {
  const kind = kindOf(PARTS, part['type'], { param: `${path}.type`, unread });
  if (kind === undefined) return undefined;
  const read = READERS[kind](part, path, unread);
  if (read?.type === 'Text') return { type: kind === 'refusal' ? 'Refusal' : 'Text', text: read.text };
  if (read) unread.push({ path: `${path}.type`, handling: 'Refused', why: 'only text may stand here' });
  return undefined;
}

function readParts<Part>(
  content: unknown,
  param: string,
  read: (part: JsonRecord, path: string) => Part | undefined,
): readonly (Part | TextPart)[] {
  if (!isGiven(content) || content === '') return [];
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  if (!Array.isArray(content)) throw malformed(param, 'a text or a list of parts');
  return itemsOf(content).flatMap((part, index) => {
    const path = `${param}[${index}]`;
    if (!isRecord(part)) throw malformed(path, 'an object');
    return read(part, path) ?? [];
  });
}

const READERS: Readonly<Record<PartKind, PartReader>> = {
  input_text: readText,
  output_text: readText,
  text: readText,
  refusal: (part, path, unread) => textPart(readFields(REFUSAL_PART, part, { param: path, unread }).refusal, path),
  input_image: readImage,
  input_audio: readAudio,
  input_file: readFile,
};

function readText(part: JsonRecord, path: string, unread: UnreadField[]): TextPart | undefined {
  return textPart(readFields(TEXT_PART, part, { param: path, unread }).text, path);
}

function textPart(text: unknown, path: string): TextPart | undefined {
  return textOf(text) === undefined ? undefined : { type: 'Text', text: stringOf(text), path };
}

/** Some clients nest the URL, as chat completions do. */
function readImage(part: JsonRecord, path: string, unread: UnreadField[]): ImagePart {
  const { image_url: given, detail, file_id: id } = readFields(IMAGE_PART, part, { param: path, unread });
  const kept = isGiven(given) ? undefined : keptFile(id);
  const param = `${path}.image_url`;
  return {
    type: 'Image',
    source: kept ?? urlSource(isRecord(given) ? given['url'] : given, param),
    detail: detail === 'original' ? 'high' : textOf(detail),
    path: kept ? `${path}.file_id` : param,
  };
}

function readAudio(part: JsonRecord, path: string, unread: UnreadField[]): ContentPart {
  const { input_audio: audio } = readFields(AUDIO_PART, part, { param: path, unread });
  const param = `${path}.input_audio`;
  if (!isRecord(audio)) throw malformed(param, 'an object');
  const { data, format } = readFields(AUDIO, audio, { param, unread });
  return { type: 'Audio', source: audioSource(data, format, param), path: param };
}

function readFile(part: JsonRecord, path: string, unread: UnreadField[]): ContentPart {
  const {
    file_data: data,
    file_url: url,
    file_id: id,
    filename,
  } = readFields(FILE_PART, part, { param: path, unread });
  const title = textOf(filename);
  if (textOf(data) !== undefined) {
    const param = `${path}.file_data`;
    return filePart(urlSource(data, param, 'a data URL in base64'), { title, path: param });
  }
  const kept = isGiven(url) ? undefined : keptFile(id);
  if (kept) return filePart(kept, { title, path: `${path}.file_id` });
  const param = `${path}.${isGiven(url) ? 'file_url' : 'file_data'}`;
  return filePart(urlSource(url, param, isGiven(url) ? undefined : 'a data URL in base64'), { title, path: param });
}

function keptFile(id: unknown): MediaSource | undefined {
  const text = textOf(id);
  return text === undefined ? undefined : { type: 'File', id: text };
}
