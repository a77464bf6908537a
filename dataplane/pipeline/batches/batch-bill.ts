/** [P] The bill of a batch: each request that succeeded counts as a call of its own, and their sum is rounded once. */
import { billOf, BillSum } from '#price/price.ts';
import { addTokens, NO_TOKENS } from '#price/tokens.ts';
import type { UsedResult } from '../../protocol/batches/results.ts';
import type { Meter } from '../../protocol/converter.ts';
import type { CallProgress, UsageSource } from '#usage/record.ts';
import { consumptionOf } from '../consumption.ts';
import type { BillingTerms, MeasuredConsumption } from '../consumption.ts';
import { mayBeServedAs } from './served-name.ts';

/** The later of two counts for a batch that has both. */
const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial', 'Implausible'];

export class BatchBill {
  readonly #terms: readonly BillingTerms[];
  /** Caches termsOf by the model that a result names. */
  readonly #fitting = new Map<string | undefined, readonly BillingTerms[]>();
  readonly #billed = new BillSum();
  readonly #upstream = new BillSum();
  #tokens = NO_TOKENS;
  #source: UsageSource = 'Provider';
  #count = 0;

  /** `terms`: of each of its requests, by their models. */
  constructor(terms: readonly BillingTerms[]) {
    this.#terms = terms;
  }

  /** How many requests have succeeded. */
  get count(): number {
    return this.#count;
  }

  /** Adds a request that succeeded. If several models may have served it, it is billed as the most expensive one. */
  add({ meter, model }: UsedResult): void {
    const fitting = this.#fitting.get(model) ?? termsOf(model, this.#terms);
    this.#fitting.set(model, fitting);
    const measured = fitting.map((terms) => measure(meter, terms));
    const dearest = measured.reduce((most, each) => (each.costNanoUsd > most.costNanoUsd ? each : most));
    this.#add(dearest);
  }

  #add({ terms: { bounds, candidate }, consumed }: Measured): void {
    const { tokens, usageSource, billed, upstream } = consumed;
    this.#billed.add(bounds.price, billed);
    if (candidate.cost && upstream) this.#upstream.add(candidate.cost, upstream);
    this.#tokens = addTokens(this.#tokens, tokens);
    if (SOURCES.indexOf(usageSource) > SOURCES.indexOf(this.#source)) this.#source = usageSource;
    this.#count++;
  }

  get progress(): CallProgress {
    return {
      ...this.#billed.bill,
      tokens: this.#tokens,
      usageSource: this.#source,
      ...(this.#terms.some(({ candidate }) => candidate.cost) && {
        upstreamCostNanoUsd: this.#upstream.bill.costNanoUsd,
      }),
    };
  }
}

/** The terms of each model that may have served a result; if none may have, those of all models. */
function termsOf(served: string | undefined, all: readonly BillingTerms[]): readonly BillingTerms[] {
  const fitting = all.filter(({ candidate }) => served !== undefined && mayBeServedAs(candidate.upstreamModel, served));
  return fitting.length > 0 ? fitting : all;
}

interface Measured {
  readonly terms: BillingTerms;
  readonly consumed: MeasuredConsumption;
  readonly costNanoUsd: bigint;
}

function measure(meter: Meter, terms: BillingTerms): Measured {
  const activity = { meter, sent: true, produced: true, holdLost: false, timedOut: false, countedOutput: undefined };
  const consumed = consumptionOf(activity, terms, 'Succeeded');
  return { terms, consumed, costNanoUsd: billOf(terms.bounds.price, consumed.billed).costNanoUsd };
}
