/** Reads a request for images as a turn of the user that asks for a picture. */
import type { ImageConfig, ImagePart, Settings } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { imageConfigOf } from '../../image-size.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadRequest } from '../client.ts';
import { urlSource } from '../media-source.ts';
import { located } from '../settings.ts';
import { PICTURE, REQUEST } from './table.ts';
import type { ImageRequest } from './table.ts';

/** Throws RequestFault for a field that is missing or malformed. */
export function readRequest(given: JsonRecord): ReadRequest {
  const unread: UnreadField[] = [];
  const request = readFields(REQUEST, given, { param: '', unread });
  const text = { type: 'Text', text: stringOf(request.prompt), path: 'prompt' } as const;
  const turn = { role: 'User', parts: [text, ...readPictures(request, unread)], path: 'prompt' } as const;
  return { conversation: { turns: [turn], tools: [], settings: readSettings(request), unread } };
}

function readSettings(request: ImageRequest): Settings {
  return {
    modalities: { value: ['image'], path: 'model' },
    imageConfig: located(readSize(request.size), 'size'),
    user: located(textOf(request.user), 'user'),
  };
}

const PICTURES = ['image', 'image[]', 'images'] as const;

function readPictures(request: ImageRequest, unread: UnreadField[]): readonly ImagePart[] {
  return PICTURES.flatMap((field) => {
    const value: unknown = request[field];
    if (!isGiven(value)) return [];
    const several = Array.isArray(value);
    const given: readonly unknown[] = several ? value : [value];
    return given.flatMap((each, index) => readPicture(each, several ? `${field}[${index}]` : field, unread));
  });
}

/** A URL, or an object with one. */
function readPicture(given: unknown, path: string, unread: UnreadField[]): readonly ImagePart[] {
  if (!isRecord(given)) return [{ type: 'Image', source: urlSource(given, path), path }];
  const { image_url: url } = readFields(PICTURE, given, { param: path, unread });
  return isGiven(url) ? [{ type: 'Image', source: urlSource(url, `${path}.image_url`), path }] : [];
}

/** `1536x1024`, or a resolution. Undefined: the model chooses. */
function readSize(given: unknown): ImageConfig | undefined {
  const size = textOf(given);
  if (size === undefined || size.toLowerCase() === 'auto') return undefined;
  const config = imageConfigOf(size);
  if (!config) throw malformed('size', 'a width and a height (1024x1024), 1K, 2K, 4K or auto');
  return config;
}
