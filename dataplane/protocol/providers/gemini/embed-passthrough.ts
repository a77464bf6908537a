/**
 * Embeddings in Google's protocol on both sides: bytes pass through. Requests name the model within the body too, where
 * the channel's name of it takes the place of the client's.
 */
import type { Converter, Meter, RequestPlan, UpstreamBody } from '../../converter.ts';
import { FailedResponse } from '../../failed-response.ts';
import { isRecord, itemsOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { readUsage } from '../../gemini/usage.ts';
import { editObject } from '../../json-edit.ts';
import { parseObject, reparseLosslessly, writeJson } from '../../json-value.ts';
import { isErrorObject } from '../../provider-errors.ts';
import { UNREPORTED_USAGE } from '../../usage.ts';
import { meterLarge } from './large-usage.ts';
import { modelPath } from './model-path.ts';

interface EmbedMethod {
  readonly method: 'embedContent' | 'batchEmbedContents';
  readonly writeBody: (body: Uint8Array, parsed: JsonRecord, plan: RequestPlan) => Uint8Array;
  readonly isResponse: (response: JsonRecord) => boolean;
}

export const embedContent = embedding({
  method: 'embedContent',
  writeBody: (body, parsed, { upstreamModel, platform, scanned }) => {
    if (!Object.hasOwn(parsed, 'model')) return body;
    // Vertex has the model in the path alone
    const model = platform?.platform === 'VertexPublisher' ? undefined : writeJson(modelName(upstreamModel));
    return editObject(body, new Map([['model', model]]), scanned);
  },
  isResponse: ({ embedding: vector }) => isRecord(vector),
});

export const batchEmbedContents = embedding({
  method: 'batchEmbedContents',
  writeBody: (body, parsed, { upstreamModel, scanned }) => {
    const model = modelName(upstreamModel);
    if (itemsOf(parsed['requests']).every((each) => isRecord(each) && each['model'] === model)) return body;
    const requests = itemsOf(reparseLosslessly(body, parsed)['requests'])
      .filter(isRecord)
      .map((each) => ({ ...each, model }));
    return editObject(body, new Map([['requests', writeJson(requests)]]), scanned);
  },
  isResponse: ({ embeddings }) => Array.isArray(embeddings),
});

function embedding({ method, writeBody, isResponse }: EmbedMethod): Converter {
  return {
    client: 'Gemini',
    upstream: 'Gemini',
    request: (body, parsed, plan): UpstreamBody => ({
      path: modelPath(plan.upstreamModel, method),
      body: writeBody(body, parsed, plan),
    }),
    response: (body) => {
      const response = parseObject(body);
      if (isErrorObject(response)) throw new FailedResponse(readGeminiStreamError(response));
      if (!isResponse(response)) throw new SyntaxError('the response holds no embeddings');
      return { body, meter: meterInput(response) };
    },
    large: () => meterLarge(meterInput),
    stream: () => {
      throw new Error(`responses of ${method} are not streamed`);
    },
  };
}

/** The form in which requests name a model. */
function modelName(model: string): string {
  return `models/${model}`;
}

/** Models that embed have no output. Some report no usage, and no input has none. */
function meterInput(response: JsonRecord): Meter {
  const { input, cached, details } = readUsage(response['usageMetadata']);
  const isReported = (input ?? 0) + (cached ?? 0) > 0;
  const reported = { ...UNREPORTED_USAGE, input, cached, ...(details && { details }) };
  return { reported: isReported ? reported : UNREPORTED_USAGE, final: isReported, outputBytes: 0 };
}
