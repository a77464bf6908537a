/**
 * Meters a stream of Gemini's: each chunk repeats the usage so far, so that the latest counts, and it covers the whole
 * answer once the answer has ended.
 */
import type { Meter, ReportedUsage } from '../converter.ts';
import { OutputTally } from '../output-tally.ts';
import { mergeDefined, meterOf, UNREPORTED_USAGE } from '../usage.ts';
import { readUsage } from './usage.ts';

export class GeminiStreamMeter {
  readonly tally = new OutputTally();
  #reported: ReportedUsage = UNREPORTED_USAGE;
  #ended = false;

  get meter(): Meter {
    return meterOf(this.#reported, this.tally, this.#ended && this.#reported.output !== undefined);
  }

  /** `usage`: usageMetadata, if the chunk has it. `ended`: the chunk says why the answer has stopped. */
  add(usage: unknown, ended: boolean): void {
    this.#reported = mergeDefined(this.#reported, readUsage(usage));
    this.#ended ||= ended;
  }
}
