/**
 * Converts Anthropic's events to OpenAI's chunks: the role first, then text, reasoning and tool calls as they come, the
 * finish_reason, usage if the client asked for it, and [DONE], which is held back.
 */
import { MessageEventMeter } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../stream-errors.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { DONE } from '../openai/done.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { openBlock } from './blocks.ts';
import type { OpenBlock } from './blocks.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { explanationOf, finishReasonOf, serviceTierOf, writeUsage } from './response.ts';

/** A comment, which clients ignore. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NO_CHUNKS: readonly Uint8Array[] = [];

export class EventsToChunks implements EventHandler {
  readonly #request: StreamRequest;
  readonly #eventMeter = new MessageEventMeter();
  readonly #open = new Map<unknown, OpenBlock>();
  #writer: ChunkWriter | undefined;
  /** Length of all text so far, in UTF-16 units. */
  #contentLength = 0;
  #toolCalls = 0;
  #thinkingBlocks = 0;
  #refusal: string | undefined;
  #serviceTier: string | undefined;
  #reasoningTokens: number | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#eventMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return isComment(event.raw) ? [KEEP_ALIVE] : NO_CHUNKS;
    const data = parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return NO_CHUNKS;
    }
    return data ? this.#handleData(data) : NO_CHUNKS;
  }

  #handleData(data: JsonRecord): readonly Uint8Array[] {
    this.#eventMeter.add(data);
    if (data['type'] === 'ping') return [KEEP_ALIVE];
    const chunks = this.#convert(data);
    return chunks === '' ? NO_CHUNKS : [Buffer.from(chunks)];
  }

  finish(): StreamEnd {
    if (this.#end) return this.#end;
    // some providers send a stop reason and no message_stop
    return this.#eventMeter.stopReason === undefined
      ? { outcome: 'Cut' }
      : { outcome: 'Complete', last: Buffer.concat([Buffer.from(this.#closing()), DONE]) };
  }

  #convert(data: JsonRecord): string {
    switch (data['type']) {
      case 'content_block_delta':
        return isRecord(data['delta']) ? this.#convertDelta(data['index'], data['delta']) : '';
      case 'message_start':
        return this.#start(data['message']);
      case 'content_block_start':
        return isRecord(data['content_block']) ? this.#startBlock(data['index'], data['content_block']) : '';
      case 'content_block_stop':
        return this.#stopBlock(data['index']);
      case 'message_delta':
        return this.#recordEnd(data['delta'], data['usage']);
      case 'message_stop': {
        const closing = this.#closing();
        this.#end = { outcome: 'Complete', last: DONE };
        return closing;
      }
      // unknown events have no counterpart
      default:
        return '';
    }
  }

  #start(message: unknown): string {
    if (!isRecord(message)) return this.#opening();
    this.#serviceTier = serviceTierOf(message['usage']);
    return this.#opening(textOf(message['model']));
  }

  /** The first chunk, with the role; empty after the first call. */
  #opening(model: string = this.#request.model): string {
    if (this.#writer) return '';
    const { id, createdSeconds, wantsStreamUsage } = this.#request;
    this.#writer = new ChunkWriter({ id: `chatcmpl-${id}`, createdSeconds, model }, wantsStreamUsage);
    return this.#writer.delta({ role: 'assistant', content: '' });
  }

  #requireWriter(): ChunkWriter {
    this.#opening();
    if (!this.#writer) throw new Error('the first chunk makes the writer');
    return this.#writer;
  }

  #startBlock(index: unknown, block: JsonRecord): string {
    const opening = this.#opening();
    const type = stringOf(block['type']);
    const position =
      type === 'tool_use'
        ? this.#toolCalls++
        : type.endsWith('thinking')
          ? this.#thinkingBlocks++
          : this.#contentLength;
    const opened = openBlock(type, { block, position, notes: this.#request.notes, writer: this.#requireWriter() });
    if (!opened) return opening;
    this.#open.set(index, opened);
    return opening + opened.start() + this.#text(textOf(block['text']), textOf(block['thinking']));
  }

  #convertDelta(index: unknown, delta: JsonRecord): string {
    const { text, thinking } = delta;
    const taken = this.#open.get(index)?.add(delta) ?? '';
    return this.#text(textOf(text), textOf(thinking)) + taken;
  }

  #text(content: string | undefined, thinking: string | undefined): string {
    if (content === undefined && thinking === undefined) return '';
    const chunks = this.#opening();
    const writer = this.#requireWriter();
    this.#contentLength += content?.length ?? 0;
    return (
      chunks +
      (content === undefined ? '' : writer.text('content', content)) +
      (thinking === undefined ? '' : writer.text('reasoning_content', thinking))
    );
  }

  #stopBlock(index: unknown): string {
    const block = this.#open.get(index);
    this.#open.delete(index);
    return block?.stop(this.#contentLength) ?? '';
  }

  #recordEnd(delta: unknown, usage: unknown): string {
    if (isRecord(delta)) this.#refusal = explanationOf(delta['stop_details']) ?? this.#refusal;
    this.#reasoningTokens = readReasoningTokens(usage) ?? this.#reasoningTokens;
    return '';
  }

  #closing(): string {
    const opening = this.#opening();
    const writer = this.#requireWriter();
    // blocks that the provider has not stopped
    const rest = [...this.#open.keys()].map((index) => this.#stopBlock(index)).join('');
    const refusal = this.#refusal === undefined ? '' : writer.text('refusal', this.#refusal);
    const finish = writer.finish(finishReasonOf(this.#eventMeter.stopReason, this.#request.notes), this.#serviceTier);
    const usage = this.#request.wantsStreamUsage
      ? writer.usage(writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens), this.#reasoningTokens))
      : '';
    return opening + rest + refusal + finish + usage;
  }
}

/** An event without data that begins with a comment. */
function isComment(raw: Uint8Array): boolean {
  return raw.length > 2 && raw[0] === COLON;
}

const COLON = 0x3a;
