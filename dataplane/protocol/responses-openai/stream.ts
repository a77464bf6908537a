/**
 * Converts chunks of a chat completion to events of the Responses dialect. The last event is held back.
 */
import type { Meter, StreamEnd, StreamFailure, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { isDone } from '../openai/done.ts';
import { failedChunkError, isFailedChunk } from '../openai/failures.ts';
import { callPieces, FirstChoice } from '../openai/first-choice.ts';
import { contentText, reasoningOf } from '../openai/output.ts';
import { ChunkMeter } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { readStreamError } from '../provider-errors.ts';
import { ResponseWriter } from '../responses/response-writer.ts';
import { incompleteReason } from '../responses/incomplete-reason.ts';
import type { IncompleteReason } from '../responses/incomplete-reason.ts';
import type { SseEvent } from '../sse.ts';
import { failResponse } from '../stream-errors.ts';
import { fillUsage } from '../usage.ts';
import { FAILURES, INCOMPLETE } from './answer-table.ts';

const COLON = 0x3a;
/** A comment, which clients ignore. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NO_EVENTS: readonly Uint8Array[] = [];

export class ChunksToResponse implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunkMeter = new ChunkMeter();
  readonly #writer: ResponseWriter;
  readonly #choice = new FirstChoice();
  #reasoningTokens: number | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#writer = new ResponseWriter({ ...request, notes: request.notes, seal: request.seal, readable: true });
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunkMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return event.raw[0] === COLON ? [KEEP_ALIVE] : NO_EVENTS;
    if (isDone(event.data)) return this.#done();
    const chunk = parseEventData(event.data);
    if (event.event === 'error' || (chunk && isFailedChunk(chunk, FAILURES))) return this.#fail(chunk ?? event.data);
    const events = chunk ? this.#convertChunk(chunk) : '';
    return events === '' ? NO_EVENTS : [Buffer.from(events)];
  }

  /** Some providers send no [DONE]: the stream is complete once every choice has finished. */
  finish(): StreamEnd {
    if (this.#end) return this.#end;
    if (!this.#chunkMeter.finished) return { outcome: 'Cut' };
    return { outcome: 'Complete', last: Buffer.from(this.#closing() + this.#last()) };
  }

  fail(error: StreamFailure): Uint8Array {
    return Buffer.from(this.#writer.fail(error, this.#request.model));
  }

  #done(): readonly Uint8Array[] {
    const closing = this.#closing();
    this.#end = { outcome: 'Complete', last: Buffer.from(this.#last()) };
    return [Buffer.from(closing)];
  }

  #fail(data: unknown): readonly Uint8Array[] {
    const { error, failure } = failResponse(readStreamError(failedChunkError(data, FAILURES)));
    this.#end = { outcome: 'Failed', error, last: this.fail(failure) };
    return NO_EVENTS;
  }

  #convertChunk(chunk: JsonRecord): string {
    this.#chunkMeter.add(chunk);
    if (isRecord(chunk['usage'])) this.#reasoningTokens = readReasoningTokens(chunk['usage']) ?? this.#reasoningTokens;
    this.#writer.setServiceTier(textOf(chunk['service_tier']));
    return (
      this.#writer.open(textOf(chunk['model']) ?? this.#request.model) +
      this.#choice
        .deltasIn(chunk)
        .map((delta) => this.#convertDelta(delta))
        .join('')
    );
  }

  /** One chunk may hold several kinds of content and several tool calls. */
  #convertDelta(delta: JsonRecord): string {
    const { items } = this.#writer;
    const { content, refusal } = delta;
    const reasoning = reasoningOf(delta);
    let events = reasoning === undefined ? '' : items.addReasoning(reasoning);
    const text = contentText(content);
    if (text !== undefined) events += items.addText(text);
    if (typeof refusal === 'string' && refusal !== '') events += items.addRefusal(refusal);
    for (const { arguments: given, ...call } of callPieces(delta))
      events += items.addCall({ ...call, text: isRecord(given) ? JSON.stringify(given) : stringOf(given) });
    return events;
  }

  #closing(): string {
    return this.#writer.open(this.#request.model) + this.#writer.closeItems(this.#incomplete());
  }

  #last(): string {
    const usage = fillUsage(this.meter, this.#request.estimatedInputTokens);
    return this.#writer.end({ usage, reasoning: this.#reasoningTokens, incomplete: this.#incomplete() });
  }

  #incomplete(): IncompleteReason | undefined {
    return incompleteReason(INCOMPLETE, this.#choice.finishReason);
  }
}
