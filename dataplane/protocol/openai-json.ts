/**
 * OpenAI's endpoints beside chat that answer with one JSON value (embeddings, images): passed through, the model's name apart.
 */
import type { Converter } from './converter.ts';
import { isRecord } from './fields.ts';
import { editObject } from './json-edit.ts';
import { readFigures, reportOpenAi, usageOf } from './openai/usage.ts';
import { meterOf, NOTHING_REPORTED } from './usage.ts';

/** `path` below the base URL: "/embeddings". */
export function openaiJsonConverter(path: string): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request(body, parsed, { upstreamModel }) {
      if (parsed['model'] === upstreamModel) return { path, body };
      return { path, body: editObject(body, new Map([['model', JSON.stringify(upstreamModel)]])) };
    },
    response(body) {
      const answer: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
      if (!isRecord(answer)) throw new SyntaxError('the answer is not an object');
      const usage = usageOf(answer);
      return { body, meter: usage ? meterOf(reportOpenAi(readFigures(usage)), 0, true) : meterOf(NOTHING_REPORTED, 0, false) };
    },
    stream() {
      throw new Error('these endpoints do not stream');
    },
  };
}
