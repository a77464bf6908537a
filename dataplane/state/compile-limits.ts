/** [P] Compiles the limits on calls that objects of the snapshot state into the list that the ledger takes. */
import type { CountLimit, CountMeasure, Scope } from '../ledger/ledger.ts';
import type { StatedLimits } from '#snapshot/faults.ts';

type Amounts = Readonly<Partial<Record<CountMeasure, number | undefined>>>;

/** The order in which limits are taken, and the first full one is told. */
const MEASURES = ['Concurrency', 'Requests', 'InputTokens', 'OutputTokens'] as const;

/** If several entries state one limit, the lowest counts. */
export function compileLimits(scope: Scope, id: string, ...stated: readonly StatedLimits[]): readonly CountLimit[] {
  const all = stated.map(amountsOf);
  return MEASURES.flatMap((measure) => {
    const amount = Math.min(...all.map((amounts) => amounts[measure] ?? Infinity));
    return amount === Infinity ? [] : [{ scope, id, measure, amount }];
  });
}

function amountsOf({ maxConcurrency, rateLimits }: StatedLimits): Amounts {
  return {
    Concurrency: maxConcurrency,
    Requests: rateLimits?.requestsPerMinute,
    InputTokens: rateLimits?.inputTokensPerMinute,
    OutputTokens: rateLimits?.outputTokensPerMinute,
  };
}
