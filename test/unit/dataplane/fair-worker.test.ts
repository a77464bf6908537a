/** A worker thread that serves keys in turn. */
import assert from 'node:assert/strict';
import { describe, it, onTestFinished } from 'vitest';
import { createFairWorker } from '../../../dataplane/fair-worker.ts';
import type { FairWorker, FairWorkerOptions } from '../../../dataplane/fair-worker.ts';

/** Responds to each job with its text in capitals, and exits at the job "crash". */
const MODULE = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ job }) => {
    if (job === 'crash') throw new Error('crashed');
    parentPort.postMessage({ reply: job.toUpperCase() });
  });
`)}`,
);

function start(options: Partial<FairWorkerOptions> = {}): FairWorker<string, string> {
  const worker = createFairWorker<string, string>({ module: MODULE, onFault: () => undefined, ...options });
  onTestFinished(() => worker.close());
  return worker;
}

describe('a fair worker', () => {
  it('serves keys in turn, however many jobs one of them has', async () => {
    const worker = start();
    const order: string[] = [];
    const run = async (key: string, job: string): Promise<void> => {
      order.push((await worker.run(key, job)) ?? 'nothing');
    };
    const hostile = Array.from({ length: 6 }, (_, index) => run('hostile', `h${index}`));
    await Promise.all([...hostile, run('a', 'a0'), run('b', 'b0'), run('a', 'a1')]);
    // H0 started before the others arrived
    assert.deepEqual(order, ['H0', 'H1', 'A0', 'B0', 'H2', 'A1', 'H3', 'H4', 'H5']);
  });

  it('accepts a limited number of jobs, of a key and in all, and returns nothing for the rest', async () => {
    const worker = start({ maxOfKey: 2, maxInAll: 3 });
    const answers = await Promise.all([
      worker.run('a', 'x'),
      worker.run('a', 'x'),
      worker.run('a', 'x'),
      worker.run('b', 'y'),
      worker.run('c', 'z'),
    ]);
    assert.deepEqual(answers, ['X', 'X', undefined, 'Y', undefined]);
    assert.equal(await worker.run('a', 'again'), 'AGAIN');
  });

  it('returns nothing if the thread fails, and starts another for the next job', async () => {
    const faults: unknown[] = [];
    const worker = start({ onFault: (error) => faults.push(error) });
    assert.deepEqual(await Promise.all([worker.run('a', 'crash'), worker.run('b', 'x')]), [undefined, undefined]);
    assert.equal(faults.length, 1);
    assert.equal(await worker.run('a', 'x'), 'X');
  });

  it('returns nothing after it is closed', async () => {
    const worker = start();
    const running = worker.run('a', 'x');
    await worker.close();
    assert.deepEqual([await running, await worker.run('a', 'x')], [undefined, undefined]);
  });
});
