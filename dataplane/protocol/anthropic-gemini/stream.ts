/**
 * Converts the chunks of streamGenerateContent to Anthropic's events. Gemini has no terminal event: a stream is
 * complete when it ends after a chunk that says why the answer has stopped. A later chunk may still have the usage.
 */
import { MESSAGE_STOP, writeMessageEvent } from '../anthropic/write-event.ts';
import { openingMessage, writeTotals } from '../anthropic-openai/response.ts';
import type { Meter, StreamEnd, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { readGeminiStreamError } from '../gemini/errors.ts';
import { GeminiStreamMeter } from '../gemini/stream-meter.ts';
import { parseEventData } from '../json-value.ts';
import type { SseEvent } from '../sse.ts';
import { failStream } from '../stream-errors.ts';
import { fillUsage } from '../usage.ts';
import { endOf, partsOf, writeStop } from './response.ts';
import type { AnswerEnd } from './response.ts';
import { StreamBlocks } from './stream-blocks.ts';
import { FAILURES } from './table.ts';

const NO_EVENTS: readonly Uint8Array[] = [];

export class GeminiToEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #streamMeter = new GeminiStreamMeter();
  readonly #blocks: StreamBlocks;
  #started = false;
  #stop: AnswerEnd | undefined;
  #failure: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#blocks = new StreamBlocks(this.#streamMeter.tally, request);
  }

  get terminal(): boolean {
    return this.#failure !== undefined;
  }

  get meter(): Meter {
    return this.#streamMeter.meter;
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    const data = event.data === undefined ? undefined : parseEventData(unlisted(event.data));
    if (!data) return NO_EVENTS;
    return isGiven(data['error']) ? this.#fail(data) : this.#convert(data);
  }

  finish(): StreamEnd {
    if (this.#failure) return this.#failure;
    if (!this.#stop) return { outcome: 'Cut' };
    const usage = writeTotals(fillUsage(this.meter, this.#request.estimatedInputTokens));
    const delta = writeStop(this.#stop, this.#blocks.calledTools);
    const last = [
      ...this.#opening(),
      ...this.#blocks.close(),
      writeMessageEvent('message_delta', { delta, usage }),
      MESSAGE_STOP,
    ];
    return { outcome: 'Complete', last: Buffer.concat(last) };
  }

  #convert(data: JsonRecord): readonly Uint8Array[] {
    const end = endOf(data);
    this.#streamMeter.add(data['usageMetadata'], end !== undefined);
    if (end && FAILURES.values.has(end.reason))
      return this.#fail({
        error: {
          status: 'INTERNAL',
          message: `The model's output could not be read (${end.reason}).`,
        },
      });
    this.#stop ??= end;
    return [...this.#opening(), ...partsOf(data).flatMap((part) => this.#blocks.add(part))];
  }

  #fail(data: JsonRecord): readonly Uint8Array[] {
    this.#failure = failStream('Anthropic', readGeminiStreamError(data), this.#request.id);
    return NO_EVENTS;
  }

  #opening(): readonly Uint8Array[] {
    if (this.#started) return NO_EVENTS;
    this.#started = true;
    const usage = writeTotals({ ...fillUsage(this.meter, this.#request.estimatedInputTokens), output: 0 });
    return [writeMessageEvent('message_start', { message: openingMessage(this.#request, usage) })];
  }
}

/** Some errors come as a list of one. */
function unlisted(data: string): string {
  return data.trim().replace(/^\[([^]*)\]$/, '$1');
}
