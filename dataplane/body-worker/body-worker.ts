/**
 * Reads and converts large request bodies on a worker thread, and bodies with so many values that they would block the
 * event loop. The main thread copies the bytes there and gets small facts or new bytes back.
 */
import { GatewayError } from '../errors.ts';
import { createFairWorker } from '../fair-worker.ts';
import type { FairWorkerOptions } from '../fair-worker.ts';
import { RequestFault } from '../protocol/call-facts.ts';
import type { BodyJob, BodyReply, BodyResults, BodyTask } from './messages.ts';

export interface BodyWorker {
  /**
   * Rejects with RequestFault if the request is invalid, with SyntaxError if a kept response is no JSON, and with
   * GatewayError (too_busy) if the thread ended. @param key jobs of different keys take turns
   */
  run<Task extends BodyTask>(key: string, task: Task, bytes: Uint8Array): Promise<BodyResults[Task['task']]>;
  close(): Promise<void>;
}

const RETRY_SECONDS = 1;

/** Starts the thread with the first job. */
export function createBodyWorker({ onFault }: Pick<FairWorkerOptions, 'onFault'>): BodyWorker {
  const module = new URL('./worker.ts', import.meta.url);
  const worker = createFairWorker<BodyJob, BodyReply>({ module, onFault });
  return {
    async run<Task extends BodyTask>(key: string, task: Task, bytes: Uint8Array) {
      const result = resultOf(await worker.run(key, { ...task, bytes }));
      // the worker replies to each task with the result of that task's kind
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return result as BodyResults[Task['task']];
    },
    close: () => worker.close(),
  };
}

function resultOf(reply: BodyReply | undefined): BodyResults[keyof BodyResults] {
  if (!reply)
    throw new GatewayError('too_busy', 'This process could not read the body. Try again shortly.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
  if (reply.outcome === 'Done') return reply.result;
  if (reply.outcome === 'Failed') throw reply.error;
  const { code, message, param } = reply.fault;
  throw new RequestFault(code, message, param);
}
