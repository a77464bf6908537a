/**
 * Converts the events of a message to chunks of Google's protocol. The last chunk, with the finish reason and the
 * usage, is held back.
 */
import { MessageEventMeter } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { explanationOf } from '../openai-anthropic/response.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { writeEvent } from '../sse.ts';
import { failStream } from '../stream-errors.ts';
import { fillUsage } from '../usage.ts';
import { AnswerParts } from './answer-parts.ts';
import type { OpenBlock } from './answer-parts.ts';
import { writeAnswer } from './answer.ts';

const NO_CHUNKS: readonly Uint8Array[] = [];

export class EventsToAnswer implements EventHandler {
  readonly #request: StreamRequest;
  readonly #eventMeter = new MessageEventMeter();
  readonly #parts: AnswerParts;
  readonly #open = new Map<unknown, OpenBlock>();
  #model: string;
  #explanation: string | undefined;
  #thoughts: number | undefined;
  #begun = false;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#model = request.model;
    this.#parts = new AnswerParts({ notes: request.notes, seal: request.seal });
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#eventMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    // some of Google's SDKs take comments and blank lines for data
    if (event.data === undefined) return NO_CHUNKS;
    const data = parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('Gemini', readStreamError(data ?? event.data), this.#request.id);
      return NO_CHUNKS;
    }
    return data ? this.#handleData(data) : NO_CHUNKS;
  }

  finish(): StreamEnd {
    if (this.#end) return this.#end;
    // some providers send a stop reason and no message_stop
    return this.#eventMeter.stopReason === undefined ? { outcome: 'Cut' } : { outcome: 'Complete', last: this.#last() };
  }

  #handleData(data: JsonRecord): readonly Uint8Array[] {
    this.#eventMeter.add(data);
    if (data['type'] === 'message_stop') {
      this.#end = { outcome: 'Complete', last: this.#last() };
      return NO_CHUNKS;
    }
    const parts = this.#convert(data);
    // the first hidden piece of a thought or a call shows that the response has begun
    const begins = !this.#begun && this.meter.outputBytes > 0;
    this.#begun ||= begins;
    return parts.length > 0 || begins ? [this.#chunk(parts)] : NO_CHUNKS;
  }

  #convert(data: JsonRecord): readonly JsonRecord[] {
    const { type, index, delta } = data;
    switch (type) {
      case 'content_block_delta':
        return this.#addDelta(index, delta);
      case 'content_block_start':
        return this.#startBlock(index, data['content_block']);
      case 'content_block_stop':
        return this.#stopBlock(index);
      case 'message_start':
        return this.#start(data['message']);
      case 'message_delta':
        return this.#recordEnd(delta, data['usage']);
      // unknown events have no counterpart
      default:
        return [];
    }
  }

  #start(message: unknown): readonly JsonRecord[] {
    this.#model = (isRecord(message) ? textOf(message['model']) : undefined) ?? this.#model;
    return [];
  }

  #recordEnd(delta: unknown, usage: unknown): readonly JsonRecord[] {
    if (isRecord(delta)) this.#explanation = explanationOf(delta['stop_details']) ?? this.#explanation;
    this.#thoughts = readReasoningTokens(usage) ?? this.#thoughts;
    return [];
  }

  #addDelta(index: unknown, delta: unknown): readonly JsonRecord[] {
    return isRecord(delta) ? (this.#open.get(index)?.add(delta) ?? []) : [];
  }

  #startBlock(index: unknown, block: unknown): readonly JsonRecord[] {
    const started = isRecord(block) ? this.#parts.open(block) : undefined;
    if (!started) return [];
    this.#open.set(index, started.block);
    return started.parts;
  }

  #stopBlock(index: unknown): readonly JsonRecord[] {
    const block = this.#open.get(index);
    this.#open.delete(index);
    return block?.stop() ?? [];
  }

  #chunk(parts: readonly JsonRecord[]): Uint8Array {
    return writeEvent(writeAnswer({ id: this.#request.id, model: this.#model }, parts));
  }

  #last(): Uint8Array {
    // blocks that the provider has not stopped
    const rest = [...this.#open.keys()].flatMap((index) => this.#stopBlock(index));
    return writeEvent(
      writeAnswer({ id: this.#request.id, model: this.#model }, [...rest, ...this.#parts.close()], {
        stopReason: this.#eventMeter.stopReason,
        malformedCall: this.#parts.malformedCall,
        explanation: this.#explanation,
        usage: fillUsage(this.meter, this.#request.estimatedInputTokens),
        thoughts: this.#thoughts,
      }),
    );
  }
}
