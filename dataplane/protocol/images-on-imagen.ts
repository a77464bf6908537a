/** Images by a text: OpenAI client, Imagen at the Gemini API and at Vertex, which makes them by a method of its own. */
import type { Converter, RequestPlan, UpstreamBody } from './converter.ts';
import { settleUnread } from './conversation/take.ts';
import { DroppedFields } from './dropped-fields.ts';
import { FailedResponse } from './failed-response.ts';
import { converted, dropped, objectTable, omitted, readFields, refused } from './field-table.ts';
import type { UnreadField } from './field-table.ts';
import { isGiven, isRecord, itemsOf, readCount, stringOf, textOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { readGeminiStreamError } from './gemini/errors.ts';
import { imageConfigOf } from './image-size.ts';
import { parseObject, writeJson } from './json-value.ts';
import { isErrorObject } from './provider-errors.ts';
import { modelPath } from './providers/gemini/model-path.ts';
import { malformed, unsupported } from './unsupported.ts';
import { UNREPORTED_USAGE } from './usage.ts';

const NAME = 'Imagen';
const NO_PICTURES = 'Imagen makes pictures of a text only';

export const REQUEST = objectTable('Request', {
  model: converted("the model's name at the provider"),
  prompt: converted('the `prompt` of the instance'),
  n: converted('`sampleCount`, at most 8; without it one image'),
  size: converted('the nearest `aspectRatio`, and for 2K `sampleImageSize`; 4K and 512 are refused'),
  output_format: converted('`outputOptions.mimeType`; `webp` is refused'),
  output_compression: converted('`outputOptions.compressionQuality`'),
  user: dropped('Imagen keeps no users'),
  moderation: dropped('the provider moderates by its own rules'),
  quality: omitted('there is no such setting', ['auto', 'standard']),
  style: omitted('there is no such setting'),
  partial_images: omitted('there are no partial images', [0]),
  input_fidelity: omitted('there is no such setting'),
  stream: refused('it makes no streams', [false]),
  background: refused('pictures have a background', ['auto', 'opaque']),
  response_format: refused('pictures come as data, `b64_json`', ['b64_json']),
  image: refused(NO_PICTURES),
  images: refused(NO_PICTURES),
  mask: refused(NO_PICTURES),
});

/** Of images whose size is not said. */
const DEFAULT_SIZE = '1K';
const SHAPES = ['1:1', '3:4', '4:3', '9:16', '16:9'] as const;
const MOST_IMAGES = 8;
const FORMATS: Readonly<Partial<Record<string, string>>> = { png: 'image/png', jpeg: 'image/jpeg', jpg: 'image/jpeg' };

export const imagesOnImagen: Converter = {
  client: 'OpenAI',
  upstream: 'Gemini',
  api: 'Imagen',
  request: writeRequest,
  response: (body, answer) => {
    const response = parseObject(body);
    if (isErrorObject(response)) throw new FailedResponse(readGeminiStreamError(response));
    const { predictions } = response;
    // a response without any says nothing where all were filtered
    if (!Array.isArray(predictions) && Object.keys(response).length > 0)
      throw new SyntaxError('the response holds no images');
    const entries = itemsOf(predictions).filter(isRecord);
    const pictures = entries.filter((entry) => textOf(entry['bytesBase64Encoded']) !== undefined);
    const size = answer?.notes?.defaultSize;
    const written = writePictures(pictures, answer?.createdSeconds ?? 0);
    const refusal = pictures.length === 0 ? { refusal: refusalIn(entries) } : {};
    return {
      body: Buffer.from(writeJson({ ...written, ...refusal })),
      meter: {
        reported: { ...UNREPORTED_USAGE, input: 0, output: 0 },
        final: true,
        outputBytes: 0,
        images: pictures.length,
        ...(size !== undefined && { served: { size } }),
      },
    };
  },
  stream: () => {
    throw new Error('images of Imagen are not streamed');
  },
};

function writeRequest(_body: Uint8Array, parsed: JsonRecord, { upstreamModel }: RequestPlan): UpstreamBody {
  const unread: UnreadField[] = [];
  const dropped = new DroppedFields();
  const request = readFields(REQUEST, parsed, { param: '', unread });
  settleUnread({ unread }, { provider: NAME, dropped });
  const size = readSize(request.size);
  const body = {
    instances: [{ prompt: stringOf(request.prompt) }],
    parameters: {
      // without a number it would make four
      sampleCount: readImages(request.n),
      ...(size !== undefined && writeSize(size)),
      ...writeOptions(request),
      includeRaiReason: true,
    },
  };
  return {
    path: modelPath(upstreamModel, 'predict'),
    body: Buffer.from(writeJson(body)),
    dropped: dropped.params,
    ...(size === undefined && { notes: { defaultSize: DEFAULT_SIZE } }),
  };
}

function readImages(given: unknown): number {
  const images = readCount(given, 'n', [1, Number.MAX_SAFE_INTEGER]) ?? 1;
  if (images > MOST_IMAGES) throw unsupported('n', NAME, `it makes at most ${MOST_IMAGES} images`);
  return images;
}

/** Undefined: that is left to the model. */
function readSize(given: unknown): string | undefined {
  const size = textOf(given);
  return size?.toLowerCase() === 'auto' ? undefined : size;
}

/** 1K is what all models make; those before Imagen 4 do not know its name. */
function writeSize(size: string): JsonRecord {
  const config = imageConfigOf(size, SHAPES);
  if (!config) throw malformed('size', 'a width and a height (1024x1024), 1K, 2K or auto');
  const { shape, resolution } = config;
  if (resolution !== '1K' && resolution !== '2K') throw unsupported('size', NAME, 'it makes pictures of 1K and 2K');
  return {
    ...(shape !== undefined && { aspectRatio: shape }),
    ...(resolution === '2K' && { sampleImageSize: resolution }),
  };
}

function writeOptions({ output_format: format, output_compression: quality }: JsonRecord): JsonRecord {
  const mimeType = isGiven(format) ? FORMATS[stringOf(format).toLowerCase()] : undefined;
  if (isGiven(format) && mimeType === undefined) throw unsupported('output_format', NAME, 'it makes png and jpeg');
  const compressionQuality = readCount(quality, 'output_compression', [0, 100]);
  if (mimeType === undefined && compressionQuality === undefined) return {};
  return {
    outputOptions: {
      ...(mimeType !== undefined && { mimeType }),
      ...(compressionQuality !== undefined && { compressionQuality }),
    },
  };
}

function writePictures(pictures: readonly JsonRecord[], createdSeconds: number): JsonRecord {
  const type = textOf(pictures[0]?.['mimeType']);
  return {
    created: createdSeconds,
    data: pictures.map(({ bytesBase64Encoded: data, prompt }) => ({
      b64_json: data,
      // Imagen may have written a better prompt
      ...(textOf(prompt) !== undefined && { revised_prompt: prompt }),
    })),
    ...(type?.startsWith('image/') === true && { output_format: type.slice('image/'.length) }),
  };
}

/** Why there is no picture. */
function refusalIn(entries: readonly JsonRecord[]): string {
  const reason = entries.map((entry) => textOf(entry['raiFilteredReason'])).find((each) => each !== undefined);
  return reason ?? 'The provider filtered all images that the model made of this prompt.';
}
