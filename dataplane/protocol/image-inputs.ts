/**
 * Images in places that no table names: a text-only model is given none, wherever a provider would take one. A value is searched
 * to its depth for what is an image by its type, by the key that it stands under, or by its own data.
 */
import { isRecord, wordOf } from './fields.ts';

interface Placed {
  readonly value: unknown;
  readonly param: string;
}

/** Keys that providers take images under. */
const IMAGE_KEY = /^(?:image|images|image_url|image_urls|image_base64|init_image|input_image|input_reference|reference_images?|subject_reference|mask|first_frame(?:_image|_url)?|last_frame(?:_image|_url)?|start_image|end_image|image_tail|img_url|images_list)$/;
/** What a base64 text begins with where it is a PNG, JPEG, GIF or WebP. */
const IMAGE_DATA = /^(?:data:image\/|iVBORw0KGgo|\/9j\/|R0lGOD[lh]|UklGR.{10,20}V0VCU)/i;

/** The path of the first image within a value; undefined: there is none. Iterative, as the depth is the client's. */
export function findImage(value: unknown, param: string): string | undefined {
  const pending: Placed[] = [{ value, param }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (isImage(next.value)) return next.param;
    pushMembers(pending, next);
  }
  return undefined;
}

/** Of a request's own fields: only what is named after an image, or is one by its type. */
export function findImageField(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(fields)) {
    if (holdsSomething(value) && IMAGE_KEY.test(name.replace(/\[.*$/, ''))) return name;
    if (typeof value !== 'string' && findImage(value, name) !== undefined) return name;
  }
  return undefined;
}

/** Base64 or a data URL that begins as an image does. */
export function isImageData(value: unknown): boolean {
  return typeof value === 'string' && IMAGE_DATA.test(value.slice(0, 64));
}

function isImage(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type } = value;
  if (/(?:^|_)(?:image|image_url|screenshot)$/.test(wordOf(type).toLowerCase())) return true;
  if (/^image\//i.test(wordOf(value['media_type'] ?? value['mime_type'] ?? value['mimeType'] ?? value['contentType']))) return true;
  return Object.entries(value).some(([key, member]) => (IMAGE_KEY.test(key) && holdsSomething(member)) || (/(?:^|_)(?:data|url|result)$/.test(key) && isImageData(member)));
}

/** A number or a flag of such a name is a setting. */
function holdsSomething(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  return Array.isArray(value) ? value.length > 0 : typeof value === 'object' && value !== null;
}

/** In reverse, so that the first is found first. */
function pushMembers(pending: Placed[], { value, param }: Placed): void {
  if (typeof value !== 'object' || value === null) return;
  const members: [string, unknown][] = Array.isArray(value)
    ? value.map((item: unknown, index) => [`${param}[${index}]`, item])
    : Object.entries(value).map(([key, member]) => [`${param}.${key}`, member]);
  for (let index = members.length - 1; index >= 0; index--) {
    const [path, member] = members[index] ?? ['', undefined];
    if (typeof member === 'object' && member !== null) pending.push({ value: member, param: path });
  }
}
