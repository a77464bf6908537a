/**
 * OpenAI's chunks as Anthropic's events: message_start with an estimate as soon as anything comes, the blocks, message_delta with
 * the true figures, and message_stop, which is held back.
 */
import { MESSAGE_STOP, writeMessageEvent } from '../anthropic/events.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../error-words.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, itemsOf, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-text.ts';
import { isDone } from '../openai/chunks.ts';
import { reasoningOf } from '../openai/output.ts';
import { ChunkMeter } from '../openai/stream-meter.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { messageId, stopReasonOf, writeUsage } from './response.ts';
import { BlockSequence } from './segments.ts';

export class EventsFromChunks implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunks = new ChunkMeter();
  readonly #blocks: BlockSequence;
  #started = false;
  #finishReason: string | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#blocks = new BlockSequence(`toolu_${request.id.replace(/[^a-zA-Z0-9_-]/g, '_')}_`);
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunks.meter;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return [];
    if (isDone(event.data)) return this.#done();
    const chunk = parseEventData(event.data);
    if (event.event === 'error' || (chunk && isGiven(chunk['error']) && !Array.isArray(chunk['choices']))) {
      this.#end = failStream('Anthropic', readStreamError(chunk ?? event.data), this.#request.id);
      return [];
    }
    if (!chunk) return [];
    this.#chunks.take(chunk);
    return [...this.#opening(textOf(chunk['model'])), ...this.#takeChoice(itemsOf(chunk['choices'])[0])];
  }

  /** A provider that sends no [DONE]: its answer has finished, and so has the stream. */
  finish(): StreamEnd {
    if (this.#end) return this.#end;
    return this.#chunks.finished ? { outcome: 'Complete', last: Buffer.concat([...this.#closing(), MESSAGE_STOP]) } : { outcome: 'Cut' };
  }

  #done(): readonly Uint8Array[] {
    const closing = this.#closing();
    this.#end = { outcome: 'Complete', last: MESSAGE_STOP };
    return closing;
  }

  #opening(model?: string): readonly Uint8Array[] {
    if (this.#started) return [];
    this.#started = true;
    const { id, estimatedInputTokens } = this.#request;
    const usage = writeUsage({ ...fillUsage(this.meter, estimatedInputTokens), output: 0 });
    const message = {
      id: messageId(id), type: 'message', role: 'assistant', model: model ?? this.#request.model, content: [],
      stop_reason: null, stop_sequence: null, usage,
    };
    return [writeMessageEvent('message_start', { message })];
  }

  #takeChoice(choice: unknown): readonly Uint8Array[] {
    if (!isRecord(choice)) return [];
    this.#finishReason = textOf(choice['finish_reason']) ?? this.#finishReason;
    return isRecord(choice['delta']) ? this.#takeDelta(choice['delta']) : [];
  }

  /** One chunk may hold all of them, several calls too. */
  #takeDelta(delta: JsonRecord): readonly Uint8Array[] {
    const events: Uint8Array[] = [];
    const thinking = reasoningOf(delta);
    if (thinking !== undefined) events.push(...this.#blocks.addText('thinking', thinking));
    for (const text of [textOf(delta['content']), textOf(delta['refusal'])]) if (text !== undefined) events.push(...this.#blocks.addText('text', text));
    for (const call of itemsOf(delta['tool_calls']).filter(isRecord)) events.push(...this.#addCall(call['index'], call));
    if (isRecord(delta['function_call'])) events.push(...this.#addCall('function_call', { function: delta['function_call'] }));
    return events;
  }

  #addCall(key: unknown, call: JsonRecord): readonly Uint8Array[] {
    const called = isRecord(call['function']) ? call['function'] : {};
    return this.#blocks.addTool({ key, id: textOf(call['id']), name: textOf(called['name']), text: wordOf(called['arguments']) });
  }

  #closing(): readonly Uint8Array[] {
    const stopReason = stopReasonOf(this.#finishReason, this.#blocks.calledTools);
    const delta = { delta: { stop_reason: stopReason, stop_sequence: null }, usage: writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens)) };
    return [...this.#opening(), ...this.#blocks.close(), writeMessageEvent('message_delta', delta)];
  }
}
