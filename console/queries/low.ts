/** [P] When what is left counts as low. */

/** 80 % is spent, as the conditions QuotaLow and BalanceLow have it. */
export function isLow(spentNanoUsd: bigint, limitNanoUsd: bigint): boolean {
  return spentNanoUsd * 5n >= limitNanoUsd * 4n;
}
