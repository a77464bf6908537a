/**
 * Responses (POST /v1/responses), which pass through: OpenAI client, OpenAI provider. What changes is the model's name and
 * max_output_tokens. A stream ends with whichever event holds the response as it ended: completed, incomplete or failed, each
 * with its usage; or with an error.
 */
import type { Converter, Meter, ProviderError, RequestPlan, StreamEnd, StreamRequest, UpstreamBody } from '../converter.ts';
import { failStream } from '../error-words.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, itemsOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { parseEventData, parseObject, writeJson } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import { writeEvent } from '../sse.ts';
import type { SseEvent } from '../sse.ts';
import { isDone } from './chunks.ts';
import { meterResponse, ResponseMeter } from './response-meter.ts';

/** A picture that a tool of the provider made comes in one event. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;

export const responsesConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: editRequest,
  response: (body) => {
    const response = parseObject(body);
    if (!Array.isArray(response['output']) && !isGiven(response['status'])) throw new SyntaxError('the answer is not a response');
    return { body, meter: meterResponse(response), failed: isNothing(response) };
  },
  stream: (request) => openEventStream(new PassingResponse(request), { client: 'OpenAI', requestId: request.id, maxEventBytes: MAX_EVENT_BYTES }),
};

function editRequest(body: Uint8Array, parsed: JsonRecord, { upstreamModel, maxOutputTokens, scanned }: RequestPlan): UpstreamBody {
  const edits = new Map<string, JsonEdit>();
  if (parsed['model'] !== upstreamModel) edits.set('model', JSON.stringify(upstreamModel));
  if (maxOutputTokens !== undefined && parsed['max_output_tokens'] !== maxOutputTokens) edits.set('max_output_tokens', String(maxOutputTokens));
  return { path: '/responses', body: editObject(body, edits, scanned) };
}

/** Failed, with neither figures nor output. */
function isNothing({ status, usage, output }: JsonRecord): boolean {
  return status === 'failed' && !isRecord(usage) && itemsOf(output).length === 0;
}

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.cancelled']);

class PassingResponse implements EventHandler {
  readonly #request: StreamRequest;
  readonly #shown = new ResponseMeter();
  /** What the stream ended with. */
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#shown.meter;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    // some compatible providers end like a chat; a response has ended before that
    if (event.data === undefined || isDone(event.data)) return [event.raw];
    const data = parseEventData(event.data);
    const type = wordOf(data?.['type']) || (event.event ?? '');
    if (isError(event, data, type)) {
      this.#end = this.#failed(readStreamError(data ?? event.data));
      return [];
    }
    if (!data) return [event.raw];
    return this.#take(event, data, type);
  }

  #take(event: SseEvent, data: JsonRecord, type: string): readonly Uint8Array[] {
    const { response, delta } = data;
    if (type.endsWith('.delta')) this.#shown.produce(delta);
    const ended = ENDS.has(type) || type === 'response.failed';
    if (isRecord(response)) this.#shown.take(response, ended);
    if (!ended) return [event.raw];
    this.#end = type === 'response.failed' ? this.#failedResponse(data, isRecord(response) ? response : {}) : { outcome: 'Complete', last: event.raw };
    return [];
  }

  finish(): StreamEnd {
    return this.#end ?? { outcome: 'Cut' };
  }

  #failed(error: ProviderError): StreamEnd {
    return failStream('OpenAI', error, this.#request.id);
  }

  /** The event stays what it is, for clients that read the response in it; its error is told in words that are fit for them. */
  #failedResponse(data: JsonRecord, response: JsonRecord): StreamEnd {
    const said = isRecord(response['error']) ? response['error'] : {};
    const end = this.#failed(readStreamError({ error: said }));
    if (end.outcome !== 'Failed') return end;
    const error = { ...said, message: end.error.message };
    return { ...end, last: writeEvent(writeJson({ ...data, response: { ...response, error } }), 'response.failed') };
  }
}

/** Its own event, or a chat's error within its stream. */
function isError(event: SseEvent, data: JsonRecord | undefined, type: string): boolean {
  return event.event === 'error' || type === 'error' || (data !== undefined && type === '' && isGiven(data['error']));
}
