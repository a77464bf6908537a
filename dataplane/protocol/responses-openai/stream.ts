/**
 * Converts chunks of a chat completion to events of the Responses dialect. The last event is held back.
 */
import type { Meter, ProviderError, StreamEnd, StreamFailure, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { isDone } from '../openai/done.ts';
import { contentText, reasoningOf } from '../openai/output.ts';
import { ChunkMeter } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { readStreamError } from '../provider-errors.ts';
import { ResponseWriter } from '../responses/response-writer.ts';
import type { IncompleteReason } from '../responses/response-writer.ts';
import type { SseEvent } from '../sse.ts';
import { failResponse } from '../stream-errors.ts';
import { fillUsage } from '../usage.ts';
import { incompleteReason, isFailureReason } from './response.ts';

const COLON = 0x3a;
/** A comment, which clients ignore. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NO_EVENTS: readonly Uint8Array[] = [];

export class ChunksToResponse implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunkMeter = new ChunkMeter();
  readonly #writer: ResponseWriter;
  /** Index of the choice that the client gets: the first that comes. */
  #choice: unknown;
  #finishReason: string | undefined;
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
    if (event.event === 'error' || (chunk && isFailure(chunk))) return this.#fail(chunk ?? event.data);
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
    const { error, failure } = failResponse(errorIn(data));
    this.#end = { outcome: 'Failed', error, last: this.fail(failure) };
    return NO_EVENTS;
  }

  #convertChunk(chunk: JsonRecord): string {
    this.#chunkMeter.add(chunk);
    if (isRecord(chunk['usage'])) this.#reasoningTokens = readReasoningTokens(chunk['usage']) ?? this.#reasoningTokens;
    this.#writer.setServiceTier(textOf(chunk['service_tier']));
    let events = this.#writer.open(textOf(chunk['model']) ?? this.#request.model);
    for (const choice of itemsOf(chunk['choices'])) {
      if (!isRecord(choice)) continue;
      this.#choice ??= choice['index'] ?? 0;
      if ((choice['index'] ?? 0) === this.#choice) events += this.#convertChoice(choice);
    }
    return events;
  }

  #convertChoice({ finish_reason: reason, delta }: JsonRecord): string {
    this.#finishReason = textOf(reason) ?? this.#finishReason;
    return isRecord(delta) ? this.#convertDelta(delta) : '';
  }

  /** One chunk may hold several kinds of content and several tool calls. */
  #convertDelta(delta: JsonRecord): string {
    const { items } = this.#writer;
    const { content, refusal, tool_calls: calls, function_call: functionCall } = delta;
    const reasoning = reasoningOf(delta);
    let events = reasoning === undefined ? '' : items.addReasoning(reasoning);
    const text = contentText(content);
    if (text !== undefined) events += items.addText(text);
    if (typeof refusal === 'string' && refusal !== '') events += items.addRefusal(refusal);
    if (Array.isArray(calls))
      for (const call of calls) if (isRecord(call)) events += this.#addCall(call['index'], call);
    if (isRecord(functionCall)) events += this.#addCall('function_call', { function: functionCall });
    return events;
  }

  #addCall(key: unknown, call: JsonRecord): string {
    const called = isRecord(call['function']) ? call['function'] : {};
    return this.#writer.items.addCall({
      key, id: textOf(call['id']), name: textOf(called['name']), text: argumentsOf(called['arguments']),
    });
  }

  #closing(): string {
    return this.#writer.open(this.#request.model) + this.#writer.closeItems(this.#incomplete());
  }

  #last(): string {
    const usage = fillUsage(this.meter, this.#request.estimatedInputTokens);
    return this.#writer.end({ usage, reasoning: this.#reasoningTokens, incomplete: this.#incomplete() });
  }

  #incomplete(): IncompleteReason | undefined {
    return incompleteReason(this.#finishReason);
  }
}

/** Some providers send an object instead of its JSON. */
function argumentsOf(value: unknown): string {
  return isRecord(value) ? JSON.stringify(value) : stringOf(value);
}

/** An error, or a finish_reason that means one. */
function isFailure(chunk: JsonRecord): boolean {
  return (isGiven(chunk['error']) && !Array.isArray(chunk['choices'])) || failureOf(chunk) !== undefined;
}

function failureOf({ choices }: JsonRecord): string | undefined {
  const first: unknown = itemsOf(choices)[0];
  const reason = isRecord(first) ? textOf(first['finish_reason']) : undefined;
  return reason !== undefined && isFailureReason(reason) ? reason : undefined;
}

function errorIn(data: unknown): ProviderError {
  const reason = isRecord(data) ? failureOf(data) : undefined;
  return reason !== undefined && isRecord(data) && !isGiven(data['error'])
    ? { message: `The provider broke the answer off: ${reason}.`, type: 'server_error', code: undefined }
    : readStreamError(data);
}
