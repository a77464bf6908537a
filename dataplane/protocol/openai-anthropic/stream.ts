/**
 * Anthropic's events as OpenAI's chunks: the role first, then text, reasoning and tool calls as they come, the finish_reason, the
 * usage where the client asked for it, and [DONE], which is held back.
 */
import { EventMeter } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../error-words.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { DONE } from '../openai/chunks.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { openBlock } from './blocks.ts';
import type { OpenBlock } from './blocks.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { explanationOf, finishReasonOf, serviceTierOf, writeUsage } from './response.ts';

/** A sign of life that no client takes for an event. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NOTHING: readonly Uint8Array[] = [];

export class ChunksFromEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #events = new EventMeter();
  readonly #open = new Map<unknown, OpenBlock>();
  #writer: ChunkWriter | undefined;
  /** What was said so far, for what the last chunks say. */
  #contentLength = 0;
  #calls = 0;
  #thoughts = 0;
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
    return this.#events.meter;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return isComment(event.raw) ? [KEEP_ALIVE] : NOTHING;
    const data = parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return NOTHING;
    }
    return data ? this.#takeData(data) : NOTHING;
  }

  #takeData(data: JsonRecord): readonly Uint8Array[] {
    this.#events.take(data);
    if (data['type'] === 'ping') return [KEEP_ALIVE];
    const chunks = this.#convert(data);
    return chunks === '' ? NOTHING : [Buffer.from(chunks)];
  }

  finish(): StreamEnd {
    if (this.#end) return this.#end;
    // no message_stop, but the answer has said why it stopped
    return this.#events.stopReason === undefined ? { outcome: 'Cut' } : { outcome: 'Complete', last: Buffer.concat([Buffer.from(this.#closing()), DONE]) };
  }

  #convert(data: JsonRecord): string {
    switch (data['type']) {
      case 'content_block_delta': return isRecord(data['delta']) ? this.#takeDelta(data['index'], data['delta']) : '';
      case 'message_start': return this.#start(data['message']);
      case 'content_block_start': return isRecord(data['content_block']) ? this.#startBlock(data['index'], data['content_block']) : '';
      case 'content_block_stop': return this.#stopBlock(data['index']);
      case 'message_delta': return this.#noteEnd(data['delta'], data['usage']);
      case 'message_stop': {
        const closing = this.#closing();
        this.#end = { outcome: 'Complete', last: DONE };
        return closing;
      }
      // what is unknown has no counterpart
      default: return '';
    }
  }

  #start(message: unknown): string {
    if (!isRecord(message)) return this.#opening();
    this.#serviceTier = serviceTierOf(message['usage']);
    return this.#opening(textOf(message['model']));
  }

  /** The chunk with the role, the first time. */
  #opening(model: string = this.#request.model): string {
    if (this.#writer) return '';
    const { id, createdSeconds, wantsStreamUsage } = this.#request;
    this.#writer = new ChunkWriter({ id: `chatcmpl-${id}`, createdSeconds, model }, wantsStreamUsage);
    return this.#writer.delta({ role: 'assistant', content: '' });
  }

  #writing(): ChunkWriter {
    this.#opening();
    if (!this.#writer) throw new Error('the first chunk makes the writer');
    return this.#writer;
  }

  #startBlock(index: unknown, block: JsonRecord): string {
    const opening = this.#opening();
    const type = wordOf(block['type']);
    const place = type === 'tool_use' ? this.#calls++ : type.endsWith('thinking') ? this.#thoughts++ : this.#contentLength;
    const opened = openBlock(type, { block, place, notes: this.#request.notes, writer: this.#writing() });
    if (!opened) return opening;
    this.#open.set(index, opened);
    return opening + opened.begin() + this.#text(textOf(block['text']), textOf(block['thinking']));
  }

  #takeDelta(index: unknown, delta: JsonRecord): string {
    const { text, thinking } = delta;
    const taken = this.#open.get(index)?.take(delta) ?? '';
    return this.#text(textOf(text), textOf(thinking)) + taken;
  }

  #text(content: string | undefined, thinking: string | undefined): string {
    if (content === undefined && thinking === undefined) return '';
    const chunks = this.#opening();
    const writer = this.#writing();
    this.#contentLength += content?.length ?? 0;
    return chunks + (content === undefined ? '' : writer.text('content', content)) + (thinking === undefined ? '' : writer.text('reasoning_content', thinking));
  }

  #stopBlock(index: unknown): string {
    const block = this.#open.get(index);
    this.#open.delete(index);
    return block?.end(this.#contentLength) ?? '';
  }

  #noteEnd(delta: unknown, usage: unknown): string {
    if (isRecord(delta)) this.#refusal = explanationOf(delta['stop_details']) ?? this.#refusal;
    this.#reasoningTokens = readReasoningTokens(usage) ?? this.#reasoningTokens;
    return '';
  }

  #closing(): string {
    const opening = this.#opening();
    const writer = this.#writing();
    // blocks that their provider left open
    const rest = [...this.#open.keys()].map((index) => this.#stopBlock(index)).join('');
    const refusal = this.#refusal === undefined ? '' : writer.text('refusal', this.#refusal);
    const finish = writer.finish(finishReasonOf(this.#events.stopReason, this.#request.notes), this.#serviceTier);
    const usage = this.#request.wantsStreamUsage ? writer.usage(writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens), this.#reasoningTokens)) : '';
    return opening + rest + refusal + finish + usage;
  }
}

/** An event that says something, although nothing that is data. */
function isComment(raw: Uint8Array): boolean {
  return raw.length > 2 && raw[0] === COLON;
}

const COLON = 0x3a;
