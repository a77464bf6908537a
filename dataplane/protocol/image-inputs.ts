/**
 * Finds images wherever a provider might accept one, because a text-only model must not be given any. A value is
 * searched to its depth for an image by its type, by its key, or by its data.
 */
import { isRecord, stringOf } from './fields.ts';
import { foldName } from './folded-names.ts';
import { pathSegments } from './form-names.ts';

interface Located {
  readonly value: unknown;
  readonly param: string;
}

/** Keys under which providers accept images. */
const IMAGE_KEY = new RegExp(
  `^(?:${['image|images|image_url|image_urls|image_base64|init_image|input_image|input_reference|reference_images?', 'subject_reference|mask|first_frame(?:_image|_url)?|last_frame(?:_image|_url)?|start_image|end_image|image_tail', 'img_url|images_list'].join('|')})$`,
);
/** A data URL, or the start of a PNG, JPEG, GIF or WebP in base64. */
const IMAGE_DATA = /^(?:data:image\/|iVBORw0KGgo|\/9j\/|R0lGOD[lh]|UklGR.{10,20}V0VCU)/i;

/**
 * The path of the first image within a value; undefined: there is none. Iterative, because clients choose the depth.
 * @param searched objects that an earlier search has seen: a caller that searches nested values passes one set, so that
 *   each object is searched once.
 */
export function findImage(value: unknown, param: string, searched = new Set<object>()): string | undefined {
  const pending: Located[] = [{ value, param }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (typeof next.value !== 'object' || next.value === null || searched.has(next.value)) continue;
    searched.add(next.value);
    if (isImage(next.value)) return next.param;
    pushMembers(pending, next);
  }
  return undefined;
}

/** The first top-level field of a request that has an image's name, also along a path, or holds an image. */
export function findImageField(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(fields)) {
    if (holdsSomething(value) && isImageName(name)) return name;
    if (typeof value !== 'string' && findImage(value, name) !== undefined) return name;
  }
  return undefined;
}

/** `images[0]` and `parameters[image_url]` are, as in a form. */
function isImageName(name: string): boolean {
  return pathSegments(name).some((segment) => IMAGE_KEY.test(foldName(segment)));
}

/** Whether a text is an image in base64 or a data URL of one. */
export function isImageData(value: unknown): boolean {
  return typeof value === 'string' && IMAGE_DATA.test(value.slice(0, 64));
}

function isImage(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type } = value;
  if (/(?:^|_)(?:image|image_url|screenshot)$/.test(stringOf(type).toLowerCase())) return true;
  if (
    /^image\//i.test(stringOf(value['media_type'] ?? value['mime_type'] ?? value['mimeType'] ?? value['contentType']))
  )
    return true;
  return Object.entries(value).some(
    ([key, member]) =>
      (IMAGE_KEY.test(key) && holdsSomething(member)) ||
      (/(?:^|_)(?:data|url|result)$/.test(key) && isImageData(member)),
  );
}

/** Numbers and booleans under such a name are settings. */
function holdsSomething(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  return Array.isArray(value) ? value.length > 0 : typeof value === 'object' && value !== null;
}

/** In reverse order, so that the first is popped first. */
function pushMembers(pending: Located[], { value, param }: Located): void {
  if (typeof value !== 'object' || value === null) return;
  const members: [string, unknown][] = Array.isArray(value)
    ? value.map((item: unknown, index) => [`${param}[${index}]`, item])
    : Object.entries(value).map(([key, member]) => [`${param}.${key}`, member]);
  for (let index = members.length - 1; index >= 0; index--) {
    const [path, member] = members[index] ?? ['', undefined];
    if (typeof member === 'object' && member !== null) pending.push({ value: member, param: path });
  }
}
