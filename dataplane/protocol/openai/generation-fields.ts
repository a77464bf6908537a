/**
 * Names of fields by which compatible providers take the size, the quality, the length or the format of what they
 * generate, or a file that they store. The gateway finds them at any depth of a body, and in the names of a form's
 * fields (`parameters[duration]`).
 */
import type { UnboundedUse } from '../call-facts.ts';
import { foldSpelling } from '../cost-fields.ts';
import type { JsonRecord } from '../fields.ts';
import { pathSegments } from '../form-names.ts';

export type FieldNames = ReadonlySet<string>;

/** In any spelling: `image_size`, `imageSize` and `image-size` are one. */
function fieldNames(names: readonly string[]): FieldNames {
  return new Set(names.map(foldSpelling));
}

export const SIZE_FIELDS = fieldNames([
  'size',
  'width',
  'height',
  'image_size',
  'video_size',
  'output_size',
  'resolution',
  'output_resolution',
  'aspect_ratio',
  'ratio',
  'dimension',
  'dimensions',
  'megapixels',
  'image_width',
  'image_height',
  'scale',
  'upscale',
  'upscale_factor',
  'hd',
  // may hold any of them
  'extra_body',
]);

/** Of a file that the provider stores. */
const FILE_FIELDS = fieldNames(['file_id', 'file_ids']);

/** By which a provider fetches audio itself. */
export const AUDIO_SOURCE_FIELDS = fieldNames([
  'url',
  'urls',
  'uri',
  'audio',
  'audio_url',
  'audio_urls',
  'audio_uri',
  'audio_file',
  'audio_data',
  'file_url',
  'file_urls',
  'file_uri',
  'media_url',
  'media_uri',
  'source_url',
  'input_url',
  'input_audio',
  'file_data',
  'audio_base64',
  'audio_content',
  'base64',
  'content',
  'source',
  'input',
  'link',
  'signed_url',
  'gcs_uri',
  'youtube_url',
]);

/** The format of a picture. */
export const FORMAT_FIELDS = fieldNames(['output_format']);

/** How an SVG is written, and how many pictures a GIF has. */
export const FORMAT_SETTINGS = fieldNames(['svg', 'frame_count']);

export const QUALITY_FIELDS = fieldNames([
  'quality',
  'image_quality',
  'video_quality',
  'output_quality',
  'hd',
  'extra_body',
]);

/** Some providers take a video's resolution as its quality. */
export const RESOLUTION_FIELDS: FieldNames = new Set([...SIZE_FIELDS, ...QUALITY_FIELDS]);

export const LENGTH_FIELDS = fieldNames([
  'seconds',
  'duration',
  'duration_seconds',
  'duration_secs',
  'duration_ms',
  'video_length',
  'video_duration',
  'length',
  'num_seconds',
  'n_seconds',
  'num_frames',
  'n_frames',
  'frame_count',
  'frames',
  'fps',
  'frame_rate',
  'frames_per_second',
  'extra_body',
  'parameters',
  'metadata',
]);

/** Longer ones are in no price, and records keep none. */
const ATTRIBUTE = /^[\x21-\x7e]{1,32}$/;

/** A size or quality as a request or response names it. Undefined: not known; `auto` leaves the choice to the provider. */
export function readAttribute(value: unknown): string | undefined {
  return typeof value === 'string' && ATTRIBUTE.test(value) && value.toLowerCase() !== 'auto' ? value : undefined;
}

/** A file that the provider stores belongs to the gateway's account, which all keys share. */
export function readStoredFiles(fields: JsonRecord): readonly UnboundedUse[] {
  const param = findField(fields, FILE_FIELDS);
  return param === undefined ? [] : [{ feature: 'FileReferences', param }];
}

/**
 * The path of a field of such a name; undefined: there is none.
 * @param read the top-level field that the gateway reads, if it reads one
 */
export function findField(fields: JsonRecord, names: FieldNames, read?: string): string | undefined {
  return locateFields(fields, names).find((located) => located.path !== read)?.path;
}

interface Located {
  readonly value: unknown;
  readonly path: string;
}

/** All fields of such names that are not null. Iterative, because clients choose the depth. */
export function* locateFields(fields: JsonRecord, names: FieldNames): Generator<Located, void, undefined> {
  const pending: Located[] = [{ value: fields, path: '' }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    for (const [name, value] of Object.entries(next.value)) {
      const located = { value, path: next.path === '' ? name : `${next.path}.${name}` };
      if (value === null) continue;
      if (pathSegments(name).some((segment) => names.has(foldSpelling(segment)))) yield located;
      else pending.push(located);
    }
  }
}
