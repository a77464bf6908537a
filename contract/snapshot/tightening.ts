/**
 * [P] Finds changes that restrict callers. They are sent to the proxies before all others, and a proxy applies them
 * before the rest of their round has arrived: a restriction depends on nothing that comes later.
 */
import type { Account, Key, RateLimits } from './snapshot.gen.ts';

/** True if a key allows less than before: it was revoked or refused, expires sooner, or may spend less. */
export function tightensKey(before: Key, after: Key): boolean {
  return (
    (before.enabled && !after.enabled) ||
    (before.refusal === '' && after.refusal !== '') ||
    lower(before.expirationMs, after.expirationMs) ||
    lower(before.limitNanoUsd, after.limitNanoUsd) ||
    lower(before.maxConcurrency, after.maxConcurrency) ||
    lowerRates(before.rateLimits, after.rateLimits) ||
    losesHash(before, after)
  );
}

/** True if an account has less credit or a lower limit than before. */
export function tightensAccount(before: Account, after: Account): boolean {
  return after.creditNanoUsd < before.creditNanoUsd || lowerRates(before.rateLimits, after.rateLimits);
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
