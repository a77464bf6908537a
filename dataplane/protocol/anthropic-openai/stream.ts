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
import { parseEventData } from '../json-value.ts';
import { isDone } from '../openai/chunks.ts';
import { reasoningOf } from '../openai/output.ts';
import { ChunkMeter } from '../openai/stream-meter.ts';
import { readReasoningTokens } from '../openai/usage.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { fillUsage } from '../usage.ts';
import { callIdPrefix, messageId, nameOf, stopOf, writeUsage } from './response.ts';
import { BlockSequence } from './segments.ts';
import { FAILURES } from './table.ts';

const COLON = 0x3a;
const COMMENT: Uint8Array = Buffer.from(': ping\n\n');
const PING: Uint8Array = writeMessageEvent('ping', {});
const NOTHING: readonly Uint8Array[] = [];

export class EventsFromChunks implements EventHandler {
  readonly #request: StreamRequest;
  readonly #chunks = new ChunkMeter();
  readonly #blocks: BlockSequence;
  #started = false;
  /** Of the answers, the one that the client gets: the first that comes. */
  #choice: unknown;
  #finishReason: string | undefined;
  #refusal: string | undefined;
  #reasoningTokens: number | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#blocks = new BlockSequence({ idPrefix: callIdPrefix(request.id), nameOf: (name) => nameOf(name, request.notes) });
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunks.meter;
  }

  take(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return this.#keepAlive(event.raw);
    if (isDone(event.data)) return this.#done();
    const chunk = parseEventData(event.data);
    if (event.event === 'error' || (chunk && isFailure(chunk))) return this.#fail(chunk ?? event.data);
    const events = chunk ? this.#takeChunk(chunk) : '';
    return events === '' ? NOTHING : [Buffer.from(events)];
  }

  #takeChunk(chunk: JsonRecord): string {
    this.#chunks.take(chunk);
    if (isRecord(chunk['usage'])) this.#reasoningTokens = readReasoningTokens(chunk['usage']) ?? this.#reasoningTokens;
    return this.#opening(textOf(chunk['model']), chunk['service_tier']) + this.#takeChoices(itemsOf(chunk['choices']));
  }

  /** A provider that sends no [DONE]: its answer has finished, and so has the stream. */
  finish(): StreamEnd {
    if (this.#end) return this.#end;
    return this.#chunks.finished ? { outcome: 'Complete', last: Buffer.concat([Buffer.from(this.#closing()), MESSAGE_STOP]) } : { outcome: 'Cut' };
  }

  #fail(said: unknown): readonly Uint8Array[] {
    const reason = isRecord(said) ? failureOf(said) : undefined;
    const error = reason !== undefined && isRecord(said) && !isGiven(said['error']) ? { error: { type: FAILURES.words.get(reason), message: `The provider broke the answer off: ${reason}.` } } : said;
    this.#end = failStream('Anthropic', readStreamError(error), this.#request.id);
    return NOTHING;
  }

  /** Comments are signs of life; before the message has started no client expects an event. */
  #keepAlive(raw: Uint8Array): readonly Uint8Array[] {
    if (raw[0] !== COLON) return NOTHING;
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
    const message = {
      id: messageId(id), type: 'message', role: 'assistant', model: model ?? this.#request.model, content: [],
      stop_reason: null, stop_sequence: null, usage,
    };
    return textOfEvent('message_start', { message });
  }

  #takeChoices(choices: readonly unknown[]): string {
    let events = '';
    for (const choice of choices) {
      if (!isRecord(choice)) continue;
      this.#choice ??= choice['index'] ?? 0;
      if ((choice['index'] ?? 0) === this.#choice) events += this.#takeChoice(choice);
    }
    return events;
  }

  #takeChoice({ finish_reason: reason, delta }: JsonRecord): string {
    this.#finishReason = textOf(reason) ?? this.#finishReason;
    return isRecord(delta) ? this.#takeDelta(delta) : '';
  }

  /** One chunk may hold all of them, several calls too. */
  #takeDelta(delta: JsonRecord): string {
    const { content, refusal, tool_calls: calls, function_call: older } = delta;
    const thinking = reasoningOf(delta);
    let events = thinking === undefined ? '' : this.#blocks.addText('thinking', thinking);
    const text = contentOf(content);
    if (text !== undefined) events += this.#blocks.addText('text', text);
    if (typeof refusal === 'string' && refusal !== '') events += this.#addRefusal(refusal);
    if (Array.isArray(calls)) for (const call of calls) if (isRecord(call)) events += this.#addCall(call['index'], call);
    if (isRecord(older)) events += this.#addCall('function_call', { function: older });
    return events;
  }

  #addRefusal(refusal: string): string {
    this.#refusal = (this.#refusal ?? '') + refusal;
    return this.#blocks.addText('text', refusal);
  }

  #addCall(key: unknown, call: JsonRecord): string {
    const called = isRecord(call['function']) ? call['function'] : {};
    return this.#blocks.addTool({ key, id: textOf(call['id']), name: textOf(called['name']), text: wordOf(called['arguments']) });
  }

  #closing(): string {
    const usage = writeUsage(fillUsage(this.meter, this.#request.estimatedInputTokens), { reasoning: this.#reasoningTokens });
    const delta = stopOf({ finishReason: this.#finishReason, calledTools: this.#blocks.calledTools, refusal: this.#refusal });
    return this.#opening() + this.#blocks.close() + textOfEvent('message_delta', { delta, usage });
  }
}

/** An error, whatever stands beside it. */
function isFailure(chunk: JsonRecord): boolean {
  return (isGiven(chunk['error']) && !Array.isArray(chunk['choices'])) || failureOf(chunk) !== undefined;
}

function failureOf({ choices }: JsonRecord): string | undefined {
  const first: unknown = itemsOf(choices)[0];
  const reason = isRecord(first) ? first['finish_reason'] : undefined;
  return typeof reason === 'string' && FAILURES.words.has(reason) ? reason : undefined;
}

/** Text, or parts of it as Mistral's reasoning models send them. */
function contentOf(content: unknown): string | undefined {
  if (typeof content === 'string' || !Array.isArray(content)) return textOf(content);
  return textOf(content.filter(isRecord).map((part) => wordOf(part['text'])).join(''));
}

function textOfEvent(type: string, rest: JsonRecord): string {
  return Buffer.from(writeMessageEvent(type, rest)).toString('utf8');
}
