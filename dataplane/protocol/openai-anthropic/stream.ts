/**
 * Anthropic's events as OpenAI's chunks: the role first, then text, reasoning and tool calls as they come, the finish_reason, the
 * usage where the client asked for it, and [DONE], which is held back.
 */
import { EventMeter } from '../anthropic/stream-meter.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../error-words.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-lossless.ts';
import { parseEventData } from '../json-text.ts';
import { DONE, writeChunk } from '../openai/chunks.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { finishReasonOf, writeUsage } from './response.ts';

/** The tool call that is being written: by its place among tool calls, which is not the block's among blocks. */
interface OpenCall {
  readonly index: number;
  /** What the block began with, for a provider that sends the input whole. */
  readonly input: unknown;
  written: boolean;
}

export class ChunksFromEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #events = new EventMeter();
  readonly #calls = new Map<unknown, OpenCall>();
  #model: string;
  #started = false;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#model = request.model;
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
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return [];
    }
    if (!data) return [];
    this.#events.take(data);
    return this.#convert(data);
  }

  finish(): StreamEnd {
    if (this.#end) return this.#end;
    // no message_stop, but the answer has said why it stopped
    return this.#events.stopReason === undefined ? { outcome: 'Cut' } : { outcome: 'Complete', last: Buffer.concat([...this.#closing(), DONE]) };
  }

  #convert(data: JsonRecord): readonly Uint8Array[] {
    switch (data['type']) {
      case 'message_start': return this.#start(data['message']);
      case 'content_block_start': return this.#startBlock(data['index'], data['content_block']);
      case 'content_block_delta': return isRecord(data['delta']) ? this.#takeDelta(data['index'], data['delta']) : [];
      case 'content_block_stop': return this.#stopBlock(data['index']);
      case 'message_stop': {
        const closing = this.#closing();
        this.#end = { outcome: 'Complete', last: DONE };
        return closing;
      }
      // message_delta is metered; pings and what is unknown have no counterpart
      default: return [];
    }
  }

  #start(message: unknown): readonly Uint8Array[] {
    if (isRecord(message)) this.#model = textOf(message['model']) ?? this.#model;
    return this.#opening();
  }

  #opening(): readonly Uint8Array[] {
    if (this.#started) return [];
    this.#started = true;
    return [this.#write({ role: 'assistant', content: '' })];
  }

  #startBlock(index: unknown, block: unknown): readonly Uint8Array[] {
    if (!isRecord(block)) return [];
    if (block['type'] === 'tool_use') return this.#startCall(index, block);
    return this.#content({ content: textOf(block['text']), reasoning_content: textOf(block['thinking']) });
  }

  #startCall(index: unknown, block: JsonRecord): readonly Uint8Array[] {
    const call: OpenCall = { index: this.#calls.size, input: block['input'], written: false };
    this.#calls.set(index, call);
    const head = { index: call.index, id: block['id'], type: 'function', function: { name: block['name'], arguments: '' } };
    return [...this.#opening(), this.#write({ tool_calls: [head] })];
  }

  #takeDelta(index: unknown, delta: JsonRecord): readonly Uint8Array[] {
    if (delta['type'] === 'input_json_delta') return this.#takeArguments(index, wordOf(delta['partial_json']));
    return this.#content({ content: textOf(delta['text']), reasoning_content: textOf(delta['thinking']) });
  }

  #takeArguments(index: unknown, text: string): readonly Uint8Array[] {
    const call = this.#calls.get(index);
    if (!call || text === '') return [];
    call.written = true;
    return [this.#write({ tool_calls: [{ index: call.index, function: { arguments: text } }] })];
  }

  /** Arguments that never came are an empty object: OpenAI's clients parse what they joined. */
  #stopBlock(index: unknown): readonly Uint8Array[] {
    const call = this.#calls.get(index);
    return !call || call.written ? [] : this.#takeArguments(index, isRecord(call.input) ? writeJson(call.input) : '{}');
  }

  #content(delta: Readonly<Record<'content' | 'reasoning_content', string | undefined>>): readonly Uint8Array[] {
    if (delta.content === undefined && delta.reasoning_content === undefined) return [];
    return [...this.#opening(), this.#write(delta)];
  }

  #closing(): readonly Uint8Array[] {
    const finish = this.#write({}, finishReasonOf(this.#events.stopReason));
    const usage = { choices: [], usage: writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens)) };
    return [...this.#opening(), finish, ...(this.#request.wantsStreamUsage ? [writeChunk(this.#head(), usage)] : [])];
  }

  #write(delta: JsonRecord, finishReason: string | null = null): Uint8Array {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    return writeChunk(this.#head(), { choices, ...(this.#request.wantsStreamUsage ? { usage: null } : {}) });
  }

  #head(): Parameters<typeof writeChunk>[0] {
    return { id: `chatcmpl-${this.#request.id}`, createdSeconds: this.#request.createdSeconds, model: this.#model };
  }
}
