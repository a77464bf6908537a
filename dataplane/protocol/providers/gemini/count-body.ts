/** The body of countTokens for a request with everything that counts. */
import type { RequestPlan } from '../../converter.ts';
import type { JsonRecord } from '../../fields.ts';

/** The Gemini API takes the request, with its model, within another; Vertex takes its members without the model. */
export function countBody(counted: JsonRecord, platform: RequestPlan['platform']): JsonRecord {
  if (platform?.platform !== 'VertexPublisher') return { generateContentRequest: counted };
  const { model: _model, ...members } = counted;
  return members;
}
