/**
 * Embeddings of texts: OpenAI client, Gemini provider. The Gemini API takes several texts by batchEmbedContents; Vertex by
 * predict, and for models from gemini-embedding-2 on one text by embedContent.
 */
import type { Converter, Meter, RequestPlan, UpstreamBody } from './converter.ts';
import { FailedResponse } from './failed-response.ts';
import { converted, dropped, objectTable, readFields } from './field-table.ts';
import type { UnreadField } from './field-table.ts';
import { isGiven, isRecord, itemsOf } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { readGeminiStreamError } from './gemini/errors.ts';
import { readUsage } from './gemini/usage.ts';
import { parseObject, writeJson } from './json-value.ts';
import { readTokenInputs } from './openai/token-inputs.ts';
import { isErrorObject } from './provider-errors.ts';
import { modelPath } from './providers/gemini/model-path.ts';
import { malformed, unsupported } from './unsupported.ts';
import { readTokenCount, UNREPORTED_USAGE } from './usage.ts';

const NAME = 'Gemini';

export const REQUEST = objectTable('Request', {
  model: converted("the model's name at the provider"),
  input: converted('a content for each text; tokens are refused'),
  dimensions: converted('`outputDimensionality`'),
  encoding_format: converted('whether a vector is a list or base64'),
  user: dropped('Gemini keeps no users'),
});

export const embeddingsOnGemini: Converter = {
  client: 'OpenAI',
  upstream: NAME,
  request: writeRequest,
  response: (body, answer) => {
    const response = parseObject(body);
    if (isErrorObject(response)) throw new FailedResponse(readGeminiStreamError(response));
    const vectors = vectorsIn(response);
    if (!vectors) throw new SyntaxError('the response holds no embeddings');
    const meter = meterOf(response, vectors);
    const tokens = meter.reported.input ?? answer?.estimatedInputTokens ?? 0;
    const written = {
      object: 'list',
      data: vectors.map(({ values }, index) => ({
        object: 'embedding',
        index,
        embedding: answer?.notes?.vectorsInBase64 === true ? base64Of(values) : values,
      })),
      model: answer?.model ?? '',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
    return { body: Buffer.from(JSON.stringify(written)), meter };
  },
  stream: () => {
    throw new Error('embeddings are not streamed');
  },
};

function writeRequest(_body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const unread: UnreadField[] = [];
  const request = readFields(REQUEST, parsed, { param: '', unread });
  const [refused] = unread;
  if (refused) throw unsupported(refused.path, NAME, refused.why);
  const texts = readTokenInputs(request.input, 'input').map((text) => {
    if (typeof text === 'string') return text;
    throw unsupported('input', NAME, 'it has tokens of another vocabulary; send texts');
  });
  const { dimensions, encoding_format: format } = request;
  if (isGiven(dimensions) && typeof dimensions !== 'number') throw malformed('dimensions', 'a number');
  if (isGiven(format) && format !== 'float' && format !== 'base64')
    throw malformed('encoding_format', 'float or base64');
  return {
    ...writeTexts(texts, dimensions ?? undefined, plan),
    ...(format === 'base64' && { notes: { vectorsInBase64: true } }),
  };
}

function writeTexts(
  texts: readonly string[],
  outputDimensionality: unknown,
  { upstreamModel: model, platform }: RequestPlan,
): UpstreamBody {
  const contentOf = (text: string): JsonRecord => ({ parts: [{ text }] });
  const send = (method: string, body: JsonRecord): UpstreamBody => ({
    path: modelPath(model, method),
    body: Buffer.from(writeJson(body)),
  });
  if (platform?.platform !== 'VertexPublisher') {
    const requests = texts.map((text) => ({
      model: `models/${model}`,
      content: contentOf(text),
      outputDimensionality,
    }));
    return send('batchEmbedContents', { requests });
  }
  if (!takesContent(model))
    return send('predict', { instances: texts.map((content) => ({ content })), parameters: { outputDimensionality } });
  const [text = '', ...others] = texts;
  if (others.length > 0) throw unsupported('input', NAME, 'this model embeds one text in a call');
  return send('embedContent', { content: contentOf(text), embedContentConfig: { outputDimensionality } });
}

/** As Google's own clients choose. */
function takesContent(model: string): boolean {
  return model.includes('gemini') && model !== 'gemini-embedding-001';
}

interface Vector {
  readonly values: readonly unknown[];
  /** Undefined: not reported. */
  readonly tokens: number | undefined;
}

/** Undefined: the response is another one. */
function vectorsIn({ embeddings, embedding, predictions }: JsonRecord): readonly Vector[] | undefined {
  if (Array.isArray(embeddings)) return embeddings.map(vectorOf);
  if (isRecord(embedding)) return [vectorOf(embedding)];
  if (!Array.isArray(predictions)) return undefined;
  return predictions.map((each: unknown) => vectorOf(isRecord(each) ? each['embeddings'] : undefined));
}

function vectorOf(given: unknown): Vector {
  if (!isRecord(given)) return { values: [], tokens: undefined };
  const { values, statistics } = given;
  return {
    values: itemsOf(values),
    tokens: isRecord(statistics) ? readTokenCount(statistics['token_count'] ?? statistics['tokenCount']) : undefined,
  };
}

/** The usage of the response, or the sum of its vectors'. No input has none. */
function meterOf(response: JsonRecord, vectors: readonly Vector[]): Meter {
  const { input } = readUsage(response['usageMetadata']);
  const counted = vectors.every(({ tokens }) => tokens !== undefined)
    ? vectors.reduce((sum, { tokens = 0 }) => sum + tokens, 0)
    : undefined;
  const tokens = input ?? counted;
  const isReported = tokens !== undefined && tokens > 0;
  const reported = isReported ? { ...UNREPORTED_USAGE, input: tokens } : UNREPORTED_USAGE;
  return { reported, final: isReported, outputBytes: 0 };
}

/** Little-endian floats of 32 bits. */
function base64Of(values: readonly unknown[]): string {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeFloatLE(typeof value === 'number' ? value : 0, index * 4);
  return bytes.toString('base64');
}
