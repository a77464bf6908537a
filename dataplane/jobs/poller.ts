/**
 * Finds out how jobs end although their clients never ask. Of many replicas one at a time has a job, for a lease of a minute, and
 * looks at it within that as often as its age says: after seconds at first, once a minute later on. What cannot be asked now
 * is asked again; after a day it is given up.
 */
import type { JobRecord, JobState, Ledger } from '../ledger/ledger.ts';

export interface PollerDeps {
  readonly ledger: Pick<Ledger, 'claimJobs'>;
  /** What a job's provider says of it now. Rejects where it does not say. */
  readonly poll: (job: JobRecord, signal: AbortSignal) => Promise<JobState>;
  /** Puts a job's end into the books. Rejects where they cannot be reached. */
  readonly finish: (job: JobRecord, end: 'Completed' | 'Failed' | 'GivenUp') => Promise<void>;
  readonly nowMs: () => number;
  /** False: no channel is configured yet, so that nothing can be said of any job. */
  readonly ready: () => boolean;
  /** Calls `tick` regularly until the function that it returns is called. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
  /** Told of each look that was in vain, or (without a job) that the ledger gave none. */
  readonly onTrouble: (error: unknown, job?: JobRecord) => void;
}

export interface Poller {
  /** Resolves when nothing is being asked any more; what was claimed is claimed by others after its lease. */
  stop(): Promise<void>;
}

interface Claimed {
  readonly job: JobRecord;
  readonly untilMs: number;
  nextMs: number;
  asking: AbortController | undefined;
}

const TICK_MS = 1_000;
const LEASE_MS = 60_000;
const GIVE_UP_MS = 24 * 60 * 60 * 1_000;
const CLAIMED_AT_ONCE = 100;
const MOST_CLAIMED = 2_000;
const MOST_ASKED_AT_ONCE = 32;
/** A ledger that cannot be reached is not asked at every tick. */
const LEDGER_PAUSE_MS = 10_000;

const SHORTEST_PAUSE_MS = 3_000;
const LONGEST_PAUSE_MS = 60_000;
const PAUSES_PER_AGE = 4;

/** From one look at a job of this age to the next. */
export function pauseAtAge(ageMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ageMs / PAUSES_PER_AGE));
}

export function startPoller(deps: PollerDeps): Poller {
  const { every = everyInterval } = deps;
  const claimed = new Map<string, Claimed>();
  const running = new Set<Promise<void>>();
  let claimNotBeforeMs = 0;
  let stopped = false;
  let claiming = false;

  const track = (work: Promise<void>): void => {
    running.add(work);
    void work.finally(() => running.delete(work));
  };
  const askDue = (): void => {
    if (stopped) return;
    for (const one of dueOf(claimed.values(), deps.nowMs())) track(look(deps, claimed, one).finally(askDue));
  };
  const tick = (): void => {
    if (!deps.ready()) return;
    const nowMs = deps.nowMs();
    for (const [id, one] of claimed) if (nowMs >= one.untilMs) letGo(claimed, id, one);
    askDue();
    if (claiming || nowMs < claimNotBeforeMs || claimed.size >= MOST_CLAIMED) return;
    claiming = true;
    track(claim().finally(() => { claiming = false; }));
  };

  /** Never rejects. */
  const claim = async (): Promise<void> => {
    const nowMs = deps.nowMs();
    try {
      const jobs = await deps.ledger.claimJobs(nowMs, LEASE_MS, CLAIMED_AT_ONCE);
      for (const job of jobs) claimed.set(idOf(job), { job, untilMs: nowMs + LEASE_MS, nextMs: nowMs, asking: undefined });
      askDue();
    } catch (error) {
      claimNotBeforeMs = nowMs + LEDGER_PAUSE_MS;
      deps.onTrouble(error);
    }
  };

  const stopTicking = every(TICK_MS, tick);
  return {
    async stop() {
      stopTicking();
      stopped = true;
      for (const one of claimed.values()) one.asking?.abort();
      await Promise.all(running);
    },
  };
}

/** Those whose time has come: one of a channel at a time, as its slots are its clients', and so many in all. */
function dueOf(all: Iterable<Claimed>, nowMs: number): Claimed[] {
  const list = [...all];
  const busy = new Set(list.filter(({ asking }) => asking).map(({ job }) => job.origin.channel));
  const due: Claimed[] = [];
  for (const one of list.filter(({ asking, nextMs }) => !asking && nextMs <= nowMs)) {
    const { channel } = one.job.origin;
    if (busy.has(channel) || busy.size >= MOST_ASKED_AT_ONCE) continue;
    busy.add(channel);
    due.push(one);
  }
  return due;
}

/** Never rejects. */
async function look(deps: PollerDeps, claimed: Map<string, Claimed>, one: Claimed): Promise<void> {
  const asking = one.asking = new AbortController();
  try {
    const end = await endOf(deps, one.job, asking.signal);
    if (end !== 'Running') {
      await deps.finish(one.job, end);
      claimed.delete(idOf(one.job));
    }
  } catch (error) {
    // a lease that ran out, or a process that stops, is nobody's trouble
    if (!asking.signal.aborted) deps.onTrouble(error, one.job);
  } finally {
    one.asking = undefined;
    one.nextMs = deps.nowMs() + pauseAtAge(ageOf(deps, one.job));
  }
}

/** A job that is too old is given up where its provider still does not say that it has ended. */
async function endOf(deps: PollerDeps, job: JobRecord, signal: AbortSignal): Promise<'Running' | 'Completed' | 'Failed' | 'GivenUp'> {
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

/** Another replica may have the job now: what is being asked of it is stopped. */
function letGo(claimed: Map<string, Claimed>, id: string, one: Claimed): void {
  one.asking?.abort();
  claimed.delete(id);
}

function idOf({ jobId, origin }: JobRecord): string {
  return `${origin.channel}\n${jobId}`;
}

function everyInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
