/**
 * What is not answered in time is refused, once; time in which the process itself stood still does not count. How long
 * a call waits for the server is what the ledger's URL says.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { Bucket } from '#ledger/valkey/bucket.ts';
import { OutcomeUnknown } from '#ledger/valkey/replies.ts';
import { openValkeyLedger } from '#ledger/valkey.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { holdRequest } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { PATIENT } from './subject.ts';

const BEAT = { name: 'beat', args: [] };
const PAUSE_MS = '500';

/** A bucket whose server answers each batch when it is told to; a batch without operations at once. */
async function withBucket(
  timeoutMs: number, work: (bucket: Bucket, batches: ((reply: string) => void)[]) => Promise<void>,
): Promise<void> {
  const batches: ((reply: string) => void)[] = [];
  const opened = Promise.withResolvers<void>();
  const bucket = new Bucket({
    base: '{b}:', settings: {
      ...PATIENT, timeoutMs, keepMs: 1, records: 1, lenient: false, instance: 'one', clock: undefined,
    },
    connection: {
      run: (_base, batch) =>
        (batch.includes('beat') ? new Promise((resolve) => { batches.push(resolve); }) : Promise.resolve('ok')),
      read: () => assert.fail(), command: () => assert.fail(), write: () => assert.fail(),
      lastFailure: () => '', close: () => undefined,
    },
    collectRestores: async () => ({ operations: [], late: [] }),
    onRestored: () => undefined, latestStart: () => 0, onRejoined: () => undefined,
    onState: (state) => (state === 'Open' ? opened.resolve() : undefined),
  });
  bucket.start();
  await opened.promise;
  try {
    await work(bucket, batches);
  } finally {
    bucket.close();
  }
}

/** Nothing else of this process runs meanwhile. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

describe('a bucket', () => {
  it('refuses what is not answered in time, and says that it may have been done', () => withBucket(50, async (
    bucket, batches,
  ) => {
    const asked = bucket.execute(BEAT);
    await assert.rejects(asked, OutcomeUnknown);
    assert.equal(batches.length, 1);
    // what comes then counts no more
    batches[0]?.('ok\x1eok');
    await assert.rejects(asked, /does not answer/);
  }));

  it('refuses what it never sent as something that was not done', () => withBucket(50, async (bucket) => {
    // two batches are on their way
    for (let n = 0; n < 2; n++) {
      bucket.executeUntilAnswered(BEAT).catch(() => undefined);
      await turn();
    }
    await assert.rejects(bucket.execute(BEAT), (error) => error instanceof LedgerUnavailable &&
      !(error instanceof OutcomeUnknown));
  }));

  it('gives what it was asked its time after the process stood still', () => withBucket(100, async (
    bucket, batches,
  ) => {
    const asked = bucket.execute(BEAT);
    await turn();
    standStill(300);
    await turn();
    batches[0]?.('ok\x1eok');
    assert.deepEqual(await asked, ['ok']);
  }));
});

describe.skipIf(valkey.skip)('the parameter timeout-ms', () => {
  let server: Awaited<ReturnType<typeof startValkey>>;
  beforeAll(async () => {
    server = await startValkey();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('has a call wait for a server that pauses, or refuses it before', async () => {
    const open = (query: string): ReturnType<typeof openValkeyLedger> =>
      openValkeyLedger({ url: `${server.url}?${query}`, over: { refillMs: 0 } });
    const [hasty, patient] = [await open('prefix=hasty&timeout-ms=50'), await open('prefix=patient&timeout-ms=2000')];
    await server.command('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE');
    await Promise.all([
      assert.rejects(hasty.hold(holdRequest('a', 10n)), LedgerUnavailable),
      patient.hold(holdRequest('a', 10n)).then((result) => assert.deepEqual(result, HELD(10n))),
    ]);
    await Promise.all([hasty.close(), patient.close()]);
  });
});
