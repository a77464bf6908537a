/** Reads a request for images as a turn of the user that asks for a picture. */
import type { ImageConfig, ImagePart, Settings } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
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

/** The shapes that models make, by their ratio of width to height. */
const SHAPES = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;
/** The resolutions, by the longer side from which on a size is meant to be one. */
const RESOLUTIONS = [
  ['4K', 3840],
  ['2K', 2048],
  ['1K', 0],
] as const;

/** `1536x1024`, or a resolution. Undefined: the model chooses. */
function readSize(given: unknown): ImageConfig | undefined {
  const size = textOf(given);
  if (size === undefined || size.toLowerCase() === 'auto') return undefined;
  if (/^(?:512|[124]K)$/i.test(size)) return { resolution: size.toUpperCase() };
  const [width = 0, height = 0] = (/^(\d{2,5})x(\d{2,5})$/.exec(size) ?? []).slice(1).map(Number);
  if (width === 0 || height === 0) throw malformed('size', 'a width and a height (1024x1024), 1K, 2K, 4K or auto');
  const longer = Math.max(width, height);
  return {
    shape: nearestShape(width / height),
    resolution: RESOLUTIONS.find(([, from]) => longer >= from)?.[0],
  };
}

function nearestShape(ratio: number): string {
  const distance = (shape: string): number => {
    const [width = 1, height = 1] = itemsOf(shape.split(':')).map(Number);
    return Math.abs(Math.log(ratio / (width / height)));
  };
  return SHAPES.reduce((nearest, shape) => (distance(shape) < distance(nearest) ? shape : nearest));
}
