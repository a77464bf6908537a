/**
 * Converts OpenAI's chunks to Anthropic's events: message_start with estimated usage as soon as anything comes, the
 * blocks, message_delta with the reported usage, and message_stop, which is held back.
 */
import { MESSAGE_STOP, writeMessageEvent } from '../anthropic/write-event.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../stream-errors.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { isDone } from '../openai/done.ts';
import { callPieces, failedChunkError, FirstChoice, isFailedChunk } from '../openai/first-choice.ts';
import { contentText, reasoningOf } from '../openai/output.ts';
import { ChunkMeter } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { callIdPrefix, clientToolName, openingMessage, writeStop, writeUsage } from './response.ts';
import { BlockSequence } from './block-sequence.ts';
import { FAILURES } from './table.ts';

const COLON = 0x3a;
const COMMENT: Uint8Array = Buffer.from(': ping\n\n');
const PING: Uint8Array = writeMessageEvent('ping', {});
const NO_EVENTS: readonly Uint8Array[] = [];

export class ChunksToEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunkMeter = new ChunkMeter();
  readonly #blocks: BlockSequence;
  #started = false;
  readonly #choice = new FirstChoice();
  #refusal: string | undefined;
  #reasoningTokens: number | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#blocks = new BlockSequence({
      idPrefix: callIdPrefix(request.id),
      clientName: (name) => clientToolName(name, request.notes),
    });
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunkMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return this.#keepAlive(event.raw);
    if (isDone(event.data)) return this.#done();
    const chunk = parseEventData(event.data);
    if (event.event === 'error' || (chunk && isFailedChunk(chunk, FAILURES))) return this.#fail(chunk ?? event.data);
    const events = chunk ? this.#convertChunk(chunk) : '';
    return events === '' ? NO_EVENTS : [Buffer.from(events)];
  }

  #convertChunk(chunk: JsonRecord): string {
    this.#chunkMeter.add(chunk);
    if (isRecord(chunk['usage'])) this.#reasoningTokens = readReasoningTokens(chunk['usage']) ?? this.#reasoningTokens;
    return (
      this.#opening(textOf(chunk['model']), chunk['service_tier']) +
      this.#choice
        .deltasIn(chunk)
        .map((delta) => this.#convertDelta(delta))
        .join('')
    );
  }

  /** Some providers send no [DONE]: the stream is complete once every choice has finished. */
  finish(): StreamEnd {
    if (this.#end) return this.#end;
    return this.#chunkMeter.finished
      ? { outcome: 'Complete', last: Buffer.concat([Buffer.from(this.#closing()), MESSAGE_STOP]) }
      : { outcome: 'Cut' };
  }

  #fail(data: unknown): readonly Uint8Array[] {
    const error = readStreamError(failedChunkError(data, FAILURES));
    this.#end = failStream('Anthropic', error, this.#request.id);
    return NO_EVENTS;
  }

  /** Comments keep the connection alive. Before message_start clients expect no event, so that a comment is sent. */
  #keepAlive(raw: Uint8Array): readonly Uint8Array[] {
    if (raw[0] !== COLON) return NO_EVENTS;
    return [this.#started ? PING : COMMENT];
  }

  #done(): readonly Uint8Array[] {
    const closing = this.#closing();
    this.#end = { outcome: 'Complete', last: MESSAGE_STOP };
    return [Buffer.from(closing)];
  }

  #opening(model?: string, tier?: unknown): string {
    if (this.#started) return '';
    this.#started = true;
    const { id, estimatedInputTokens } = this.#request;
    const usage = writeUsage({ ...fillUsage(this.meter, estimatedInputTokens), output: 0 }, { tier });
    const message = openingMessage({ id, model: model ?? this.#request.model }, usage);
    return eventText('message_start', { message });
  }

  /** One chunk may hold several kinds of content and several tool calls. */
  #convertDelta(delta: JsonRecord): string {
    const { content, refusal } = delta;
    const thinking = reasoningOf(delta);
    let events = thinking === undefined ? '' : this.#blocks.addText('thinking', thinking);
    const text = contentText(content);
    if (text !== undefined) events += this.#blocks.addText('text', text);
    if (typeof refusal === 'string' && refusal !== '') events += this.#addRefusal(refusal);
    for (const { arguments: given, ...call } of callPieces(delta))
      events += this.#blocks.addTool({ ...call, text: stringOf(given) });
    return events;
  }

  #addRefusal(refusal: string): string {
    this.#refusal = (this.#refusal ?? '') + refusal;
    return this.#blocks.addText('text', refusal);
  }

  #closing(): string {
    const usage = writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens), {
      reasoning: this.#reasoningTokens,
    });
    const delta = writeStop({
      finishReason: this.#choice.finishReason,
      calledTools: this.#blocks.calledTools,
      refusal: this.#refusal,
    });
    return this.#opening() + this.#blocks.close() + eventText('message_delta', { delta, usage });
  }
}

function eventText(type: string, rest: JsonRecord): string {
  return Buffer.from(writeMessageEvent(type, rest)).toString('utf8');
}
