/**
 * Converts the events of ConverseStream to Anthropic's: message_start with estimated usage, the blocks, and with the
 * usage, which comes after the stop reason, message_delta and message_stop. The last is held back.
 */
import { MESSAGE_STOP, writeMessageEvent } from '../anthropic/write-event.ts';
import { openingMessage, writeTotals } from '../anthropic-openai/response.ts';
import type { Meter, ReportedUsage, StreamEnd, StreamRequest } from '../converter.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { OutputTally } from '../output-tally.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { failStream } from '../stream-errors.ts';
import { fillUsage, meterOf, UNREPORTED_USAGE } from '../usage.ts';
import { writeStop } from './response.ts';
import { StreamBlocks } from './stream-blocks.ts';
import { FAILURES } from './table.ts';
import { readUsage } from './usage.ts';

const NO_EVENTS: readonly Uint8Array[] = [];

export class ConverseToEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #tally = new OutputTally();
  readonly #blocks: StreamBlocks;
  #started = false;
  #reported: ReportedUsage = UNREPORTED_USAGE;
  #stopReason: string | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
    this.#blocks = new StreamBlocks(this.#tally, request.notes);
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return meterOf(this.#reported, this.#tally);
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    const data = event.data === undefined ? undefined : parseEventData(event.data);
    if (event.event === 'error') return this.#fail(data ?? event.data);
    return data ? this.#convert(event.event, data) : NO_EVENTS;
  }

  /** Estimates the usage of a message that stopped without reporting any. */
  finish(): StreamEnd {
    if (this.#end) return this.#end;
    if (this.#stopReason === undefined) return { outcome: 'Cut' };
    return { outcome: 'Complete', last: Buffer.concat([...this.#closing(), MESSAGE_STOP]) };
  }

  #convert(name: string | undefined, data: JsonRecord): readonly Uint8Array[] {
    switch (name) {
      case 'messageStart':
        return this.#opening();
      case 'contentBlockStart':
        return [...this.#opening(), ...this.#blocks.start(data)];
      case 'contentBlockDelta':
        return [...this.#opening(), ...this.#blocks.add(data)];
      case 'contentBlockStop':
        return this.#blocks.stop(data['contentBlockIndex']);
      case 'messageStop':
        return this.#stop(stringOf(data['stopReason']));
      case 'metadata':
        return this.#complete(data);
      default:
        return NO_EVENTS;
    }
  }

  #stop(reason: string): readonly Uint8Array[] {
    if (FAILURES.values.has(reason))
      return this.#fail({ type: FAILURES.values.get(reason), message: "The model's output could not be read." });
    this.#stopReason = reason;
    return this.#blocks.close();
  }

  /** Usage that comes before the stop reason is kept, and does not end the stream. */
  #complete({ usage, serviceTier }: JsonRecord): readonly Uint8Array[] {
    if (isRecord(usage)) this.#reported = readUsage(usage, serviceTier);
    if (this.#stopReason === undefined) return NO_EVENTS;
    const closing = this.#closing();
    this.#end = { outcome: 'Complete', last: MESSAGE_STOP };
    return closing;
  }

  #fail(error: unknown): readonly Uint8Array[] {
    this.#end = failStream('Anthropic', readStreamError(error), this.#request.id);
    return NO_EVENTS;
  }

  #opening(): readonly Uint8Array[] {
    if (this.#started) return NO_EVENTS;
    this.#started = true;
    const usage = writeTotals({ ...fillUsage(this.meter, this.#request.estimatedInputTokens), output: 0 });
    return [writeMessageEvent('message_start', { message: openingMessage(this.#request, usage) })];
  }

  #closing(): readonly Uint8Array[] {
    const usage = writeTotals(fillUsage(this.meter, this.#request.estimatedInputTokens));
    const delta = writeStop(this.#stopReason);
    return [...this.#opening(), ...this.#blocks.close(), writeMessageEvent('message_delta', { delta, usage })];
  }
}
