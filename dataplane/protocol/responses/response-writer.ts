/**
 * Writes a whole answer of the Responses dialect: the events of a stream, in their order, or the response itself. A
 * stream ends with exactly one of completed, incomplete and failed, which hold the whole response.
 */
import type { ConversionNotes, ReportedUsage, StreamFailure } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { EventWriter } from '../clients/responses/event-writer.ts';
import type { IncompleteReason } from './incomplete-reason.ts';
import { ItemSequence } from './item-sequence.ts';
import { repeatedFields } from '../clients/responses/repeated-fields.ts';

export interface WriterOptions {
  /** The gateway's request id. */
  readonly id: string;
  readonly createdSeconds: number;
  readonly notes: ConversionNotes | undefined;
  readonly seal: ChannelSeal | undefined;
}

export interface ResponseEnd {
  readonly usage: ReportedUsage;
  /** Output tokens with which the model reasoned; undefined: not reported. */
  readonly reasoning: number | undefined;
  /** Undefined: the response is complete. */
  readonly incomplete: IncompleteReason | undefined;
}

export class ResponseWriter {
  readonly items: ItemSequence;
  readonly #events = new EventWriter();
  readonly #options: WriterOptions;
  #isOpen = false;
  #model = '';
  #serviceTier: string | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { notes, seal } = options;
    this.items = new ItemSequence({
      events: this.#events,
      idSuffix: suffixOf(options.id),
      tools: notes?.responseTools,
      keepsReasoning: notes?.keepsReasoning === true,
      seal,
    });
  }

  /** The tier that the provider says it served. */
  setServiceTier(tier: string | undefined): void {
    this.#serviceTier = tier ?? this.#serviceTier;
  }

  /** The first two events; empty after the first call. */
  open(model: string): string {
    if (this.#isOpen) return '';
    this.#isOpen = true;
    this.#model = model;
    const response = this.#response('in_progress', {});
    return (
      this.#events.write('response.created', `"response":${response}`) +
      this.#events.write('response.in_progress', `"response":${response}`)
    );
  }

  /** Closes the items: the events before the last one. */
  closeItems(incomplete: IncompleteReason | undefined): string {
    return this.items.close(incomplete === undefined ? 'completed' : 'incomplete');
  }

  /** The last event, after `closeItems`. */
  end(end: ResponseEnd): string {
    const status = statusOf(end);
    return this.#events.write(`response.${status}`, `"response":${this.write(end)}`);
  }

  /** The last event of an answer that has failed. Items that are not done are left out. */
  fail({ code, message }: StreamFailure, model: string): string {
    return (
      this.open(model) +
      this.#events.write('response.failed', `"response":${this.#response('failed', { error: { code, message } })}`)
    );
  }

  /** The whole response, after `closeItems`. */
  write(end: ResponseEnd): string {
    const { incomplete } = end;
    return this.#response(statusOf(end), {
      usage: writeUsage(end),
      ...(incomplete === undefined ? {} : { incomplete_details: { reason: incomplete } }),
    });
  }

  /** The model of a response that is not a stream. */
  setModel(model: string): void {
    this.#model = model;
  }

  #response(status: string, more: JsonRecord): string {
    const { id, createdSeconds, notes } = this.#options;
    const head = JSON.stringify({
      id: `resp_${suffixOf(id)}`,
      object: 'response',
      created_at: createdSeconds,
      status,
      model: this.#model,
      error: null,
      incomplete_details: null,
      usage: null,
      ...more,
      ...(this.#serviceTier === undefined ? {} : { service_tier: this.#serviceTier }),
    });
    return `${head.slice(0, -1)},${notes?.repeated ?? repeatedFields({})},"output":${this.items.json}}`;
  }
}

function statusOf({ incomplete }: ResponseEnd): 'completed' | 'incomplete' {
  return incomplete === undefined ? 'completed' : 'incomplete';
}

/** The request's id without its prefix. */
function suffixOf(id: string): string {
  return id.replace(/^(?:req|chatcmpl|msg)[-_]/, '');
}

/** Input tokens include those that were read from the cache and written to it. */
function writeUsage({ usage, reasoning }: ResponseEnd): JsonRecord {
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = usage;
  const written = (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0);
  const all = (input ?? 0) + (cached ?? 0) + written;
  return {
    input_tokens: all,
    input_tokens_details: { cached_tokens: cached ?? 0, cache_write_tokens: written },
    output_tokens: output ?? 0,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: all + (output ?? 0),
  };
}
