/** Reads content, which is a text or a list of parts. */
import type { ContentPart, ImagePart, MediaSource, TextPart } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import { audioSource, filePart, urlSource } from '../media-source.ts';
import {
  AUDIO,
  AUDIO_PART,
  FILE,
  FILE_PART,
  IMAGE_PART,
  IMAGE_URL,
  PARTS,
  REFUSAL_PART,
  TEXT_PART,
  VIDEO_PART,
  VIDEO_URL,
} from './table.ts';

type AssistantText = TextPart | { readonly type: 'Refusal'; readonly text: string; readonly path: string };
type PartReader<Part> = (part: JsonRecord, path: string, unread: UnreadField[]) => readonly Part[];

/** Of a user, or of a tool's result. */
export function readContent(content: unknown, param: string, unread: UnreadField[]): readonly ContentPart[] {
  return readParts(content, param, (part, path) => readContentPart(part, path, unread));
}

/** Content of which only text is allowed. */
export function readTexts(content: unknown, param: string, unread: UnreadField[]): readonly TextPart[] {
  return readParts(content, param, (part, path) => {
    if (part['type'] === 'text') return readText(part, path, unread);
    return notText(path, unread);
  });
}

export function readAssistantTexts(content: unknown, param: string, unread: UnreadField[]): readonly AssistantText[] {
  return readParts(content, param, (part, path): readonly AssistantText[] => {
    if (part['type'] === 'text') return readText(part, path, unread);
    return part['type'] === 'refusal' ? readRefusal(part, path, unread) : notText(path, unread);
  });
}

function notText(path: string, unread: UnreadField[]): readonly never[] {
  unread.push({ path: `${path}.type`, handling: 'Refused', why: 'only text may stand here' });
  return [];
}

/** The pictures of an earlier response, as OpenRouter writes them. */
export function readImages(images: unknown, param: string, unread: UnreadField[]): readonly ImagePart[] {
  return itemsOf(images).flatMap((image, index) =>
    isRecord(image) ? readImage(image, `${param}[${index}]`, unread) : [],
  );
}

/** An empty text is none. */
function readParts<Part>(
  content: unknown,
  param: string,
  read: (part: JsonRecord, path: string) => readonly Part[],
): readonly (Part | TextPart)[] {
  if (!isGiven(content) || content === '') return [];
  if (typeof content === 'string') return [{ type: 'Text', text: content, path: param }];
  if (!Array.isArray(content)) throw malformed(param, 'a string or a list of parts');
  return itemsOf(content).flatMap((part, index) => {
    const path = `${param}[${index}]`;
    if (!isRecord(part)) throw malformed(path, 'an object');
    return read(part, path);
  });
}

const READERS: Readonly<Record<NonNullable<typeof PARTS.converted>, PartReader<ContentPart>>> = {
  text: readText,
  refusal: (part, path, unread) =>
    readRefusal(part, path, unread).map(({ text }) => ({ type: 'Text' as const, text, path })),
  image_url: readImage,
  input_audio: readAudio,
  video_url: readVideo,
  file: readFile,
};

function readContentPart(part: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const kind = kindOf(PARTS, part['type'], { param: `${path}.type`, unread });
  return kind === undefined ? [] : READERS[kind](part, path, unread);
}

function readText(part: JsonRecord, path: string, unread: UnreadField[]): readonly TextPart[] {
  const { text, cache_control: control } = readFields(TEXT_PART, part, { param: path, unread });
  return textOf(text) === undefined ? [] : [{ type: 'Text', text: stringOf(text), cache: cacheMark(control), path }];
}

function readRefusal(part: JsonRecord, path: string, unread: UnreadField[]): readonly AssistantText[] {
  const text = textOf(readFields(REFUSAL_PART, part, { param: path, unread }).refusal);
  return text === undefined ? [] : [{ type: 'Refusal', text, path }];
}

function readImage(part: JsonRecord, path: string, unread: UnreadField[]): readonly ImagePart[] {
  const { image_url: image, cache_control: control } = readFields(IMAGE_PART, part, { param: path, unread });
  const param = `${path}.image_url`;
  const { url, detail } = isRecord(image)
    ? readFields(IMAGE_URL, image, { param, unread })
    : { url: image, detail: undefined };
  const source = urlSource(url, `${param}.url`);
  return [{ type: 'Image', source, detail: textOf(detail), cache: cacheMark(control), path: param }];
}

function readAudio(part: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const { input_audio: audio, cache_control: control } = readFields(AUDIO_PART, part, { param: path, unread });
  const param = `${path}.input_audio`;
  if (!isRecord(audio)) throw malformed(param, 'an object');
  const { data, format } = readFields(AUDIO, audio, { param, unread });
  return [{ type: 'Audio', source: audioSource(data, format, param), cache: cacheMark(control), path: param }];
}

function readVideo(part: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const { video_url: video, cache_control: control } = readFields(VIDEO_PART, part, { param: path, unread });
  const param = `${path}.video_url`;
  const url = isRecord(video) ? readFields(VIDEO_URL, video, { param, unread }).url : video;
  return [{ type: 'Video', source: urlSource(url, `${param}.url`), cache: cacheMark(control), path: param }];
}

function readFile(part: JsonRecord, path: string, unread: UnreadField[]): readonly ContentPart[] {
  const { file, cache_control: control } = readFields(FILE_PART, part, { param: path, unread });
  const param = `${path}.file`;
  if (!isRecord(file)) throw malformed(param, 'an object');
  const { file_data: given, filename, file_id: id } = readFields(FILE, file, { param, unread });
  const fileId = textOf(id);
  const source: MediaSource =
    !isGiven(given) && fileId !== undefined
      ? { type: 'File', id: fileId }
      : urlSource(given, `${param}.file_data`, 'a data URL in base64');
  return [filePart(source, { title: textOf(filename), cache: cacheMark(control), path: param })];
}
