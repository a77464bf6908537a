/** The guarantees of a shared ledger beyond the contract: many processes, and dead or suspended ones. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, test } from 'vitest';
import type { Ledger, CountLimit } from '../../../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import type { ValkeyLedgerOptions } from '../../../../../dataplane/ledger/valkey.ts';
import { openValkeyReader } from '../../../../../dataplane/ledger/valkey-reader.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { brief, DAY_MS, holdRequest, NOON_MS, origin, progress, settlement, slot, testClock } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { declareDead, LONG_TIMEOUT, urlOf } from './subject.ts';
import type { StoreLocation } from './subject.ts';
import { NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

describe.skipIf(valkey.skip)('a fleet on Valkey', async () => {
  if (valkey.skip) return;
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());
  const newPlace = (query = ''): StoreLocation => ({ server, prefix: `f${randomUUID().slice(0, 8)}`, query });
  const open = (place: StoreLocation, over: ValkeyLedgerOptions['over'] = {}): Promise<Ledger> =>
    openValkeyLedger({ url: urlOf(place), over: { ...LONG_TIMEOUT, ...over } });

  test('never exceeds a quota or a credit with many processes, to the nano-dollar', async () => {
    const place = newPlace();
    const fleet = await Promise.all([1, 2, 3, 4].map(() => open(place)));
    const limits = { keyLimitNanoUsd: 500n, accountCreditNanoUsd: 700n };
    const asked = Array.from({ length: 200 }, (_, n) => ({
      id: `call-${n}`,
      keyUid: `key-${n % 2}`,
      ledger: fleet[n % 4]!,
    }));
    const results = await Promise.all(
      asked.map(({ id, keyUid, ledger }) => ledger.admit(holdRequest(id, 10n, { origin: { keyUid }, limits }))),
    );
    const held = asked.filter((_, n) => results[n]?.outcome === 'Held');
    assert.equal(held.length, 70);
    await Promise.all(
      held.map(({ id, keyUid }, n) => fleet[n % 4]!.settle(settlement(id, 7n, { origin: origin(id, { keyUid }) }))),
    );
    assert.deepEqual(await fleet[0]!.readAccount('team-a/team-a'), { spentNanoUsd: 490n, heldNanoUsd: 0n });
    const keys = await Promise.all(['key-0', 'key-1'].map((key) => fleet[3]!.readKey(key, 'Never')));
    assert.deepEqual(
      keys.map(({ heldNanoUsd }) => heldNanoUsd),
      [0n, 0n],
    );
    assert.equal(
      keys.reduce((sum, { spentNanoUsd }) => sum + spentNanoUsd, 0n),
      490n,
    );
    await Promise.all(fleet.map((ledger) => ledger.close()));
  });

  test('shares slots, and frees those of a silent process', async () => {
    const place = newPlace();
    const clock = testClock();
    const over = { leaseMs: 25_000, clock: () => clock.nowMs };
    const [first, second] = [await open(place, over), await open(place, over)];
    const slots = [slot('Key', '1', 3), slot('Channel', 'route/direct', 1)];
    assert.deepEqual(await first.take('a', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
    assert.deepEqual(await second.take('b', slots, NO_TOKENS_LOAD), { outcome: 'Full', full: slots[1] });
    assert.deepEqual(second.gauges().slots, { Key: 0, Group: 0, Channel: 0 });
    await first.close();
    clock.nowMs += 24_000;
    assert.equal((await second.take('b', slots, NO_TOKENS_LOAD)).outcome, 'Full');
    clock.nowMs += 2_000;
    assert.deepEqual(await second.take('b', slots, NO_TOKENS_LOAD), { outcome: 'Taken' });
    await second.close();
  });

  test('shares limits by the minute exactly, however many ask at once', async () => {
    const place = newPlace();
    const fleet = await Promise.all([open(place), open(place), open(place)]);
    const limit: CountLimit = { scope: 'Account', id: 'account/team-a/team-a', measure: 'Requests', amount: 100 };
    const results = await Promise.all(
      Array.from({ length: 150 }, async (_, n) => fleet[n % 3]?.take(`call-${n}`, [limit], NO_TOKENS_LOAD)),
    );
    assert.equal(results.filter((result) => result?.outcome === 'Taken').length, 100);
    await Promise.all(fleet.map((ledger) => ledger.close()));
  });

  test('lets a reaped process settle once, from free money only', async () => {
    const place = newPlace();
    const [slow, other] = [randomUUID(), randomUUID()];
    const stopped = await open(place, { instance: slow });
    const limits = { keyLimitNanoUsd: 100n };
    await stopped.admit(holdRequest('a', 60n, { limits, progress: progress(20n) }));
    await stopped.admit(holdRequest('b', 10n, { limits, progress: progress(8n) }));
    await declareDead(place, slow);
    const reaper = await open(place, { instance: other });
    assert.deepEqual(
      [await reaper.readUsage('key-1', 'a'), await reaper.readUsage('key-1', 'b')].map((record) => [
        record?.status,
        record?.costNanoUsd,
      ]),
      [
        ['Abandoned', 20n],
        ['Abandoned', 8n],
      ],
    );
    assert.deepEqual(await reaper.admit(holdRequest('c', 60n, { limits })), HELD(60n));
    // it continues: its hold is gone, and the same call cannot get it again
    await assert.rejects(stopped.admit(holdRequest('a', 70n, { limits })), LedgerUnavailable);
    const { record } = await stopped.settle(settlement('a', 55n, { durationMs: 9 }));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd, record.status], [32n, 23n, 'Succeeded']);
    assert.deepEqual((await stopped.settle(settlement('a', 99n))).record, record);
    assert.deepEqual((await reaper.settle(settlement('a', 1n))).record, record);
    // the reaper's excess is refunded
    assert.equal((await stopped.settle(settlement('b', 5n))).record.costNanoUsd, 5n);
    assert.deepEqual(await reaper.readAccount('team-a/team-a'), { spentNanoUsd: 37n, heldNanoUsd: 60n });
    assert.deepEqual(brief(await reaper.admit(holdRequest('d', 10n, { limits }))), SHORT('Key', 3n));
    assert.deepEqual([stopped.gauges().holds, reaper.gauges().holds], [0, 1]);
    await stopped.close();
    await reaper.close();
  });

  test('keeps a stream of an hour by its heartbeats', async () => {
    const place = newPlace();
    const clock = testClock();
    const over = { leaseMs: 25_000, clock: () => clock.nowMs };
    const [streaming, other] = [await open(place, over), await open(place, over)];
    await streaming.admit(holdRequest('long', 60n, { progress: progress(1n) }));
    for (let second = 0; second < 3_600; second += 20) {
      clock.nowMs += 20_000;
      await streaming.recordProgress(new Map([['long', progress(BigInt(second))]]));
      await other.recordProgress(new Map());
    }
    assert.equal((await other.readUsage('key-1', 'long'))?.status, 'Running');
    await streaming.close();
    await other.close();
  });

  test('changes the period once for the whole fleet, including holds across it', async () => {
    const place = newPlace();
    const clock = testClock(NOON_MS + DAY_MS / 2 - 1);
    const fleet = await Promise.all([1, 2, 3].map(() => open(place, { clock: () => clock.nowMs })));
    const limits = { keyLimitNanoUsd: 100n, period: 'Daily' as const };
    await fleet[0]!.admit(holdRequest('across', 60n, { limits }));
    await fleet[1]!.admit(holdRequest('before', 40n, { limits }));
    await fleet[1]!.settle(settlement('before', 40n));
    clock.nowMs += 1;
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) => fleet[n % 3]!.admit(holdRequest(`after-${n}`, 10n, { limits }))),
    );
    assert.equal(results.filter(({ outcome }) => outcome === 'Held').length, 10);
    const { record, keySpentNanoUsd } = await fleet[2]!.settle(settlement('across', 75n));
    assert.deepEqual([record.costNanoUsd, record.unbilledNanoUsd, keySpentNanoUsd], [60n, 15n, 100n]);
    const today = await fleet[0]!.readKey('key-1', 'Daily');
    assert.deepEqual([today.spentNanoUsd, today.heldNanoUsd, today.totalSpentNanoUsd], [0n, 100n, 100n]);
    await Promise.all(fleet.map((ledger) => ledger.close()));
  });

  test('has calendar months', async () => {
    const place = newPlace();
    const clock = testClock();
    const ledger = await open(place, { clock: () => clock.nowMs });
    const limits = { keyLimitNanoUsd: 1n, period: 'Monthly' as const };
    for (const [year, month] of [
      [1999, 11],
      [2000, 1],
      [2023, 1],
      [2024, 1],
      [2024, 11],
      [2026, 3],
      [2099, 1],
      [2100, 1],
      [2100, 2],
    ] as const) {
      const [last, next] = [Date.UTC(year, month + 1, 1) - 1, Date.UTC(year, month + 1, 1)];
      for (const [ms, id] of [
        [last, 'last'],
        [next, 'next'],
      ] as const) {
        clock.nowMs = ms;
        const call = `${year}-${month}-${id}`;
        assert.deepEqual(
          await ledger.admit(holdRequest(call, 1n, { limits, origin: { keyUid: `${year}-${month}` } })),
          HELD(1n),
          call,
        );
        assert.equal(
          (await ledger.admit(holdRequest(`${call}-more`, 1n, { limits, origin: { keyUid: `${year}-${month}` } })))
            .outcome,
          'Short',
          call,
        );
      }
    }
    await ledger.close();
  });

  test('accepts the limits of an object that was created again after a while', async () => {
    const place = newPlace();
    const clock = testClock();
    const ledger = await open(place, { generationMs: 60_000, clock: () => clock.nowMs });
    await ledger.admit(holdRequest('a', 1n, { limits: { accountGeneration: 7n } }));
    assert.equal((await ledger.admit(holdRequest('b', 1n))).outcome, 'StaleLimits');
    clock.nowMs += 60_001;
    assert.deepEqual(await ledger.admit(holdRequest('b', 1n)), HELD(1n));
    assert.deepEqual(await ledger.admit(holdRequest('c', 1n, { limits: { accountGeneration: 2n } })), HELD(1n));
    assert.equal((await ledger.admit(holdRequest('d', 1n))).outcome, 'StaleLimits');
    await ledger.close();
  });

  test('refuses an earlier generation only if its limits differ', async () => {
    const place = newPlace();
    const ledger = await open(place, { lenient: true });
    await ledger.admit(
      holdRequest('a', 1n, { limits: { keyGeneration: 7n, accountGeneration: 7n, keyLimitNanoUsd: 50n } }),
    );
    assert.deepEqual(
      await ledger.admit(
        holdRequest('b', 1n, { limits: { keyGeneration: 3n, accountGeneration: 3n, keyLimitNanoUsd: 50n } }),
      ),
      HELD(1n),
    );
    for (const limits of [
      { keyLimitNanoUsd: 51n },
      { keyLimitNanoUsd: 50n, period: 'Daily' as const },
      { keyLimitNanoUsd: 50n, accountCreditNanoUsd: 1n },
    ])
      assert.equal(
        (await ledger.admit(holdRequest('c', 1n, { limits: { keyGeneration: 6n, accountGeneration: 6n, ...limits } })))
          .outcome,
        'StaleLimits',
      );
    await ledger.close();
  });

  test('keeps as many old records as the URL says, and those of the last hour', async () => {
    const place = newPlace('&records=3');
    const ledger = await open(place);
    for (let n = 0; n < 6; n++) {
      await ledger.admit(holdRequest(`call-${n}`, 1n));
      await ledger.settle(settlement(`call-${n}`, 1n));
    }
    assert.equal((await ledger.readUsage('key-1', 'call-0'))?.costNanoUsd, 1n, 'young records stay');
    const stream = `{${place.prefix}0}:s:team-a/team-a`;
    await server.command('DEL', stream);
    for (let n = 0; n < 6; n++) await server.command('XADD', stream, `${1_000 + n}-1`, 'r', `old-${n}\tkey-1`);
    await ledger.admit(holdRequest('next', 1n));
    await ledger.settle(settlement('next', 1n));
    assert.equal(await server.command('XLEN', stream), 3);
    assert.equal((await ledger.readUsage('key-1', 'next'))?.costNanoUsd, 1n);
    await ledger.close();
  });

  test('lets a reader see spending and records without changes', async () => {
    const place = newPlace();
    const clock = testClock();
    const ledger = await open(place, { clock: () => clock.nowMs });
    await ledger.admit(holdRequest('a', 30n, { origin: { createdMs: Date.now() } }));
    const { record } = await ledger.settle(settlement('a', 25n, { origin: origin('a') }));
    await ledger.admit(holdRequest('b', 10n));
    const before = await server.command('DBSIZE');
    const reader = openValkeyReader(urlOf(place));
    const { spentNanoUsd, heldNanoUsd } = await reader.readKey('key-1', 'Never');
    assert.deepEqual([spentNanoUsd, heldNanoUsd], [25n, 10n]);
    assert.deepEqual(await reader.readAccount('team-a/team-a'), { spentNanoUsd: 25n, heldNanoUsd: 10n });
    assert.deepEqual(await Array.fromAsync(reader.records({})), [record]);
    assert.deepEqual(
      await Array.fromAsync(
        reader.records({ account: 'team-a/team-a', keyUid: 'key-1', model: record.model, sinceMs: record.createdMs }),
      ),
      [record],
    );
    for (const filter of [
      { account: 'team-b/team-b' },
      { keyUid: 'key-2' },
      { model: 'other' },
      { sinceMs: record.createdMs + 1 },
    ])
      assert.deepEqual(await Array.fromAsync(reader.records(filter)), []);
    assert.deepEqual(await server.command('DBSIZE'), before);
    reader.close();
    const nothing = openValkeyReader(urlOf(newPlace()));
    await assert.rejects(nothing.readAccount('team-a/team-a'), LedgerUnavailable);
    nothing.close();
    await ledger.close();
  });
});
