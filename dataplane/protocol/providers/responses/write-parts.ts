/** Writes parts of users and of tools' results as input content. */
import type { ContentPart, DocumentPart, ImagePart } from '../../conversation/request.ts';
import { searchResultText } from '../../conversation/texts.ts';
import type { JsonRecord } from '../../fields.ts';
import { unsupported } from '../../unsupported.ts';
import { dataUrl, documentHead, fileName, imageUrl, NAME, OTHER_FILE } from '../openai-parts.ts';

/** Throws RequestFault for what the API has no content for. */
export function writePart(part: ContentPart): readonly JsonRecord[] {
  switch (part.type) {
    case 'Text':
      return [inputText(part.text)];
    case 'Image':
      return [writeImage(part)];
    case 'Audio':
      throw unsupported(part.path, NAME, 'Responses take no audio');
    case 'Video':
      throw unsupported(part.path, NAME, 'Responses take no video');
    case 'Document':
      return writeDocument(part);
    case 'SearchResult':
      return [inputText(searchResultText(part))];
  }
}

export function inputText(text: string): JsonRecord {
  return { type: 'input_text', text };
}

function writeImage({ source, detail, path }: ImagePart): JsonRecord {
  return { type: 'input_image', image_url: imageUrl(source, path), detail: detail ?? 'auto' };
}

function writeDocument(document: DocumentPart): readonly JsonRecord[] {
  const { source, context, path } = document;
  const about = context === undefined ? [] : [inputText(context)];
  switch (source.type) {
    case 'Data':
      return [...about, { type: 'input_file', filename: fileName(document), file_data: dataUrl(source) }];
    case 'Url':
      return [...about, { type: 'input_file', file_url: source.url }];
    case 'File':
      throw unsupported(path, NAME, OTHER_FILE);
    case 'Text':
      return [...documentHead(document).map(inputText), inputText(source.text)];
    case 'Parts':
      return [...documentHead(document).map(inputText), ...source.parts.flatMap(writePart)];
  }
}
