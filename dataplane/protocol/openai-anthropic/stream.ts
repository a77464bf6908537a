/**
 * Anthropic's events as OpenAI's chunks: the role first, then text, reasoning and tool calls as they come, the finish_reason, the
 * usage where the client asked for it, and [DONE], which is held back.
 */
import { deltaPattern } from '../anthropic/delta-pattern.ts';
import { EventMeter } from '../anthropic/stream-meter.ts';
import { readReasoningTokens } from '../anthropic/usage.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../error-words.ts';
import type { EventPattern } from '../event-pattern.ts';
import type { Converted, Heed } from '../event-rewrite.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-text.ts';
import { DONE } from '../openai/chunks.ts';
import { readStreamError } from '../provider-errors.ts';
import type { Skimming } from '../skim.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { openBlock } from './blocks.ts';
import type { OpenBlock } from './blocks.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { explanationOf, finishReasonOf, serviceTierOf, writeUsage } from './response.ts';

/** A sign of life that no client takes for an event. */
const KEEP_ALIVE: Uint8Array = Buffer.from(': ping\n\n');
const NOTHING: readonly Uint8Array[] = [];

/** The usual deltas, and where they have their text. */
const TEXTS: ReadonlyMap<unknown, string> = new Map([['text_delta', 'text'], ['thinking_delta', 'thinking'], ['input_json_delta', 'partial_json']]);

export class ChunksFromEvents implements EventHandler, Skimming {
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
  /** The latest event, if it was a delta with generated text. */
  #latest: { readonly data: JsonRecord; readonly outputBytes: number } | undefined;
  #outdated = false;

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

  /** Deltas only bring more of their block; whatever else says something may begin or end one. */
  get outdated(): boolean {
    return this.#outdated;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    this.#latest = undefined;
    this.#outdated = false;
    if (event.data === undefined) return isComment(event.raw) ? [KEEP_ALIVE] : NOTHING;
    const data = parseEventData(event.data);
    if (event.event === 'error' || data?.['type'] === 'error') {
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return NOTHING;
    }
    return data ? this.#takeData(data) : NOTHING;
  }

  #takeData(data: JsonRecord): readonly Uint8Array[] {
    const outputBytes = this.#events.take(data);
    if (data['type'] === 'ping') return [KEEP_ALIVE];
    if (data['type'] !== 'content_block_delta') this.#outdated = true;
    else if (outputBytes > 0) this.#latest = { data, outputBytes };
    const chunks = this.#convert(data);
    return chunks === '' ? NOTHING : [Buffer.from(chunks)];
  }

  learn(event: SseEvent, written: Uint8Array | undefined): EventPattern | undefined {
    const latest = this.#latest;
    this.#latest = undefined;
    const converted = latest && written && this.#convertedAs(latest.data, written);
    return converted && deltaPattern(event, { ...latest, converted });
  }

  skimmed(outputBytes: number): void {
    this.#events.produce(outputBytes);
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

  /** Undefined: a delta that is more than one text. */
  #convertedAs({ index, delta }: JsonRecord, written: Uint8Array): Converted | undefined {
    const writer = this.#writer;
    const member = isRecord(delta) && Object.keys(delta).length === 2 ? TEXTS.get(delta['type']) : undefined;
    if (!writer || member === undefined) return undefined;
    return { written, after: member === 'partial_json' ? writer.afterArguments : writer.afterText, heed: this.#heedOf(member, index) };
  }

  /** What is remembered of a delta: how long the content is, and what was thought. */
  #heedOf(member: string, index: unknown): Heed | undefined {
    if (member === 'text') return ({ textLength }) => void (this.#contentLength += textLength);
    const block = member === 'thinking' ? this.#open.get(index) : undefined;
    return block && ((match, store) => void block.take({ thinking: match.readText(store) }));
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
