/**
 * An operation without a reply in time is rejected, once; time in which the process itself was suspended does not
 * count. The ledger's URL sets how long a call waits for the server.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { Bucket } from '../../../../../dataplane/ledger/valkey/bucket.ts';
import { OutcomeUnknown } from '../../../../../dataplane/ledger/valkey/replies.ts';
import type { Reply } from '../../../../../dataplane/ledger/valkey/replies.ts';
import { BEAT } from '../../../../../dataplane/ledger/valkey/operations.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { holdRequest } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { LONG_TIMEOUT } from './subject.ts';

const PAUSE_MS = '500';

const OK: Reply = { is: 'ok' };
const ANSWERED = JSON.stringify([OK, OK]);

/** A bucket whose server replies to each batch on request, and to an empty batch at once. */
async function withBucket(
  timeoutMs: number,
  work: (bucket: Bucket, batches: ((reply: string) => void)[]) => Promise<void>,
): Promise<void> {
  const batches: ((reply: string) => void)[] = [];
  const opened = Promise.withResolvers<void>();
  const bucket = new Bucket({
    base: '{b}:',
    settings: {
      ...LONG_TIMEOUT,
      timeoutMs,
      keepMs: 1,
      records: 1,
      lenient: false,
      instance: 'one',
      clock: undefined,
    },
    connection: {
      run: (_base, batch) =>
        batch.includes('beat')
          ? new Promise((resolve) => {
              batches.push(resolve);
            })
          : Promise.resolve(JSON.stringify([OK])),
      read: () => assert.fail(),
      command: () => assert.fail(),
      write: () => assert.fail(),
      lastFailure: () => '',
      close: () => undefined,
    },
    collectRestores: async () => ({ operations: [], late: [] }),
    onRestored: () => undefined,
    onLost: () => undefined,
    latestStart: () => 0,
    onRejoined: () => undefined,
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

/** Blocks this process. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('a bucket', () => {
  it('rejects an operation without a reply in time as possibly done', () =>
    withBucket(50, async (bucket, batches) => {
      const asked = bucket.execute(BEAT);
      await assert.rejects(asked, OutcomeUnknown);
      assert.equal(batches.length, 1);
      // later replies are ignored
      batches[0]?.(ANSWERED);
      await assert.rejects(asked, /does not answer/);
    }));

  it('rejects an operation that it never sent as not done', () =>
    withBucket(50, async (bucket) => {
      // two batches are in flight
      for (let n = 0; n < 2; n++) {
        bucket.executeUntilAnswered(BEAT).catch(() => undefined);
        await turn();
      }
      await assert.rejects(
        bucket.execute(BEAT),
        (error) => error instanceof LedgerUnavailable && !(error instanceof OutcomeUnknown),
      );
    }));

  it('gives operations their full time after the process stood still', () =>
    withBucket(100, async (bucket, batches) => {
      const asked = bucket.execute(BEAT);
      await turn();
      standStill(300);
      await turn();
      batches[0]?.(ANSWERED);
      assert.deepEqual(await asked, OK);
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
      assert.rejects(hasty.admit(holdRequest('a', 10n)), LedgerUnavailable),
      patient.admit(holdRequest('a', 10n)).then((result) => assert.deepEqual(result, HELD(10n))),
    ]);
    await Promise.all([hasty.close(), patient.close()]);
  });
});
