/** Writes `activity.db` on a thread of its own, so that no call waits for SQLite. */
import { createFairWorker } from '../fair-worker.ts';
import type { ActivityBatch, ActivityWriter, ProxyStats } from '#activity/activity.ts';

export interface FileJob {
  readonly path: string;
  readonly nowMs: number;
  /** Each message has either a batch or figures. */
  readonly batch?: ActivityBatch;
  readonly figures?: ProxyStats;
}

export interface FileReply {
  /** Undefined if the write succeeded. */
  readonly failure: string | undefined;
}

/** Returns the writer, which starts its thread with the first batch. */
export function openActivityFileWriter(path: string, nowMs: () => number): ActivityWriter {
  let fault: unknown;
  const worker = createFairWorker<FileJob, FileReply>({
    module: new URL('worker.ts', import.meta.url),
    onFault: (error) => {
      fault = error;
    },
  });
  const run = async (job: Pick<FileJob, 'batch' | 'figures'>): Promise<void> => {
    const reply = await worker.run('', { path, nowMs: nowMs(), ...job });
    if (!reply) throw new Error('the thread of recent calls ended', { cause: fault });
    if (reply.failure !== undefined) throw new Error(reply.failure);
  };
  return {
    write: (batch) => run({ batch }),
    writeChannels: (figures) => run({ figures }),
    close: () => worker.close(),
  };
}
