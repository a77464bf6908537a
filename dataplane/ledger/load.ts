/** [P] How much of a limit a call takes when it is admitted, and has used when it ends. */
import type { TokenCounts } from '#price/tokens.ts';
import { spanAt, windowOf } from '#ledger/periods.ts';
import type { Span } from '#ledger/periods.ts';
import type { Consumed, CountLimit, Limit, Load, MoneyLimit } from './ledger.ts';

/** A call that takes slots and requests only. */
export const NO_TOKENS_LOAD: Load = { inputTokens: 0, outputTokens: 0 };
/** A call that was refused before it was sent. */
export const NOTHING_CONSUMED: Consumed = { requests: 0, inputTokens: 0, outputTokens: 0 };
/** A request that was sent and consumed no tokens. */
export const REQUEST_CONSUMED: Consumed = { ...NOTHING_CONSUMED, requests: 1 };

/** The limits on money. */
export function moneyIn(limits: readonly Limit[]): readonly MoneyLimit[] {
  return limits.filter((limit) => limit.measure === 'UsdNano');
}

/** The limits on the number of calls or their tokens. */
export function countsIn(limits: readonly Limit[]): readonly CountLimit[] {
  return limits.filter((limit) => limit.measure !== 'UsdNano');
}

/** Whether a limit counts the calls that run. */
export function isConcurrency({ measure }: Pick<Limit, 'measure'>): boolean {
  return measure === 'Concurrency';
}

/** Whether a limit counts tokens by the minute. */
export function isOfTokens({ measure }: Pick<Limit, 'measure'>): boolean {
  return measure === 'InputTokens' || measure === 'OutputTokens';
}

/** The name of a limit's counter, by which two limits count the same. */
export function counterName({ measure, id }: CountLimit): string {
  return `${measure}/${id}`;
}

/** Whether two limits count the same, whatever they allow. */
function isSameCounter(a: CountLimit, b: CountLimit): boolean {
  return a.id === b.id && a.measure === b.measure;
}

/** The limits that a call has not taken yet. */
export function notCounted(
  taken: readonly { readonly limit: CountLimit }[] | undefined,
  limits: readonly CountLimit[],
): readonly CountLimit[] {
  return taken ? limits.filter((limit) => !taken.some((each) => isSameCounter(each.limit, limit))) : limits;
}

/**
 * What a call takes of a limit. A call that may take more than the whole limit takes all of it: it is admitted when
 * nothing else counts, and what it uses counts in full.
 */
export function amountOf({ measure, amount }: CountLimit, { inputTokens, outputTokens }: Load): number {
  switch (measure) {
    case 'Concurrency':
    case 'Requests':
      return 1;
    case 'InputTokens':
      return Math.min(inputTokens, amount);
    case 'OutputTokens':
      return Math.min(outputTokens, amount);
  }
}

/** What a call has used of a limit by the minute. */
export function usedOf({ measure }: CountLimit, { requests, inputTokens, outputTokens }: Consumed): number {
  switch (measure) {
    case 'Concurrency':
      return 0;
    case 'Requests':
      return requests;
    case 'InputTokens':
      return inputTokens;
    case 'OutputTokens':
      return outputTokens;
  }
}

/** What a settled call has consumed. Tokens that the provider read from its cache do not count. */
export function consumedBy({ input, cacheWrite5m, cacheWrite1h, output }: TokenCounts): Consumed {
  return { requests: 1, inputTokens: input + cacheWrite5m + cacheWrite1h, outputTokens: output };
}

/** The window of a limit that a call counts in if it is admitted at this moment; none for a limit on the total. */
export function spanOfLimit(limit: MoneyLimit, admittedMs: number): { readonly span?: Span } {
  const window = windowOf(limit);
  return window ? { span: spanAt(window.kind, admittedMs, window.timeZone) } : {};
}
