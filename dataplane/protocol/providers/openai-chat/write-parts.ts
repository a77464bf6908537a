/** Writes parts of users and of tools' results as content parts. */
import type { ContentPart, DocumentPart, MediaSource } from '../../conversation/request.ts';
import { searchResultText } from '../../conversation/texts.ts';
import type { JsonRecord } from '../../fields.ts';
import { stringOf } from '../../fields.ts';
import { unsupported } from '../../unsupported.ts';
import { dataUrl, documentHead, fileName, imageUrl, NAME, OTHER_FILE } from '../openai-parts.ts';

const NO_FILE_URLS = 'chat completions take no files by URL';

/** Formats of `input_audio` by media type. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
};

/** Throws RequestFault for what the protocol has no part for. */
export function writePart(part: ContentPart): readonly JsonRecord[] {
  const at = part.path;
  switch (part.type) {
    case 'Text':
      return [textPart(part.text)];
    case 'Image': {
      const { source, detail } = part;
      return [{ type: 'image_url', image_url: { url: imageUrl(source, at), ...(detail !== undefined && { detail }) } }];
    }
    case 'Audio':
      return [{ type: 'input_audio', input_audio: writeAudio(part.source, at) }];
    case 'Video':
      throw unsupported(part.path, NAME, 'chat completions take no video');
    case 'Document':
      return writeDocument(part, at);
    case 'SearchResult':
      return [textPart(searchResultText(part))];
  }
}

export function isText(part: JsonRecord): boolean {
  return part['type'] === 'text';
}

/** A single text becomes a string, which every provider accepts. */
export function writeContent(parts: readonly JsonRecord[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isText(only) ? only['text'] : parts;
}

/** The texts among the parts. */
export function joinTexts(parts: readonly JsonRecord[]): string {
  return parts
    .filter(isText)
    .map((part) => stringOf(part['text']))
    .join('\n');
}

function textPart(text: string): JsonRecord {
  return { type: 'text', text };
}

function writeAudio(source: MediaSource, path: string): JsonRecord {
  const format = source.type === 'Data' ? AUDIO_FORMATS[source.mediaType] : undefined;
  if (source.type !== 'Data' || format === undefined)
    throw unsupported(path, NAME, 'chat completions take audio as wav or mp3 data');
  return { data: source.data, format };
}

function writeDocument(document: DocumentPart, path: string): readonly JsonRecord[] {
  const { source, context } = document;
  const about = context === undefined ? [] : [textPart(context)];
  switch (source.type) {
    case 'Data':
      return [...about, { type: 'file', file: { filename: fileName(document), file_data: dataUrl(source) } }];
    case 'Url':
      throw unsupported(path, NAME, NO_FILE_URLS);
    case 'File':
      throw unsupported(path, NAME, OTHER_FILE);
    case 'Text':
      return [...documentHead(document).map(textPart), textPart(source.text)];
    case 'Parts':
      return [...documentHead(document).map(textPart), ...source.parts.flatMap(writePart)];
  }
}
