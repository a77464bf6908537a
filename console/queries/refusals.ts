/** [P] Asks for the refused calls that a person may see. */
import type { PageRequest } from '../route.ts';
import type { CallQuery } from '../data/usage.ts';
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';

const DAY_MS = 86_400_000;
const COUNTED_DAYS = 7;

/** The refusals of one account. If the store does not answer, the rest of the page is still shown. */
export async function readRefusals(
  { deps: { activity, log }, nowMs }: PageRequest,
  { accounts: [account], keyUid }: CallQuery,
  most: number,
): Promise<Refusals> {
  if (!activity || account === undefined) return 'Missing';
  const today = Math.floor(nowMs / DAY_MS);
  const query = { account, ...(keyUid !== undefined && { keyUid }) };
  try {
    const [counts, latest] = await Promise.all([
      activity.refusals({ ...query, fromDay: today - COUNTED_DAYS + 1, toDay: today }),
      activity.refused({ ...query, most }),
    ]);
    return { counts, latest, today };
  } catch (error) {
    log.warn({ err: error }, 'refused calls cannot be read');
    return 'Unavailable';
  }
}

/** Missing: none is known here. Unavailable: it does not answer. */
export type Refusals = RefusalFacts | 'Missing' | 'Unavailable';

export interface RefusalFacts {
  /** Of the last days, today's included. */
  readonly counts: readonly RefusalCount[];
  /** Newest first. */
  readonly latest: readonly ActivityEntry[];
  /** Today, in days since the epoch. */
  readonly today: number;
}
