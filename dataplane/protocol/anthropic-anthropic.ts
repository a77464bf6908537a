/**
 * Anthropic client, Anthropic provider: bytes pass through. What changes is the model's name and max_tokens.
 */
import { EventMeter, meterMessage } from './anthropic/stream-meter.ts';
import type { Converter, Meter, RequestPlan, StreamEnd, StreamRequest, UpstreamBody } from './converter.ts';
import { failStream } from './error-words.ts';
import type { EventPattern } from './event-pattern.ts';
import { AS_IT_IS, openEventStream } from './event-stream.ts';
import type { EventHandler } from './event-stream.ts';
import type { JsonRecord } from './fields.ts';
import { editObject } from './json-edit.ts';
import type { JsonEdit } from './json-edit.ts';
import { parseAnswer, parseEventData } from './json-text.ts';
import { deltaPattern } from './anthropic/delta-pattern.ts';
import { MESSAGE_STOP } from './anthropic/events.ts';
import { readStreamError } from './provider-errors.ts';
import type { Skimming } from './skim.ts';
import type { SseEvent } from './sse.ts';

export const anthropicToAnthropic: Converter = {
  client: 'Anthropic',
  upstream: 'Anthropic',
  request: editRequest,
  response: (body) => {
    const message = parseAnswer(body);
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

class PassingEvents implements EventHandler, Skimming {
  readonly #request: StreamRequest;
  readonly #events = new EventMeter();
  /** The latest event, if it held generated text. */
  #latest: { readonly data: JsonRecord; readonly outputBytes: number } | undefined;
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

  get skimming(): this {
    return this;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    this.#latest = undefined;
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('Anthropic', readStreamError(data ?? event.data), this.#request.id);
      return [];
    }
    if (!data) return AS_IT_IS;
    const outputBytes = this.#events.take(data);
    if (outputBytes > 0) this.#latest = { data, outputBytes };
    if (data['type'] !== 'message_stop') return AS_IT_IS;
    this.#end = { outcome: 'Complete', last: event.raw };
    return [];
  }

  learn(event: SseEvent): EventPattern | undefined {
    const latest = this.#latest;
    this.#latest = undefined;
    return latest && deltaPattern(event, latest);
  }

  skimmed(outputBytes: number): void {
    this.#events.produce(outputBytes);
  }

  /** A provider that says why it stopped but sends no message_stop has said all there is. */
  finish(): StreamEnd {
    return this.#end ?? (this.#events.stopReason === undefined ? { outcome: 'Cut' } : { outcome: 'Complete', last: MESSAGE_STOP });
  }
}
