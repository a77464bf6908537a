/**
 * Embeddings, which pass through: OpenAI client, OpenAI provider.
 */
import { readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { isImageData } from '../image-inputs.ts';
import { inputOnlyConverter } from './input-only.ts';
import type { InputOnlyEndpoint } from './input-only.ts';
import { countInputs, readTokenInputs } from './token-inputs.ts';
import type { InputTokens } from './token-inputs.ts';

export interface EmbeddingsFacts extends InputTokens {
  readonly model: string;
}

/** Members left out of the estimate: models do not read them, or they are counted separately. */
const UNREAD_NAMES: ReadonlySet<string> = new Set([
  'input',
  'model',
  'user',
  'metadata',
  'safety_identifier',
  'encoding_format',
  'embedding_type',
  'embedding_types',
  'output_dtype',
  'input_type',
  'task',
  'truncate',
]);

/** Throws RequestFault where the model or the input is missing or wrong. */
export function readEmbeddingsFacts(body: Uint8Array, parsed: JsonRecord): EmbeddingsFacts {
  const model = readModel(parsed);
  const inputs = readTokenInputs(parsed['input'], 'input');
  const counted = countInputs(inputs, { body, parsed, param: 'input', unread: UNREAD_NAMES });
  const pictured = inputs.some(isImageData) ? 'input' : undefined;
  return { model, ...counted, imageParam: counted.imageParam ?? pictured };
}

export const EMBEDDINGS: InputOnlyEndpoint = {
  path: '/embeddings',
  isResponse: (response) => Array.isArray(response['data']),
  fault: 'the answer holds no embeddings',
};

export const embeddingsConverter = inputOnlyConverter(EMBEDDINGS);
