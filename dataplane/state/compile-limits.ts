/** [P] Compiles the limits that objects of the snapshot state into the list that the ledger takes. */
import type { Limit, Measure } from '../ledger/ledger.ts';
import type { StatedLimits } from '../snapshot/faults.ts';

type Amounts = Readonly<Partial<Record<Measure, number | undefined>>>;

/** The order in which limits are taken, and the first full one is told. */
const MEASURES = ['Concurrency', 'Requests', 'InputTokens', 'OutputTokens'] as const;

/** If several entries state one limit, the lowest counts. */
export function compileLimits(scope: Limit['scope'], id: string, ...stated: readonly StatedLimits[]): readonly Limit[] {
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
