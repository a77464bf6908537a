/**
 * A provider that reads a request as generously as any does: names in whatever case and spelling, lengths and sizes at
 * any depth and in the names of a form's fields, tools and media by their members. What it would do must be paid for,
 * or must not reach it.
 */
import { jsonOf } from './honest.ts';
import type { ProviderRequest } from './provider.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What the provider would make of a request for images or videos. */
export interface Order {
  readonly models: readonly string[];
  readonly count: number;
  readonly seconds: number;
  /** Every size that it may find, in lower case. */
  readonly sizes: readonly string[];
}

const LENGTHS: ReadonlySet<string> = new Set(['seconds', 'duration', 'durationseconds', 'videolength', 'numseconds']);
const SIZES: ReadonlySet<string> = new Set(['size', 'imagesize', 'resolution', 'outputsize']);
/** Where a count of results is a setting; elsewhere `n` is a name like any other. */
const SETTINGS: ReadonlySet<string> = new Set(['parameters', 'extrabody', 'options', 'generationconfig']);
/** Members by which layers over other protocols run a tool, and types of tools that a provider runs. */
const PROVIDER_TOOLS =
  /^(?:googlesearch|googlesearchretrieval|urlcontext|codeexecution|googlemaps|websearch|codeinterpreter)/;
/** Members of a part that may hold more than any text beside them. */
const MEDIA: ReadonlySet<string> = new Set(['video', 'videourl', 'promptembeds', 'inputaudio', 'audiourl', 'file']);
const IMAGES: ReadonlySet<string> = new Set(['image', 'imageurl']);

/** `image_url`, `Image-URL`, and `imageUrl` with a long s or wide letters, are one. */
export function fold(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

/** The fields of a JSON body or of a form. Rejects where two readers of forms find different ones. */
export async function fieldsOf(request: ProviderRequest): Promise<Fields> {
  const type = headerOf(request, 'content-type');
  if (!/^multipart\/form-data/i.test(type)) return jsonOf(request);
  const form = await new Response(new Uint8Array(request.body), { headers: { 'content-type': type } }).formData();
  const strict = [...form].map(([name, value]) => [name, typeof value === 'string' ? value : 'a file']);
  const loose = looseParts(type, request.body.toString('utf8'));
  if (JSON.stringify(strict) !== JSON.stringify(loose))
    throw new Error(`a form with two readings: ${JSON.stringify(strict)} and ${JSON.stringify(loose)}`);
  return Object.fromEntries(
    strict.map(([name = '', value = '']) => [name, SETTINGS.has(fold(name)) ? parsedOr(value) : value]),
  );
}

/** Settings in a form may be JSON. */
function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function headerOf({ headers }: ProviderRequest, wanted: string): string {
  return headers.find(([name]) => name === wanted)?.[1] ?? '';
}

/** A reader by patterns: the last boundary that is named counts, in whatever case. */
function looseParts(type: string, body: string): (readonly [string, string])[] {
  const boundary = [...type.matchAll(/boundary="?([^";,\s]+)/gi)].at(-1)?.[1] ?? '';
  return body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [head = '', ...content] = part.split('\r\n\r\n');
      const name = /[; ]name="?([^";\r\n]*)/i.exec(head)?.[1] ?? '';
      return [name, /filename/i.test(head) ? 'a file' : content.join('\r\n\r\n').replace(/\r\n$/, '')];
    });
}

export function orderOf(fields: Fields): Order {
  const all = [...membersOf(fields)].filter(([, value]) => value !== null);
  const lengths = all.filter(([name]) => LENGTHS.has(name)).map(([, value]) => value);
  const counts = objectsWithSettings(fields).flatMap((object) =>
    Object.entries(object).flatMap(([name, value]) => (fold(name) === 'n' ? [value] : [])),
  );
  const paths = Object.entries(fields).flatMap(([name, value]) => (isCountPath(name) ? [value] : []));
  const own = Object.entries(fields).filter(([name]) => fold(name) === 'model');
  return {
    models: own.map(([, value]) => String(value)),
    count: Math.max(1, ...numbersIn([...counts, ...paths])),
    seconds: Math.max(0, ...numbersIn(lengths)),
    sizes: all.filter(([name]) => SIZES.has(name)).map(([, value]) => String(value).toLowerCase()),
  };
}

/** `parameters[n]` of a form. */
function isCountPath(name: string): boolean {
  const [first = '', ...rest] = name.split(/[[\].]/).filter((part) => part !== '');
  return SETTINGS.has(fold(first)) && rest.some((part) => fold(part) === 'n');
}

function numbersIn(values: readonly unknown[]): number[] {
  return values
    .map((value) => (typeof value === 'string' ? Number.parseFloat(value) : Number(value)))
    .filter((value) => Number.isFinite(value) && value > 0);
}

/** The request, and the objects in it in which providers look for settings. */
function objectsWithSettings(fields: Fields): readonly Fields[] {
  const nested = Object.entries(fields)
    .filter(([name]) => SETTINGS.has(fold(name)))
    .map(([, value]) => value)
    .filter((value): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value));
  return [fields, ...nested.flatMap(objectsWithSettings)];
}

/** Every member at every depth, by its folded name; of `parameters[duration]`, by the last part. */
function* membersOf(value: unknown): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    for (const part of name.split(/[[\].]/)) if (part !== '') yield [fold(part), inner];
    yield* membersOf(inner);
  }
}

/** The tools that a provider would run, where the client's should be. */
export function providerTools(fields: Fields): readonly string[] {
  return Object.entries(fields)
    .filter(([name, value]) => fold(name) === 'tools' && Array.isArray(value))
    .flatMap(([, tools]) => tools as unknown[])
    .filter((tool): tool is Fields => typeof tool === 'object' && tool !== null)
    .flatMap((tool) => [
      ...Object.keys(tool).filter((name) => tool[name] !== null && PROVIDER_TOOLS.test(fold(name))),
      ...(typeof tool['type'] === 'string' && PROVIDER_TOOLS.test(fold(tool['type'])) ? [tool['type']] : []),
    ]);
}

/** What a part of a message holds besides its text. */
export function mediaOf(part: object): 'media' | 'image' | undefined {
  const { type } = part as { readonly type?: unknown };
  const names = Object.entries(part)
    .filter(([, value]) => value !== null)
    .map(([name]) => fold(name));
  if (names.some((name) => MEDIA.has(name))) return 'media';
  const isImage = type === 'image' || type === 'image_url' || type === 'input_image';
  return isImage || names.some((name) => IMAGES.has(name)) ? 'image' : undefined;
}
