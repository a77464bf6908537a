/**
 * [P] Finds changes that restrict callers. They are sent to the proxies before all others, and a proxy applies them
 * before the rest of their round has arrived: a restriction depends on nothing that comes later.
 */
import { Period } from './snapshot.gen.ts';
import type { Account, Key, RateLimits, SpendingLimit } from './snapshot.gen.ts';

/** True if a key allows less than before: it was revoked or refused, expires sooner, or may spend less. */
export function tightensKey(before: Key, after: Key): boolean {
  return (
    (before.enabled && !after.enabled) ||
    (before.refusal === '' && after.refusal !== '') ||
    lower(before.expirationMs, after.expirationMs) ||
    lower(amountOf(before), amountOf(after)) ||
    lower(before.maxConcurrency, after.maxConcurrency) ||
    lowerRates(before.rateLimits, after.rateLimits) ||
    losesHash(before, after)
  );
}

/** True if an account has less credit or a lower limit than before. */
export function tightensAccount(before: Account, after: Account): boolean {
  return (
    lower(creditOf(before), creditOf(after)) ||
    after.limits.some((limit) => isTighter(before.limits, limit)) ||
    lowerRates(before.rateLimits, after.rateLimits)
  );
}

/** What a key may spend in its period. */
function amountOf({ quota, limitNanoUsd }: Key): bigint | undefined {
  return quota ? quota.nanoUsd : limitNanoUsd;
}

function creditOf({ limitedCreditNanoUsd, creditNanoUsd }: Account): bigint {
  return limitedCreditNanoUsd ?? creditNanoUsd;
}

/** True if no limit of the same period allowed as little before. */
function isTighter(before: readonly SpendingLimit[], { nanoUsd, period, timeZone }: SpendingLimit): boolean {
  const same = before.filter(
    (each) => each.period === period && (period === Period.NEVER || each.timeZone === timeZone),
  );
  return same.every((each) => lower(each.nanoUsd, nanoUsd));
}

function lowerRates(before: RateLimits | undefined, after: RateLimits | undefined): boolean {
  return (
    lower(before?.requestsPerMinute, after?.requestsPerMinute) ||
    lower(before?.inputTokensPerMinute, after?.inputTokensPerMinute) ||
    lower(before?.outputTokensPerMinute, after?.outputTokensPerMinute)
  );
}

/** True if the bound is lower than before; undefined means no bound. */
function lower<T extends bigint | number>(before: T | undefined, after: T | undefined): boolean {
  return after !== undefined && (before === undefined || after < before);
}

function losesHash(before: Key, after: Key): boolean {
  return before.hashes.some(({ sha256, notAfterMs }) => {
    const still = after.hashes.find((each) => each.sha256 === sha256);
    return still === undefined || lower(notAfterMs, still.notAfterMs);
  });
}
