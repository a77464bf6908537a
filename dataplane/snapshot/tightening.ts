/**
 * [P] Changes that take something away from callers. They overtake all others on their way to the proxies, and a proxy
 * puts them in force before the rest of their round has come: nothing that they take away can be missed by what comes
 * later.
 */
import type { Account, Key } from './snapshot.gen.ts';

/** Whether a key opens less than before: revoked, refused, expiring sooner, or with less to spend. */
export function tightensKey(before: Key, after: Key): boolean {
  return (before.enabled && !after.enabled) || (before.refusal === '' && after.refusal !== '')
    || lower(before.expirationMs, after.expirationMs) || lower(before.limitNanoUsd, after.limitNanoUsd)
    || lower(before.maxConcurrency, after.maxConcurrency) || losesHash(before, after);
}

/** Whether an account has less credit than before. */
export function tightensAccount(before: Account, after: Account): boolean {
  return after.creditNanoUsd < before.creditNanoUsd;
}

/** Undefined: never, or without limit. */
function lower<T extends bigint | number>(before: T | undefined, after: T | undefined): boolean {
  return after !== undefined && (before === undefined || after < before);
}

function losesHash(before: Key, after: Key): boolean {
  return before.hashes.some(({ sha256, notAfterMs }) => {
    const still = after.hashes.find((each) => each.sha256 === sha256);
    return still === undefined || lower(notAfterMs, still.notAfterMs);
  });
}
