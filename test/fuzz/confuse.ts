/** Gives a body a second reading: names that fold together, fields where some providers look for them, odd tools. */
import type { Random } from './random.ts';

type JsonObject = Record<string, unknown>;

/** Read by some provider, at some depth, in some spelling. */
const DEAR_FIELDS: readonly (readonly [string, unknown])[] = [
  ['seconds', '12'],
  ['duration', 12],
  ['duration_seconds', 12],
  ['video_length', '12'],
  ['size', '1792x1024'],
  ['image_size', '4096x4096'],
  ['resolution', '4k'],
  ['n', 8],
  ['model', 'dear-film-model'],
];
const PLACES = ['parameters', 'input', 'metadata', 'extra_body', 'options', 'generation_config'] as const;
const TOOLS: readonly JsonObject[] = [
  { googleSearch: {} },
  { google_search: {} },
  { urlContext: {} },
  { codeExecution: {} },
  { type: null, googleSearch: {} },
  { type: 'function', function: { name: 'f' }, googleSearch: {} },
  { type: 'function', function: { name: 'f' }, code_execution: {} },
  { type: 'custom', custom: { name: 'f' }, GoogleSearch: {} },
  { type: 'function', googleMaps: {} },
  { name: 'f', input_schema: { type: 'object' }, googleSearch: {} },
  { function: { name: 'f' } },
];
const PIXELS = 'data:image/png;base64,iVBORw0KGgo=';
const MEDIA: readonly (readonly [string, unknown])[] = [
  ['video_url', { url: 'https://x/y.mp4' }],
  ['video', ['https://x/y.mp4']],
  ['prompt_embeds', 'AAAA'],
  ['input_audio', { data: 'AAAA', format: 'wav' }],
  ['image_url', { url: PIXELS }],
  ['image', PIXELS],
  ['file', { file_data: 'AAAA' }],
];

const SIMPLE_TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const TEXTS = [{ type: 'text', text: 'a river' }];

/** Requests that pass as they are. */
export const SIMPLE_BODIES: readonly (readonly [path: string, body: JsonObject])[] = [
  ...['gpt-model', 'text-model', 'claude-model', 'tools-model'].flatMap((model): [string, JsonObject][] => [
    ['/v1/chat/completions', { model, max_tokens: 20, messages: [{ role: 'user', content: TEXTS }] }],
    [
      '/v1/chat/completions',
      { model, max_tokens: 20, messages: [{ role: 'user', content: 'x' }], tools: [SIMPLE_TOOL] },
    ],
    ['/v1/messages', { model, max_tokens: 20, messages: [{ role: 'user', content: TEXTS }] }],
    [
      '/v1/responses',
      { model, max_output_tokens: 20, input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }] },
    ],
  ]),
  ['/v1/images/generations', { model: 'sized-model', prompt: 'a river', size: '1024x1024' }],
  ['/v1/images/generations', { model: 'sized-model', prompt: 'a river', n: 2, size: '1024x1024' }],
  [
    '/v1/images/edits',
    { model: 'sketch-model', prompt: 'a river', images: [{ image_url: PIXELS }], n: 2, size: '1024x1024' },
  ],
  ['/v1/videos', { model: 'film-model', prompt: 'a river', seconds: '4' }],
  ['/v1/videos', { model: 'film-model', prompt: 'a river', seconds: '4', n: 2 }],
];

/** A changed copy of a JSON value. */
export function confuse(value: unknown, random: Random): unknown {
  const copy: unknown = structuredClone(value);
  const objects = [...objectsIn(copy)];
  const [top] = objects;
  if (!top) return copy;
  const some = random.pick(objects);
  switch (random.int(5)) {
    case 0:
      foldName(random.chance(0.5) ? top : some, random);
      break;
    case 1:
      addFolded(random.chance(0.7) ? top : some, random);
      break;
    case 2:
      addNested(random.chance(0.7) ? top : some, random);
      break;
    case 3:
      top['tools'] = [...(Array.isArray(top['tools']) ? (top['tools'] as unknown[]) : []), random.pick(TOOLS)];
      break;
    default:
      addMedia(objects, random);
  }
  return copy;
}

function* objectsIn(value: unknown): Generator<JsonObject> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as JsonObject;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

/** Another spelling that a reader which ignores case takes for the same name. */
export function folded(name: string, random: Random): string {
  const at = random.int(Math.max(1, name.length));
  const letter = name.charAt(at);
  switch (random.int(5)) {
    case 0:
      return name.toUpperCase();
    case 1:
      return name.replaceAll('s', '\u017f').replaceAll('k', '\u212a');
    case 2:
      return name.replace(/[a-z]/, (first) => String.fromCodePoint(0xfee0 + first.charCodeAt(0)));
    case 3:
      return name.replaceAll(/_([a-z])/g, (_all, next: string) => next.toUpperCase());
    default:
      return name.slice(0, at) + letter.toUpperCase() + name.slice(at + 1);
  }
}

function foldName(object: JsonObject, random: Random): void {
  const names = Object.keys(object);
  if (names.length === 0) return;
  const name = random.pick(names);
  const { [name]: value } = object;
  delete object[name];
  object[folded(name, random)] = value;
}

function addFolded(object: JsonObject, random: Random): void {
  const [name, value] = random.pick([...DEAR_FIELDS, ...MEDIA]);
  object[folded(name, random)] = value;
}

function addNested(object: JsonObject, random: Random): void {
  const [name, value] = random.pick(DEAR_FIELDS);
  const named = { [random.chance(0.3) ? folded(name, random) : name]: value };
  const place = random.pick(PLACES);
  object[place] = random.chance(0.3) ? [named] : random.chance(0.3) ? { [random.pick(PLACES)]: named } : named;
}

function addMedia(objects: readonly JsonObject[], random: Random): void {
  const parts = objects.filter(({ type, role }) => type !== undefined || role !== undefined);
  if (parts.length === 0) return;
  const [name, value] = random.pick(MEDIA);
  random.pick(parts)[random.chance(0.2) ? folded(name, random) : name] = value;
}
