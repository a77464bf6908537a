/** Images of Imagen in Google's protocol on both sides: bytes pass through, and the model is in the path alone. */
import type { Converter, Meter } from '../../converter.ts';
import { FailedResponse } from '../../failed-response.ts';
import { isRecord, itemsOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { parseObject } from '../../json-value.ts';
import { isErrorObject } from '../../provider-errors.ts';
import { UNREPORTED_USAGE } from '../../usage.ts';
import { modelPath } from './model-path.ts';

export const predict: Converter = {
  client: 'Gemini',
  upstream: 'Gemini',
  request: (body, _parsed, { upstreamModel }) => ({ path: modelPath(upstreamModel, 'predict'), body }),
  response: (body) => {
    const response = parseObject(body);
    if (isErrorObject(response)) throw new FailedResponse(readGeminiStreamError(response));
    const { predictions } = response;
    // a response without any says why in other members, or says nothing
    if (!Array.isArray(predictions) && Object.keys(response).length > 0)
      throw new SyntaxError('the response holds no images');
    return { body, meter: meterImages(response) };
  },
  stream: () => {
    throw new Error('responses of predict are not streamed');
  },
};

/** Entries without a picture were filtered. Imagen reports no usage, and is priced per image. */
function meterImages({ predictions }: JsonRecord): Meter {
  const images = itemsOf(predictions)
    .filter(isRecord)
    .filter((each) => (textOf(each['bytesBase64Encoded']) ?? textOf(each['gcsUri'])) !== undefined).length;
  return { reported: { ...UNREPORTED_USAGE, input: 0, output: 0 }, final: true, outputBytes: 0, images };
}
