/**
 * [P] Jobs that providers go on with after their call is over: those that run, and those whose end is not in the file
 * yet. Their money is moved by ledger-core.ts.
 */
import type { JobRecord, JobState } from './ledger.ts';
import type { CallOrigin } from './usage-record.ts';

export interface Job {
  readonly jobId: string;
  readonly origin: CallOrigin;
  /** What was billed for it, and the windows that it was billed in: what a refund gives back, and where. */
  readonly costNanoUsd: bigint;
  readonly dayStartMs: number;
  readonly monthStartMs: number;
  state: JobState;
  /** When a poller is to look next. */
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

/**
 * A provider's id means something within its channel, and to the key that made the job. Neither name has a line break.
 */
function idWithin(owner: string, jobId: string): string {
  return `${owner}\n${jobId}`;
}

/** Adds a job, unless its channel has one of this id already. */
export function addJob(jobs: Jobs, job: Job): boolean {
  const id = idWithin(job.origin.channel, job.jobId);
  if (jobs.ofChannels.has(id)) return false;
  jobs.ofChannels.set(id, job);
  jobs.ofKeys.set(idWithin(job.origin.keyUid, job.jobId), job);
  return true;
}

/** Forgets a job, for example once its end is in the file. */
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

export interface Claim {
  /** Claimed jobs are due again after it. */
  readonly againMs: number;
  readonly limit: number;
}

/** Running jobs that are due, those that have waited longest first. */
export function claimDue(jobs: Jobs, nowMs: number, { againMs, limit }: Claim): JobRecord[] {
  const due = [...jobs.ofChannels.values()].filter(({ state, pollMs }) => state === 'Running' && pollMs <= nowMs);
  due.sort((a, b) => a.pollMs - b.pollMs);
  return due.slice(0, Math.max(0, limit)).map((job) => {
    job.pollMs = nowMs + againMs;
    return recordOfJob(job);
  });
}

/** What callers see of a job. */
export function recordOfJob({ jobId, origin, state }: Job): JobRecord {
  return { jobId, origin, state };
}
