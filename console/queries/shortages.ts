/** [P] Keys whose last call was refused for lack of money, and accounts that did not cover it. */
import { fundsOf } from '#activity/activity.ts';
import type { ActivityEntry, ActivityQuery } from '#activity/activity.ts';
import type { PageRequest } from '../route.ts';

/** A key's last call, refused for lack of money; the key has not been served since. */
export interface Shortage {
  readonly account: string;
  readonly keyUid: string;
  /** Whose money was lacking. */
  readonly of: ReturnType<typeof fundsOf>;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** The quota, the credit or the limit that did not cover the call. A higher one since may cover it. */
  readonly limitNanoUsd: bigint;
}

/** Of these keys, or of all keys of these accounts. None if the store does not answer. */
export async function readShortages(
  { deps: { activity, log } }: Pick<PageRequest, 'deps'>,
  queries: readonly ActivityQuery[],
): Promise<readonly Shortage[]> {
  if (!activity || queries.length === 0) return [];
  try {
    return (await activity.shortages(queries)).flatMap(shortageOf);
  } catch (error) {
    log.warn({ err: error }, 'refused calls cannot be read');
    return [];
  }
}

/** Undefined without a limit: running calls held the missing money, which is released when they end. */
function shortageOf(entry: ActivityEntry): Shortage[] {
  const { account, keyUid, atMs, exceededLimitNanoUsd } = entry;
  if (exceededLimitNanoUsd === undefined || !/^-?\d+$/.test(exceededLimitNanoUsd)) return [];
  return [{ account, keyUid, atMs, of: fundsOf(entry), limitNanoUsd: BigInt(exceededLimitNanoUsd) }];
}
