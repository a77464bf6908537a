/**
 * Finds out how jobs end although their clients never ask. One replica at a time claims a job, for a lease of a minute,
 * and polls it as often as its age asks for: after seconds at first, once a minute later on. A poll that fails is
 * repeated; after a day the job is given up.
 */
import type { Every } from '../clock.ts';
import type { JobRecord, JobState, Ledger } from '../ledger/ledger.ts';

export interface PollerDeps {
  readonly ledger: Pick<Ledger, 'claimJobs'>;
  /** Asks the job's provider for its state. */
  readonly poll: (job: JobRecord, signal: AbortSignal) => Promise<JobState>;
  /** Books the job's end. Rejects where the ledger cannot be reached. */
  readonly finish: (job: JobRecord, end: 'Completed' | 'Failed' | 'GivenUp') => Promise<void>;
  readonly nowMs: () => number;
  /** False: no channel is configured yet, so nothing can be polled. */
  readonly ready: () => boolean;
  readonly every: Every;
  /** Called for each poll that failed, or without a job where the ledger could not be asked for jobs. */
  readonly onTrouble: (error: unknown, job?: JobRecord) => void;
}

export interface Poller {
  /** Resolves when no poll is running any more. Other replicas claim the jobs once the leases have ended. */
  stop(): Promise<void>;
}

interface Claimed {
  readonly job: JobRecord;
  readonly untilMs: number;
  nextPollMs: number;
  /** Of the poll that is running. */
  polling: AbortController | undefined;
}

const TICK_MS = 1_000;
const LEASE_MS = 60_000;
const GIVE_UP_MS = 24 * 60 * 60 * 1_000;
const CLAIM_BATCH = 100;
const MAX_CLAIMED = 2_000;
const MAX_CONCURRENT_POLLS = 32;
/** Until a ledger that could not be reached is asked again. */
const LEDGER_BACKOFF_MS = 10_000;

const MIN_POLL_INTERVAL_MS = 3_000;
const MAX_POLL_INTERVAL_MS = 60_000;
const INTERVALS_PER_AGE = 4;

/** From one poll of a job of this age to the next, in milliseconds. */
export function pollIntervalAt(ageMs: number): number {
  return Math.min(MAX_POLL_INTERVAL_MS, Math.max(MIN_POLL_INTERVAL_MS, ageMs / INTERVALS_PER_AGE));
}

/** Starts at once; the first jobs are claimed with the first tick. */
export function startPoller(deps: PollerDeps): Poller {
  const { every } = deps;
  const claimed = new Map<string, Claimed>();
  const running = new Set<Promise<void>>();
  let claimNotBeforeMs = 0;
  let stopped = false;
  let claiming = false;

  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const pollDue = (): void => {
    if (stopped) return;
    for (const one of dueOf(claimed.values(), deps.nowMs())) track(poll(deps, claimed, one).finally(pollDue));
  };
  const tick = (): void => {
    if (!deps.ready()) return;
    const nowMs = deps.nowMs();
    for (const [id, one] of claimed) if (nowMs >= one.untilMs) release(claimed, id, one);
    pollDue();
    if (claiming || nowMs < claimNotBeforeMs || claimed.size >= MAX_CLAIMED) return;
    claiming = true;
    track(claim().finally(() => { claiming = false; }));
  };

  /** Never rejects. */
  const claim = async (): Promise<void> => {
    const nowMs = deps.nowMs();
    try {
      const jobs = await deps.ledger.claimJobs(nowMs, LEASE_MS, CLAIM_BATCH);
      const untilMs = nowMs + LEASE_MS;
      for (const job of jobs) claimed.set(idOf(job), { job, untilMs, nextPollMs: nowMs, polling: undefined });
      pollDue();
    } catch (error) {
      claimNotBeforeMs = nowMs + LEDGER_BACKOFF_MS;
      deps.onTrouble(error);
    }
  };

  const stopTicking = every(TICK_MS, tick);
  return {
    async stop() {
      stopTicking();
      stopped = true;
      for (const one of claimed.values()) one.polling?.abort();
      await Promise.all(running);
    },
  };
}

/** The jobs to poll now: one per channel at a time, because its slots are for its clients, and not too many in all. */
function dueOf(all: Iterable<Claimed>, nowMs: number): Claimed[] {
  const list = [...all];
  const busy = new Set(list.filter(({ polling }) => polling).map(({ job }) => job.origin.channel));
  const due: Claimed[] = [];
  for (const one of list.filter(({ polling, nextPollMs }) => !polling && nextPollMs <= nowMs)) {
    const { channel } = one.job.origin;
    if (busy.has(channel) || busy.size >= MAX_CONCURRENT_POLLS) continue;
    busy.add(channel);
    due.push(one);
  }
  return due;
}

/** Never rejects. */
async function poll(deps: PollerDeps, claimed: Map<string, Claimed>, one: Claimed): Promise<void> {
  const polling = one.polling = new AbortController();
  try {
    const end = await endOf(deps, one.job, polling.signal);
    if (end !== 'Running') {
      await deps.finish(one.job, end);
      claimed.delete(idOf(one.job));
    }
  } catch (error) {
    // a lease that ran out, or a process that stops, is no failure
    if (!polling.signal.aborted) deps.onTrouble(error, one.job);
  } finally {
    one.polling = undefined;
    one.nextPollMs = deps.nowMs() + pollIntervalAt(ageOf(deps, one.job));
  }
}

type PollResult = 'Running' | 'Completed' | 'Failed' | 'GivenUp';

/** A job that is too old is given up where its provider still does not say that it has ended. */
async function endOf(deps: PollerDeps, job: JobRecord, signal: AbortSignal): Promise<PollResult> {
  const isOld = ageOf(deps, job) >= GIVE_UP_MS;
  try {
    const state = await deps.poll(job, signal);
    return state === 'Running' && isOld ? 'GivenUp' : state;
  } catch (error) {
    if (!isOld || signal.aborted) throw error;
    deps.onTrouble(error, job);
    return 'GivenUp';
  }
}

function ageOf({ nowMs }: PollerDeps, { origin }: JobRecord): number {
  return nowMs() - origin.createdMs;
}

/** Another replica may have the job now, so a running poll is aborted. */
function release(claimed: Map<string, Claimed>, id: string, one: Claimed): void {
  one.polling?.abort();
  claimed.delete(id);
}

function idOf({ jobId, origin }: JobRecord): string {
  return `${origin.channel}\n${jobId}`;
}
