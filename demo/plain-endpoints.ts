/** The demo provider's endpoints besides chat: embeddings, images, the list of models, token counts. */
import { createHash } from 'node:crypto';
import { parseAnthropic } from './anthropic.ts';
import { picture } from './picture.ts';
import { BadRequest, optionalCount, requiredText } from './prompt.ts';
import type { Json } from './prompt.ts';
import { countTokens } from './tokens.ts';

const CREATED_SECONDS = 1_735_689_600;
const DIMENSIONS = 64;
const MOST_IMAGES = 10;
const MOST_PARTIAL_IMAGES = 3;
/** The number of tokens of one picture. */
const IMAGE_TOKENS = 256;
const MODELS = [
  'gpt-4o',
  'gpt-4o-mini',
  'claude-sonnet-4-6',
  'claude-haiku-4-5',
  'text-embedding-3-small',
  'flux-1.1-pro',
  'tts-1',
  'whisper-1',
] as const;

/** POST /v1/embeddings: vectors of length 1 that are derived from the text. */
export function embeddings(body: Json): unknown {
  const model = requiredText(body, 'model');
  const inputs = inputsOf(body['input']);
  const dimensions = optionalCount(body, 'dimensions') ?? DIMENSIONS;
  const encode =
    body['encoding_format'] === 'base64'
      ? (vector: Float32Array): unknown => Buffer.from(vector.buffer).toString('base64')
      : (vector: Float32Array): unknown => [...vector];
  const tokens = countTokens(inputs);
  return {
    object: 'list',
    model,
    data: inputs.map((text, index) => ({ object: 'embedding', index, embedding: encode(vectorOf(text, dimensions)) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** The inputs: a text, several texts, one list of token numbers, or several. */
function inputsOf(input: unknown): string[] {
  if (typeof input === 'string' && input !== '') return [input];
  if (!Array.isArray(input) || input.length === 0)
    throw new BadRequest('input', 'input is required: a string, or a list of strings or tokens');
  if (input.every((each) => typeof each === 'number')) return [input.join(' ')];
  return input.map((each: unknown) => (Array.isArray(each) ? each.join(' ') : String(each)));
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const values = Float32Array.from({ length: dimensions }, (_, index) => {
    const block = createHash('sha256')
      .update(`${Math.floor(index / 32)}:${text}`)
      .digest();
    return ((block[index % 32] ?? 0) - 127.5) / 127.5;
  });
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** What an endpoint makes pictures of: a text, or a text and pictures, or pictures. */
export type ImageKind = 'generation' | 'edit' | 'variation';

/** POST /v1/images/…: `n` small pictures, in base64 or by a URL of this provider. */
export function images(kind: ImageKind, body: Json, ownUrl: string): unknown {
  const prompt = subjectOf(kind, body);
  const count = optionalCount(body, 'n') ?? 1;
  if (count > MOST_IMAGES) throw new BadRequest('n', `n must be at most ${MOST_IMAGES}`);
  const data = Array.from({ length: count }, (_, index) => {
    const seed = seedOf(prompt, index);
    return body['response_format'] === 'url'
      ? { url: `${ownUrl}/pictures/${seed}.png` }
      : { b64_json: picture(seed).toString('base64') };
  });
  return { created: CREATED_SECONDS, data };
}

/** The same as a stream: as many partial pictures as requested, and the complete one. */
export function imageEvents(kind: Exclude<ImageKind, 'variation'>, body: Json): readonly string[] {
  const prompt = subjectOf(kind, body);
  const b64 = picture(seedOf(prompt, 0)).toString('base64');
  const event = (type: string, fields: Json): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: b64, created_at: CREATED_SECONDS, ...fields })}\n\n`;
  const partial = Math.min(Number(body['partial_images'] ?? 0), MOST_PARTIAL_IMAGES);
  const tokens = countTokens([prompt]);
  return [
    ...Array.from({ length: partial }, (_, index) =>
      event(`image_${kind}.partial_image`, { partial_image_index: index }),
    ),
    event(`image_${kind}.completed`, {
      usage: { input_tokens: tokens, output_tokens: IMAGE_TOKENS, total_tokens: tokens + IMAGE_TOKENS },
    }),
  ];
}

function subjectOf(kind: ImageKind, body: Json): string {
  if (kind !== 'generation' && !PICTURES.some((name) => Object.hasOwn(body, name)))
    throw new BadRequest('image', 'image is required: a picture to begin with');
  return kind === 'variation' ? kind : requiredText(body, 'prompt');
}

/** Of a form, of a form with several, and of JSON. */
const PICTURES = ['image', 'image[]', 'images'] as const;

function seedOf(prompt: string, index: number): string {
  return createHash('sha256').update(`${index}:${prompt}`).digest('hex').slice(0, 16);
}

/** GET /v1/models, in the protocol of the client. */
export function models(forAnthropic: boolean): unknown {
  if (!forAnthropic)
    return {
      object: 'list',
      data: MODELS.map((id) => ({ id, object: 'model', created: CREATED_SECONDS, owned_by: 'demo' })),
    };
  const data = MODELS.map((id) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(CREATED_SECONDS * 1000).toISOString(),
  }));
  return { data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) };
}

/** POST /v1/messages/count_tokens. */
export function countedTokens(body: Json): unknown {
  const { texts, images: pictures, toolTexts } = parseAnthropic(body);
  return { input_tokens: countTokens([...texts, ...toolTexts], pictures) };
}
