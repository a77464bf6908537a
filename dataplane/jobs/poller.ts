/**
 * Polls running jobs, so that each is refunded or billed even if its client never asks for it. A replica leases a job
 * for a minute and polls it every few seconds at first, later once a minute; a failed poll is retried. After a day, or of a
 * batch after eight, the poller gives up, and after an hour if the provider no longer has the response or the batch.
 */
import type { Every } from '../clock.ts';
import { GatewayError } from '../errors.ts';
import type { JobRecord, Ledger } from '../ledger/ledger.ts';
import { isOfBatch } from '../pipeline/billing-terms.ts';
import type { EndedJob } from './job-outcome.ts';

export interface PollerDeps {
  readonly ledger: Pick<Ledger, 'claimJobs'>;
  /**
   * Asks the job's provider how it ended; undefined: it runs. `reading` is called before results are read, which may take
   * long.
   */
  readonly poll: (job: JobRecord, signal: AbortSignal, reading: () => void) => Promise<EndedJob | undefined>;
  /** Rejects if the ledger cannot be reached. */
  readonly recordEnd: (job: JobRecord, ended: EndedJob) => Promise<void>;
  readonly nowMs: () => number;
  /** False until the first configuration is in force, because no channel is known before. */
  readonly ready: () => boolean;
  readonly every: Every;
  /** Called for each failed poll, and without a job if the ledger cannot be reached. */
  readonly onError: (error: unknown, job?: JobRecord) => void;
}

export interface Poller {
  /** Resolves when the running polls have ended. Other replicas claim the jobs once the leases expire. */
  stop(): Promise<void>;
}

interface Claimed {
  readonly job: JobRecord;
  untilMs: number;
  nextPollMs: number;
  /** Cancels the running poll; undefined if none is running. */
  polling: AbortController | undefined;
  /** The running poll reads results, and other jobs of its channel are polled meanwhile. */
  isReading: boolean;
}

const TICK_MS = 1_000;
const LEASE_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1_000;
const GIVE_UP_MS = DAY_MS;
/** Providers give themselves from a day to a week, and keep the results for longer. */
const GIVE_UP_BATCH_MS = 8 * DAY_MS;
const LOST_MS = 60 * 60 * 1_000;
const CLAIM_BATCH = 100;
const MAX_CLAIMED = 2_000;
const MAX_CONCURRENT_POLLS = 32;
/** How many of them may be of batches, whose results take long to read. The others are for videos and responses. */
const MAX_BATCH_POLLS = 24;
/** How many of one channel may read results at a time. */
const MAX_READERS = 4;
/** The pause after a failure to reach the ledger. */
const LEDGER_BACKOFF_MS = 10_000;

const MIN_POLL_INTERVAL_MS = 3_000;
const MAX_POLL_INTERVAL_MS = 60_000;
const INTERVALS_PER_AGE = 4;

/** The pause before the next poll of a job of this age, in milliseconds. */
export function pollIntervalAt(ageMs: number): number {
  return Math.min(MAX_POLL_INTERVAL_MS, Math.max(MIN_POLL_INTERVAL_MS, ageMs / INTERVALS_PER_AGE));
}

/** Starts to poll; the first tick claims jobs. */
export function startPoller(deps: PollerDeps): Poller {
  const { every } = deps;
  const claimed = new Map<string, Claimed>();
  const running = new Set<Promise<void>>();
  const turns = createAccountTurns();
  let claimNotBeforeMs = 0;
  let stopped = false;
  let claiming = false;

  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const pollDue = (): void => {
    if (stopped) return;
    for (const entry of dueJobs(claimed.values(), deps.nowMs(), turns))
      track(poll(deps, claimed, { entry, reading: pollDue }).finally(pollDue));
  };
  const tick = (): void => {
    if (!deps.ready()) return;
    const nowMs = deps.nowMs();
    for (const [id, entry] of claimed) if (nowMs >= entry.untilMs && !readsOn(entry)) release(claimed, id, entry);
    pollDue();
    if (claiming || nowMs < claimNotBeforeMs || claimed.size >= MAX_CLAIMED) return;
    claiming = true;
    track(
      claim().finally(() => {
        claiming = false;
      }),
    );
  };

  /** Never rejects. */
  const claim = async (): Promise<void> => {
    const nowMs = deps.nowMs();
    try {
      const jobs = await deps.ledger.claimJobs(nowMs, LEASE_MS, CLAIM_BATCH);
      const untilMs = nowMs + LEASE_MS;
      for (const job of jobs) {
        const known = claimed.get(idOf(job));
        if (known && readsOn(known)) known.untilMs = untilMs;
        else claimed.set(idOf(job), { job, untilMs, nextPollMs: nowMs, polling: undefined, isReading: false });
      }
      pollDue();
    } catch (error) {
      claimNotBeforeMs = nowMs + LEDGER_BACKOFF_MS;
      deps.onError(error);
    }
  };

  const stopTicking = every(TICK_MS, tick);
  return {
    async stop() {
      stopTicking();
      stopped = true;
      for (const entry of claimed.values()) entry.polling?.abort();
      await Promise.all(running);
    },
  };
}

/**
 * The jobs to poll now. At most one per channel, so that most slots stay free for clients, besides a few whose results are
 * being read, and a limited number in all, of batches fewer.
 * Accounts take turns, so that one with thousands of jobs delays another's refund by one poll.
 */
function dueJobs(all: Iterable<Claimed>, nowMs: number, turns: AccountTurns): Claimed[] {
  const list = [...all];
  const polled = list.filter(({ polling }) => polling);
  const busy = busyChannels(polled);
  let free = MAX_CONCURRENT_POLLS - polled.length;
  let freeForBatches = MAX_BATCH_POLLS - polled.filter(({ job }) => isOfBatch(job.terms)).length;
  const due: Claimed[] = [];
  const waiting = list.filter(({ polling, nextPollMs }) => !polling && nextPollMs <= nowMs);
  for (const entry of waiting.sort((a, b) => turns.order(a.job, b.job))) {
    const {
      terms,
      origin: { channel },
    } = entry.job;
    const isBatch = isOfBatch(terms);
    if (busy.has(channel) || free <= 0 || (isBatch && freeForBatches <= 0)) continue;
    busy.add(channel);
    free--;
    freeForBatches -= Number(isBatch);
    turns.begin(entry.job);
    due.push(entry);
  }
  return due;
}

/** Those that are asked something, or whose results as many read as may. */
function busyChannels(polled: readonly Claimed[]): Set<string> {
  const busy = new Set<string>();
  const readers = new Map<string, number>();
  for (const { job, isReading } of polled) {
    const { channel } = job.origin;
    const reading = (readers.get(channel) ?? 0) + Number(isReading);
    readers.set(channel, reading);
    if (!isReading || reading >= MAX_READERS) busy.add(channel);
  }
  return busy;
}

interface AccountTurns {
  /** Sorts the account whose turn was longest ago first, and of one account those that a failure refunds in full. */
  order(a: JobRecord, b: JobRecord): number;
  begin(job: JobRecord): void;
}

function createAccountTurns(): AccountTurns {
  /** The accounts that had a turn, the latest one last. An account without jobs is forgotten after a while. */
  const latest = new Map<string, number>();
  let count = 0;
  const turnOf = ({ origin: { account } }: JobRecord): number => latest.get(account) ?? 0;
  return {
    order: (a, b) => turnOf(a) - turnOf(b) || Number(a.terms !== undefined) - Number(b.terms !== undefined),
    begin({ origin: { account } }) {
      latest.delete(account);
      latest.set(account, ++count);
      const [oldest] = latest.keys();
      if (latest.size > MAX_CLAIMED && oldest !== undefined) latest.delete(oldest);
    },
  };
}

interface Polled {
  readonly entry: Claimed;
  /** Called when it begins to read results. */
  readonly reading: () => void;
}

/** Never rejects. */
async function poll(deps: PollerDeps, claimed: Map<string, Claimed>, { entry, reading }: Polled): Promise<void> {
  const polling = (entry.polling = new AbortController());
  try {
    const ended = await endOf(deps, entry.job, polling.signal, () => {
      entry.isReading = true;
      reading();
    });
    if (ended) {
      await deps.recordEnd(entry.job, ended);
      claimed.delete(idOf(entry.job));
    }
  } catch (error) {
    // an expired lease or a stopping process aborts the poll, which is no error
    if (!polling.signal.aborted) deps.onError(error, entry.job);
  } finally {
    entry.polling = undefined;
    entry.isReading = false;
    entry.nextPollMs = deps.nowMs() + pollIntervalAt(ageOf(deps, entry.job));
  }
}

/**
 * Polls the job once. Gives up on a job older than GIVE_UP_MS that still runs or whose poll fails. Resolves with
 * undefined while the job runs.
 */
async function endOf(
  deps: PollerDeps,
  job: JobRecord,
  signal: AbortSignal,
  reading: () => void,
): Promise<EndedJob | undefined> {
  const isOld = ageOf(deps, job) >= (isOfBatch(job.terms) ? GIVE_UP_BATCH_MS : GIVE_UP_MS);
  try {
    return (await deps.poll(job, signal, reading)) ?? (isOld ? { end: 'GivenUp' } : undefined);
  } catch (error) {
    if (signal.aborted || !(isOld || isLost(deps, job, error))) throw error;
    deps.onError(error, job);
    return { end: 'GivenUp' };
  }
}

/** True for a batch whose results are being read, which may take longer than the lease: another reading does no harm. */
function readsOn({ polling, job }: Claimed): boolean {
  return polling !== undefined && isOfBatch(job.terms);
}

/** True if the end of a response or batch can no longer be learned: it is an hour old, and its provider does not have it. */
function isLost(deps: PollerDeps, job: JobRecord, error: unknown): boolean {
  return (
    job.terms !== undefined &&
    error instanceof GatewayError &&
    error.code === 'not_found' &&
    ageOf(deps, job) >= LOST_MS
  );
}

function ageOf({ nowMs }: PollerDeps, { origin }: JobRecord): number {
  return nowMs() - origin.createdMs;
}

/** Stops polling the job, and aborts a running poll, because another replica may have claimed the job. */
function release(claimed: Map<string, Claimed>, id: string, entry: Claimed): void {
  entry.polling?.abort();
  claimed.delete(id);
}

function idOf({ jobId, origin }: JobRecord): string {
  return `${origin.channel}\n${jobId}`;
}
