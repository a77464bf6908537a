/**
 * Meters a stream of Gemini's. Each chunk repeats the counts so far, and some leave out what earlier chunks have told:
 * the counts are merged as they are, and their classes, which overlap, are told apart afterwards.
 */
import type { Meter } from '../converter.ts';
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { OutputTally } from '../output-tally.ts';
import { largerCounts, meterOf } from '../usage.ts';
import { readUsage } from './usage.ts';

export class GeminiStreamMeter {
  readonly tally = new OutputTally();
  /** usageMetadata of all chunks. */
  #counts: JsonRecord = {};
  #ended = false;

  get meter(): Meter {
    return meterOf(readUsage(this.#counts), this.tally, this.#ended);
  }

  /** `usage`: usageMetadata, if the chunk has it. `ended`: the chunk says why the answer has stopped. */
  add(usage: unknown, ended: boolean): void {
    if (isRecord(usage)) this.#counts = largerCounts(this.#counts, usage);
    this.#ended ||= ended;
  }
}
