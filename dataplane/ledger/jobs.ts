/**
 * [P] Jobs that outlive their call, in memory: those that run, and those whose outcome is not in the ledger's file yet.
 * ledger-core.ts charges and refunds them.
 */
import type { JobBill, JobRecord, JobState } from './ledger.ts';
import type { CallOrigin } from '#usage/record.ts';

export interface Job {
  readonly jobId: string;
  readonly origin: CallOrigin;
  /** By which the exact cost is computed at the end; undefined: the charge is exact. */
  readonly terms: string | undefined;
  /** The amount and windows that were billed, which a refund reverses. */
  readonly costNanoUsd: bigint;
  /** When the call was admitted. */
  readonly admittedMs: number;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  state: JobState;
  /** What replaced the charge; undefined until then, and for a job that keeps its charge or is refunded. */
  bill: JobBill | undefined;
  /** The time of the next poll. */
  pollMs: number;
  /** Null while it runs. */
  endedMs: number | null;
}

export interface Jobs {
  readonly ofChannels: Map<string, Job>;
  readonly ofKeys: Map<string, Job>;
}

export function createJobs(): Jobs {
  return { ofChannels: new Map(), ofKeys: new Map() };
}

/** Combines an owner and a job id, which is unique within a channel and within a key. Names have no line break. */
function idWithin(owner: string, jobId: string): string {
  return `${owner}\n${jobId}`;
}

/** Adds a job; false if its channel already has one with this id. */
export function addJob(jobs: Jobs, job: Job): boolean {
  const id = idWithin(job.origin.channel, job.jobId);
  if (jobs.ofChannels.has(id)) return false;
  jobs.ofChannels.set(id, job);
  jobs.ofKeys.set(idWithin(job.origin.keyUid, job.jobId), job);
  return true;
}

/** Removes a job, for example once its outcome is in the file. */
export function forgetJob(jobs: Jobs, job: Job): void {
  jobs.ofChannels.delete(idWithin(job.origin.channel, job.jobId));
  const id = idWithin(job.origin.keyUid, job.jobId);
  if (jobs.ofKeys.get(id) === job) jobs.ofKeys.delete(id);
}

export function jobOfChannel(jobs: Jobs, channel: string, jobId: string): Job | undefined {
  return jobs.ofChannels.get(idWithin(channel, jobId));
}

export function jobOfKey(jobs: Jobs, keyUid: string, jobId: string): Job | undefined {
  return jobs.ofKeys.get(idWithin(keyUid, jobId));
}

export function countRunning({ ofKeys }: Jobs, keyUid: string): number {
  return ofKeys.values().reduce((count, { origin, state }) => {
    return state === 'Running' && origin.keyUid === keyUid ? count + 1 : count;
  }, 0);
}

/** True if the job's end changed the record of its call: it was refunded, or has a bill. */
export function changesCall({ state, bill }: Pick<Job, 'state' | 'bill'>): boolean {
  return state === 'Failed' || bill !== undefined;
}

export interface Claim {
  /** The time at which claimed jobs are due again. */
  readonly againMs: number;
  readonly limit: number;
}

/** Claims running jobs that are due. Accounts take turns; of one account, the longest overdue comes first. */
export function claimDue(jobs: Jobs, nowMs: number, { againMs, limit }: Claim): JobRecord[] {
  const due = [...jobs.ofChannels.values()].filter(({ state, pollMs }) => state === 'Running' && pollMs <= nowMs);
  due.sort((a, b) => a.pollMs - b.pollMs);
  return byTurns(due)
    .slice(0, Math.max(0, limit))
    .map((job) => {
      job.pollMs = nowMs + againMs;
      return recordOfJob(job);
    });
}

/** The first of each account, then the second of each, and so on. */
function byTurns(due: readonly Job[]): readonly Job[] {
  const counts = new Map<string, number>();
  const turns = due.map((job) => {
    const turn = counts.get(job.origin.account) ?? 0;
    counts.set(job.origin.account, turn + 1);
    return { job, turn };
  });
  return turns.sort((a, b) => a.turn - b.turn).map(({ job }) => job);
}

export function recordOfJob({ jobId, origin, state, terms }: Job): JobRecord {
  return { jobId, origin, state, ...(state === 'Running' && terms !== undefined && { terms }) };
}
