/** Writes `activity.db` on a thread of its own, so that no call waits for SQLite. */
import { createFairWorker } from '../fair-worker.ts';
import type { ActivityBatch, ActivityWriter } from './activity.ts';

export interface FileJob {
  readonly path: string;
  readonly nowMs: number;
  readonly batch: ActivityBatch;
}

export interface FileReply {
  /** Undefined: it is written. */
  readonly failure: string | undefined;
}

/** Starts the thread with the first batch. */
export function openActivityFileWriter(path: string, nowMs: () => number): ActivityWriter {
  let fault: unknown;
  const worker = createFairWorker<FileJob, FileReply>({
    module: new URL('worker.ts', import.meta.url), onFault: (error) => { fault = error; },
  });
  return {
    async write(batch) {
      const reply = await worker.run('', { path, nowMs: nowMs(), batch });
      if (!reply) throw new Error('the thread of recent calls ended', { cause: fault });
      if (reply.failure !== undefined) throw new Error(reply.failure);
    },
    close: () => worker.close(),
  };
}
