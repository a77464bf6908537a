/**
 * Anthropic client, Anthropic provider: bytes pass through. What changes is the model's name and max_tokens.
 */
import { EventMeter, meterMessage } from './anthropic/stream-meter.ts';
import type { Converter, Meter, RequestPlan, StreamEnd, StreamRequest, UpstreamBody } from './converter.ts';
import { failStream } from './error-words.ts';
import { openEventStream } from './event-stream.ts';
import type { EventHandler } from './event-stream.ts';
import type { JsonRecord } from './fields.ts';
import { editObject } from './json-edit.ts';
import type { JsonEdit } from './json-edit.ts';
import { parseObject, parseEventData } from './json-value.ts';
import { MESSAGE_STOP } from './anthropic/events.ts';
import { readStreamError } from './provider-errors.ts';
import type { SseEvent } from './sse.ts';

export const anthropicToAnthropic: Converter = {
  client: 'Anthropic',
  upstream: 'Anthropic',
  request: editRequest,
  response: (body) => {
    const message = parseObject(body);
    if (!Array.isArray(message['content'])) throw new SyntaxError('the answer is not a message');
    return { body, meter: meterMessage(message) };
  },
  stream: (request) => openEventStream(new PassingEvents(request), { client: 'Anthropic', requestId: request.id }),
};

function editRequest(body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody {
  const edits = new Map<string, JsonEdit>();
  if (parsed['model'] !== plan.upstreamModel) edits.set('model', JSON.stringify(plan.upstreamModel));
  if (plan.maxOutputTokens !== undefined && parsed['max_tokens'] !== plan.maxOutputTokens) edits.set('max_tokens', String(plan.maxOutputTokens));
  return { path: '/v1/messages', body: editObject(body, edits, plan.scanned) };
}

class PassingEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #events = new EventMeter();
  /** What the stream ended with. */
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#events.meter;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('Anthropic', readStreamError(data ?? event.data), this.#request.id);
      return [];
    }
    if (!data) return [event.raw];
    this.#events.take(data);
    if (data['type'] !== 'message_stop') return [event.raw];
    this.#end = { outcome: 'Complete', last: event.raw };
    return [];
  }

  /** A provider that says why it stopped but sends no message_stop has said all there is. */
  finish(): StreamEnd {
    return this.#end ?? (this.#events.stopReason === undefined ? { outcome: 'Cut' } : { outcome: 'Complete', last: MESSAGE_STOP });
  }
}
