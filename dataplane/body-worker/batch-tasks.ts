/** Reads and writes parts of batches on the worker thread; small ones on the caller's thread. */
import { readLineFacts, splitRequests, writeLines } from '../protocol/batches/requests.ts';
import { readResults } from '../protocol/batches/results.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { BodyWorker } from './body-worker.ts';
import type { BodyResults, BodyTask } from './messages.ts';

const BATCH_TASKS = ['SplitRequests', 'LineFacts', 'WriteLines', 'ReadResults'] as const;

export type BatchTask = Extract<BodyTask, { readonly task: (typeof BATCH_TASKS)[number] }>;

/** Bytes below this number cost less on the thread that has them. */
const MIN_WORKER_BYTES = 16 * 1024;

export function isBatchTask(task: BodyTask): task is BatchTask {
  return BATCH_TASKS.some((name) => name === task.task);
}

/** Throws RequestFault or SyntaxError. */
export function runBatchTask(task: BatchTask, bytes: Uint8Array): BodyResults[BatchTask['task']] {
  switch (task.task) {
    case 'SplitRequests':
      return splitRequests(bytes);
    case 'LineFacts':
      return readLineFacts(task.form, bytes);
    case 'WriteLines': {
      const plans = task.plans.map(({ sealing, ...plan }) => ({
        ...plan,
        seal: sealing && createChannelSeal(sealing),
      }));
      return writeLines(task.form, bytes, { ...task, plans });
    }
    case 'ReadResults':
      return readResults(task.endpoint, bytes);
  }
}

/** Rejects with RequestFault, SyntaxError or GatewayError (too_busy). */
export async function runBatchPart<Task extends BatchTask>(
  worker: Pick<BodyWorker, 'run'>,
  key: string,
  task: Task,
  bytes: Uint8Array,
): Promise<BodyResults[Task['task']]> {
  // a message takes the whole memory that a part is a view of
  if (bytes.length >= MIN_WORKER_BYTES) return worker.run(key, task, new Uint8Array(bytes));
  // each task has the result of its kind
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return runBatchTask(task, bytes) as BodyResults[Task['task']];
}
