/**
 * Converts the events of a message to events of the Responses dialect. The last event is held back.
 */
import { MessageEventMeter } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { Meter, StreamEnd, StreamFailure, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { explanationOf, serviceTierOf } from './members.ts';
import { readStreamError } from '../provider-errors.ts';
import { incompleteReason } from '../responses/incomplete-reason.ts';
import type { IncompleteReason } from '../responses/incomplete-reason.ts';
import { ResponseWriter } from '../responses/response-writer.ts';
import type { SseEvent } from '../sse.ts';
import { failResponse } from '../stream-errors.ts';
import { fillUsage } from '../usage.ts';
import { INCOMPLETE } from './answer-table.ts';
import { openBlock } from './blocks.ts';
import type { OpenBlock } from './blocks.ts';

const COLON = 0x3a;
/** A comment, which clients ignore. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NO_EVENTS: readonly Uint8Array[] = [];

export class EventsToResponse implements EventHandler {
  readonly #request: StreamRequest;
  readonly #eventMeter = new MessageEventMeter();
  readonly #writer: ResponseWriter;
  readonly #open = new Map<unknown, OpenBlock>();
  #refusal: string | undefined;
  #reasoningTokens: number | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#writer = new ResponseWriter({ ...request, notes: request.notes, seal: request.seal });
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#eventMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return event.raw[0] === COLON ? [KEEP_ALIVE] : NO_EVENTS;
    const data = parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      const { error, failure } = failResponse(readStreamError(data ?? event.data));
      this.#end = { outcome: 'Failed', error, last: this.fail(failure) };
      return NO_EVENTS;
    }
    return data ? this.#handleData(data) : NO_EVENTS;
  }

  finish(): StreamEnd {
    if (this.#end) return this.#end;
    // some providers send a stop reason and no message_stop
    return this.#eventMeter.stopReason === undefined
      ? { outcome: 'Cut' }
      : { outcome: 'Complete', last: Buffer.from(this.#closing() + this.#last()) };
  }

  fail(error: StreamFailure): Uint8Array {
    return Buffer.from(this.#writer.fail(error, this.#request.model));
  }

  #handleData(data: JsonRecord): readonly Uint8Array[] {
    this.#eventMeter.add(data);
    if (data['type'] === 'ping') return [KEEP_ALIVE];
    const events = this.#convert(data);
    return events === '' ? NO_EVENTS : [Buffer.from(events)];
  }

  #convert(data: JsonRecord): string {
    const { type, index } = data;
    switch (type) {
      case 'content_block_delta':
        return this.#addDelta(index, data['delta']);
      case 'message_start':
        return this.#start(data['message']);
      case 'content_block_start':
        return this.#startBlock(index, data['content_block']);
      case 'content_block_stop':
        return this.#stopBlock(index);
      case 'message_delta':
        return this.#recordEnd(data['delta'], data['usage']);
      case 'message_stop': {
        const closing = this.#closing();
        this.#end = { outcome: 'Complete', last: Buffer.from(this.#last()) };
        return closing;
      }
      // unknown events have no counterpart
      default:
        return '';
    }
  }

  #start(message: unknown): string {
    const { model, usage } = isRecord(message) ? message : {};
    this.#writer.setServiceTier(serviceTierOf(usage));
    return this.#writer.open(textOf(model) ?? this.#request.model);
  }

  #startBlock(index: unknown, block: unknown): string {
    const opening = this.#writer.open(this.#request.model);
    const started = isRecord(block) && openBlock(this.#writer.items, block, index);
    if (!started) return opening;
    this.#open.set(index, started.block);
    return opening + started.events;
  }

  #addDelta(index: unknown, delta: unknown): string {
    return isRecord(delta) ? (this.#open.get(index)?.add(delta) ?? '') : '';
  }

  #stopBlock(index: unknown): string {
    const block = this.#open.get(index);
    this.#open.delete(index);
    return block?.stop() ?? '';
  }

  #recordEnd(delta: unknown, usage: unknown): string {
    if (isRecord(delta)) this.#refusal = explanationOf(delta['stop_details']) ?? this.#refusal;
    this.#reasoningTokens = readReasoningTokens(usage) ?? this.#reasoningTokens;
    return '';
  }

  #closing(): string {
    const opening = this.#writer.open(this.#request.model);
    // blocks that the provider has not stopped
    const rest = [...this.#open.keys()].map((index) => this.#stopBlock(index)).join('');
    const refusal = this.#refusal === undefined ? '' : this.#writer.items.addRefusal(this.#refusal);
    return opening + rest + refusal + this.#writer.closeItems(this.#incomplete());
  }

  #last(): string {
    return this.#writer.end({
      usage: fillUsage(this.meter, this.#request.estimatedInputTokens),
      reasoning: this.#reasoningTokens,
      incomplete: this.#incomplete(),
    });
  }

  #incomplete(): IncompleteReason | undefined {
    return incompleteReason(INCOMPLETE, this.#eventMeter.stopReason);
  }
}
