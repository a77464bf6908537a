/** [P] The bill of a batch: each request that succeeded counts as a call of its own, and their sum is rounded once. */
import { BillSum } from '#price/price.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { TokenCounts } from '#price/tokens.ts';
import type { Meter } from '../../protocol/converter.ts';
import type { CallProgress, UsageSource } from '#usage/record.ts';
import { consumptionOf } from '../consumption.ts';
import type { BillingTerms } from '../consumption.ts';

/** The later of two counts for a batch that has both. */
const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial', 'Implausible'];

export class BatchBill {
  readonly #terms: BillingTerms;
  readonly #billed = new BillSum();
  readonly #upstream = new BillSum();
  #tokens = NO_TOKENS;
  #source: UsageSource = 'Provider';
  #count = 0;

  /** `terms`: of each of its requests. */
  constructor(terms: BillingTerms) {
    this.#terms = terms;
  }

  /** How many requests have succeeded. */
  get count(): number {
    return this.#count;
  }

  /** Adds a request that succeeded. */
  add(meter: Meter): void {
    const { bounds, candidate } = this.#terms;
    const activity = { meter, sent: true, produced: true, holdLost: false, timedOut: false, countedOutput: undefined };
    const { tokens, usageSource, billed, upstream } = consumptionOf(activity, this.#terms, 'Succeeded');
    this.#billed.add(bounds.price, billed);
    if (candidate.cost && upstream) this.#upstream.add(candidate.cost, upstream);
    this.#tokens = added(this.#tokens, tokens);
    if (SOURCES.indexOf(usageSource) > SOURCES.indexOf(this.#source)) this.#source = usageSource;
    this.#count++;
  }

  get progress(): CallProgress {
    return {
      ...this.#billed.bill,
      tokens: this.#tokens,
      usageSource: this.#source,
      ...(this.#terms.candidate.cost && { upstreamCostNanoUsd: this.#upstream.bill.costNanoUsd }),
    };
  }
}

function added(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
    cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
    output: a.output + b.output,
  };
}
