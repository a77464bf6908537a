/** [P] Asks for the refused calls that a person may see. */
import type { PageRequest } from '../route.ts';
import type { CallQuery } from '../data/usage.ts';
import { COUNT_DAYS, ENTRY_DAYS } from '#activity/activity.ts';
import type { ActivityEntry, ActivityQuery, RefusalCount } from '#activity/activity.ts';
import { mapConcurrently } from '../access/rights.ts';

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

/** Which entries are listed. */
interface ListedEntries {
  readonly most: number;
  readonly matches: (entry: ActivityEntry) => boolean;
}

/**
 * The refused calls of many accounts: counts of whole UTC days, and the latest matching entries of the time that is asked
 * for. Only accounts that refused calls while entries are kept are asked for entries.
 */
export async function readRefusalsOfAll(
  { deps: { activity, log }, nowMs }: Pick<PageRequest, 'deps' | 'nowMs'>,
  query: CallQuery,
  { most, matches }: ListedEntries,
): Promise<Refusals> {
  if (!activity) return 'Missing';
  const { sinceMs = 0, untilMs = nowMs + 1 } = query;
  const queries = activityQueries(query);
  const today = Math.floor(nowMs / DAY_MS);
  const [fromDay, toDay] = [Math.floor(sinceMs / DAY_MS), Math.min(Math.floor((untilMs - 1) / DAY_MS), today)];
  const firstDay = Math.max(fromDay, today - COUNT_DAYS + 1);
  try {
    const counted = await mapConcurrently(queries, CONCURRENCY, async (each) => ({
      query: each,
      counts: await activity.refusals({ ...each, fromDay: firstDay, toDay }),
    }));
    const refusing = counted.filter(({ counts }) => counts.some(({ day }) => day > today - ENTRY_DAYS - 1));
    const lists = await mapConcurrently(refusing, CONCURRENCY, async ({ query: each }) =>
      (await activity.refused({ ...each, most: MAX_KEPT })).filter(
        (entry) => entry.atMs >= sinceMs && entry.atMs < untilMs && matches(entry),
      ),
    );
    const latest = lists
      .flat()
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, most);
    return { counts: counted.flatMap(({ counts }) => counts), latest, today };
  } catch (error) {
    log.warn({ err: error }, 'refused calls cannot be read');
    return 'Unavailable';
  }
}

/** More entries than stores keep of an account: matching ones may be older than many others. */
const MAX_KEPT = 100_000;
/** Stores answer so many accounts at a time. */
const CONCURRENCY = 16;

/** One for each account, or for each of its keys where only these are asked for. */
function activityQueries({ accounts, keysOf = {}, keyUid }: CallQuery): ActivityQuery[] {
  return [...new Set(accounts)].flatMap((account): ActivityQuery[] => {
    const uids = keysOf[account] ?? (keyUid === undefined ? undefined : [keyUid]);
    if (uids === undefined) return [{ account }];
    return uids.filter((uid) => keyUid === undefined || uid === keyUid).map((uid) => ({ account, keyUid: uid }));
  });
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
