/** Restoring a store that lost data: settlements from journals, amounts from statuses, and reaped calls. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, test } from 'vitest';
import type { HoldRequest } from '../../../../../dataplane/ledger/ledger.ts';
import { Bucket } from '../../../../../dataplane/ledger/valkey/bucket.ts';
import { openConnection } from '../../../../../dataplane/ledger/valkey/connection.ts';
import { bucketBases, parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import type { KnownKey } from '../../../../../dataplane/ledger/valkey/refill.ts';
import { refillOperations } from '../../../../../dataplane/ledger/valkey/refill.ts';
import {
  admitOperation,
  confirmOperation,
  settleOperation,
} from '../../../../../dataplane/ledger/valkey/operations.ts';
import type { Operation } from '../../../../../dataplane/ledger/valkey/operations.ts';
import { parseRecord } from '../../../../../dataplane/ledger/valkey/replies.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { DAY_MS, holdRequest, NOON_MS, progress, settlement } from '../calls.ts';
import { declareDead, LONG_TIMEOUT, urlOf } from './subject.ts';
import type { StoreLocation } from './subject.ts';

const ACCOUNT = 'team-a/team-a';
/** The beginning of a window, after what is restored at first and before the bucket opens. */
const EDGE_MS = NOON_MS + 1_000;
const WINDOWS = { day: '20777', month: '24322' };

interface Known {
  readonly cost: number;
  readonly n: number;
  /** The amounts of account and key afterwards. */
  readonly spent: number;
  readonly since?: boolean;
  readonly status?: string;
}

const holding = (request: HoldRequest): Operation => admitOperation(request, []);

/** A settlement as a journal has it. */
function refill(id: string, { cost, n, spent, since = false, status = 'Succeeded' }: Known): Operation {
  const after = String(spent);
  return {
    op: 'refill',
    call: id,
    key: 'key-1',
    account: ACCOUNT,
    createdMs: String(NOON_MS),
    route: '["auto-a","m","r/c","ns/p@1"]',
    tokens: '[10,1,2,3,30,"Provider"]',
    cost: String(cost),
    unbilled: '0',
    status,
    durationMs: '1234',
    keySpent: after,
    keyRemaining: '-',
    change: String(n),
    accountSpent: after,
    totalSpent: after,
    daySpent: after,
    monthSpent: after,
    ...WINDOWS,
    since: since ? '1' : '',
  };
}

function statuses(spentNanoUsd: bigint): Operation[] {
  const key: KnownKey = {
    keyUid: 'key-1',
    account: ACCOUNT,
    totalSpentNanoUsd: spentNanoUsd,
    period: 'Monthly',
    periodStartMs: NOON_MS,
    spentNanoUsd,
  };
  return refillOperations({ keys: [key], accounts: [{ account: ACCOUNT, spentNanoUsd }] }, () => true);
}

/** What statuses say of the window that begins at EDGE_MS. */
function windowStatuses(spentNanoUsd: bigint, inWindow: bigint): Operation[] {
  const window = { startMs: EDGE_MS, spentNanoUsd: inWindow };
  const key: KnownKey = {
    keyUid: 'key-1',
    account: ACCOUNT,
    totalSpentNanoUsd: spentNanoUsd,
    period: 'Weekly',
    periodStartMs: EDGE_MS,
    spentNanoUsd: inWindow,
  };
  const account = { account: ACCOUNT, spentNanoUsd, windows: [window] };
  return refillOperations({ keys: [key], accounts: [account] }, () => true);
}

describe.skipIf(valkey.skip)('a store that lost data', async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());
  const place = (): StoreLocation => ({ server, prefix: `r${randomUUID().slice(0, 8)}`, query: '' });

  /** `told`: the statuses' amounts during the refill. */
  const withBucket = async (
    where: StoreLocation,
    told: readonly Operation[],
    work: (bucket: Bucket, instance: string) => Promise<void>,
  ): Promise<void> => {
    const location = parseValkeyUrl(urlOf(where));
    const connection = openConnection(location);
    const instance = randomUUID();
    // the clock does not advance during the refill
    let nowMs = NOON_MS;
    const opened = Promise.withResolvers<void>();
    const bucket = new Bucket({
      connection,
      base: bucketBases(location)[0] ?? assert.fail(),
      settings: {
        ...LONG_TIMEOUT,
        keepMs: DAY_MS,
        records: 100,
        lenient: false,
        instance,
        refillMs: 1_000,
        clock: () => nowMs,
      },
      collectRestores: async () => ({ operations: told, late: [] }),
      onRestored: () => undefined,
      onLost: () => undefined,
      latestStart: () => 0,
      onRejoined: () => {
        nowMs += 2_000;
      },
      onState: (state) => (state === 'Open' ? opened.resolve() : undefined),
    });
    bucket.start();
    await opened.promise;
    try {
      await work(bucket, instance);
    } finally {
      bucket.close();
      connection.close();
    }
  };

  /** The amounts of account, key, day and month, which are equal here. */
  const spent = async (bucket: Bucket): Promise<number> => {
    const { spent: account } = await bucket.execute({ op: 'account', account: ACCOUNT });
    const { totalSpent: total, daySpent: day, monthSpent: month } = await bucket.execute({ op: 'key', key: 'key-1' });
    assert.deepEqual([total, month], [account, account]);
    assert.ok(Number(day) <= Number(total));
    return Number(account);
  };

  /** What account and key have spent and hold in the window that begins at EDGE_MS, which is equal here. */
  const inWindow = async (bucket: Bucket): Promise<readonly [string, string]> => {
    const edges = [-1, 0, 1, 2].map((days) => EDGE_MS + days * DAY_MS);
    const windows = [{ window: 'W', name: 'Day Etc/Noon', edges }];
    const { windows: [ofAccount] = [] } = await bucket.execute({ op: 'account', account: ACCOUNT, windows });
    const { windows: [ofKey] = [] } = await bucket.execute({ op: 'key', key: 'key-1', windows });
    assert.deepEqual(ofKey, ofAccount);
    return [ofKey?.spent ?? '', ofKey?.held ?? ''];
  };

  const spend = async (bucket: Bucket, id: string, cost: bigint): Promise<void> => {
    const request = holdRequest(id, cost);
    assert.equal((await bucket.execute(holding(request))).is, 'held');
    assert.equal((await bucket.execute(settleOperation(settlement(id, cost), []))).is, 'settled');
  };

  test('has the state after the latest known settlement', () =>
    withBucket(
      place(),
      [refill('a', { cost: 5, n: 10, spent: 95 }), refill('b', { cost: 5, n: 11, spent: 100 })],
      async (bucket) => {
        assert.equal(await spent(bucket), 100);
        // a late journal: one settlement that is present already, and one that is not
        await bucket.execute(refill('c', { cost: 3, n: 9, spent: 90 }));
        assert.equal(await spent(bucket), 100);
        await bucket.execute(refill('d', { cost: 7, n: 12, spent: 107 }));
        assert.equal(await spent(bucket), 107);
        // once each
        await bucket.execute(refill('d', { cost: 7, n: 12, spent: 107 }));
        assert.equal(await spent(bucket), 107);
      },
    ));

  test('without known settlements gets the earlier state from a late journal', () =>
    withBucket(place(), [], async (bucket) => {
      await spend(bucket, 'new', 4n);
      await bucket.execute(refill('a', { cost: 5, n: 10, spent: 95 }));
      assert.equal(await spent(bucket), 99);
      await bucket.execute(refill('b', { cost: 6, n: 11, spent: 101 }));
      assert.equal(await spent(bucket), 105);
    }));

  test('gets the union of statuses and journals in any order, not their sum', async () => {
    const journal = [refill('a', { cost: 5, n: 10, spent: 60 })];
    for (const told of [
      [...statuses(70n), ...journal],
      [...journal, ...statuses(70n)],
    ])
      await withBucket(place(), told, async (bucket) => assert.equal(await spent(bucket), 70));
    await withBucket(place(), statuses(70n), async (bucket) => {
      await bucket.execute(refill('a', { cost: 5, n: 10, spent: 60 }));
      assert.equal(await spent(bucket), 70);
      await bucket.execute(refill('b', { cost: 15, n: 11, spent: 75 }));
      assert.equal(await spent(bucket), 75);
    });
    await withBucket(place(), [...statuses(50n), ...journal], async (bucket) => {
      assert.equal(await spent(bucket), 60);
      await bucket.execute(refill('c', { cost: 5, n: 12, spent: 65 }));
      assert.equal(await spent(bucket), 65);
    });
  });

  test('within the same epoch gets what it lost by its cost', async () => {
    for (const told of [[], statuses(100n), [refill('before', { cost: 5, n: 10, spent: 100 })]]) {
      await withBucket(place(), told, async (bucket) => {
        await spend(bucket, 'kept', 9n);
        const before = await spent(bucket);
        await bucket.execute(refill('lost', { cost: 7, n: 12, spent: before + 7, since: true }));
        assert.equal(await spent(bucket), before + 7);
      });
    }
  });

  test('within the same epoch gives back what the lost end of a job had given back, once', () =>
    withBucket(place(), [], async (bucket) => {
      await spend(bucket, 'kept', 9n);
      await bucket.execute(holding(holdRequest('job', 60n)));
      const job = { jobId: 'job', pollMs: NOON_MS, terms: 'terms' };
      await bucket.execute(settleOperation(settlement('job', 60n, { status: 'Running', job }), []));
      assert.equal(await spent(bucket), 69);
      const { channel } = holdRequest('job', 0n).origin;
      const ended: Operation = {
        ...refill('job', { cost: 20, n: 12, spent: 29, since: true }),
        op: 'refillEnd',
        job: { id: 'job', channel },
        charged: '60',
        endedMs: String(NOON_MS),
      };
      for (let times = 0; times < 2; times++) {
        await bucket.execute(ended);
        assert.equal(await spent(bucket), 29);
      }
      const { record } = parseRecord(await bucket.execute({ op: 'usage', call: 'job' }));
      assert.deepEqual([record.status, record.costNanoUsd], ['Succeeded', 20n]);
      assert.deepEqual(await bucket.execute({ op: 'due', nowMs: NOON_MS, againMs: 1, most: 10 }), { is: 'jobs' });
    }));

  test('that was restored starts with balances, to which a late journal adds', async () => {
    const where = place();
    const base = bucketBases(parseValkeyUrl(urlOf(where)))[0] ?? '';
    await withBucket(where, [], (bucket) => spend(bucket, 'kept', 90n));
    await server.command('HDEL', `${base}e`, 'id');
    await withBucket(where, [], async (bucket) => {
      assert.equal(await spent(bucket), 90);
      await bucket.execute(refill('lost', { cost: 7, n: 2, spent: 97 }));
      assert.equal(await spent(bucket), 97);
    });
  });

  test('adds what it lost around the beginning of a window before or in that, in any order', async () => {
    const kept = refill('kept', { cost: 1, n: 10, spent: 1 });
    const before = refill('before', { cost: 7, n: 12, spent: 8, since: true });
    const within = {
      ...refill('within', { cost: 2, n: 13, spent: 10, since: true }),
      createdMs: String(EDGE_MS + 500),
      marks: `a,${EDGE_MS},${EDGE_MS},8;k,${EDGE_MS},${EDGE_MS},8`,
    };
    for (const lost of [
      [before, within],
      [within, before],
    ]) {
      await withBucket(place(), [kept], async (bucket) => {
        for (const each of lost) await bucket.execute(each);
        assert.equal(await spent(bucket), 10);
        assert.deepEqual(await inWindow(bucket), ['2', '0']);
      });
    }
  });

  test('keeps a hold from before a window out of it', async () => {
    const { limits: _counts, ...admitted } = holding(holdRequest('a', 60n));
    const adopt = { ...admitted, op: 'adopt', ...WINDOWS, admitted: String(NOON_MS) };
    const told = windowStatuses(20n, 1n);
    await withBucket(place(), [...told, adopt], async (bucket) => assert.deepEqual(await inWindow(bucket), ['1', '0']));
    for (const all of [
      [...told, adopt],
      [adopt, ...told],
    ]) {
      await withBucket(place(), all, async (bucket) => {
        await bucket.execute(settleOperation(settlement('a', 40n), []));
        assert.equal((await bucket.execute({ op: 'account', account: ACCOUNT })).spent, '60');
        assert.deepEqual(await inWindow(bucket), ['1', '0']);
      });
    }
  });

  test('with the settlement of a call that was reaped since is corrected', () => {
    const where = place();
    return withBucket(where, [], async (first, instance) => {
      const request = holdRequest('a', 60n, { progress: progress(20n) });
      await first.execute(holding(request));
      await first.execute(confirmOperation(request.origin.callId));
      await withBucket(where, [], async (second) => {
        await declareDead(where, instance);
        const { records = [] } = await second.execute({ op: 'reap', most: 10 });
        assert.deepEqual(
          records.map(({ status }) => status),
          ['Abandoned'],
        );
        assert.equal(await spent(second), 20);
        // the reaper's own journal adds nothing new
        assert.deepEqual(await second.execute(refill('a', { cost: 20, n: 1, spent: 20, status: 'Abandoned' })), {
          is: 'known',
        });
        for (let round = 0; round < 2; round++) {
          await second.execute(refill('a', { cost: 50, n: 1, spent: 50 }));
          assert.equal(await spent(second), 50);
        }
        const { record } = parseRecord(await second.execute({ op: 'usage', call: 'a' }));
        assert.deepEqual([record.status, record.costNanoUsd], ['Succeeded', 50n]);
        assert.deepEqual(await second.execute({ op: 'account', account: ACCOUNT }), {
          is: 'account',
          spent: '50',
          held: '0',
        });
      });
    });
  });

  test('takes a hold from the journal of the version before, which had no list of limits', () =>
    withBucket(place(), [], async (bucket) => {
      const { spending, limits: _counts, ...admitted } = holding(holdRequest('a', 60n));
      assert.ok(spending);
      const adopt = { ...admitted, op: 'adopt', ...WINDOWS, limit: '100', period: 'N', credit: '1000' };
      assert.equal((await bucket.execute(adopt)).is, 'adopted');
      const reply = await bucket.execute(settleOperation(settlement('a', 130n), []));
      assert.deepEqual([reply.cost, reply.unbilled, reply.keyRemaining], ['100', '30', '0']);
    }));
});
