/** A server that is unavailable, hangs, restarts, is emptied, or returns with older data. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, test } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openJournal } from '../../../../../dataplane/ledger/valkey/journal.ts';
import { valkey } from '../../../../support/valkey.ts';
import { brief, holdRequest, origin, progress, settlement, slot } from '../calls.ts';
import { HELD, SHORT } from '../contract-scenario.ts';
import { ALWAYS, dataFolder, endScene, eventually, isReady, open, OUTAGES, start } from './scene.ts';
import { NOTHING_CONSUMED, NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

/** Processes have a second to notice a refill. */
const REFILL_MS = 1_500;
const limits = { keyLimitNanoUsd: 100n };

describe.skipIf(valkey.skip)('the ledger on Valkey under faults', () => {
  afterEach(endScene);

  for (const [how, outage] of [
    ['is killed', OUTAGES.killed],
    ['hangs', OUTAGES.hanging],
  ] as const) {
    test(`refuses calls, keeps settlements and recovers if a server ${how}`, async () => {
      const server = await start(ALWAYS);
      const { ledger, events } = await open(server, { dataDir: await dataFolder() });
      await ledger.admit(holdRequest('running', 40n, { limits }));
      await outage.begin(server);
      await assert.rejects(
        ledger.admit(holdRequest('first', 10n, { limits })),
        (error: unknown) => error instanceof LedgerUnavailable && !/:\s*$/.test(error.message),
      );
      // from here on, no process waits
      assert.equal(ledger.health?.().ok, false);
      const beganMs = performance.now();
      for (let n = 0; n < 100; n++)
        await assert.rejects(ledger.admit(holdRequest(`refused-${n}`, 10n, { limits })), LedgerUnavailable);
      for (let n = 0; n < 100; n++)
        await assert.rejects(
          async () => ledger.take(`refused-${n}`, [slot('Key', '1', 1)], NO_TOKENS_LOAD),
          LedgerUnavailable,
        );
      await assert.rejects(ledger.readKey('key-1', 'Never'), LedgerUnavailable);
      await assert.rejects(ledger.recordProgress(new Map([['running', progress(3n)]])), LedgerUnavailable);
      assert.ok(performance.now() - beganMs < 20_000, 'refusals do not wait');
      const settling = ledger.settle(settlement('running', 30n));
      await outage.end(server);
      assert.equal((await settling).record.costNanoUsd, 30n);
      await eventually('it is ready again', isReady(ledger));
      assert.deepEqual(await ledger.admit(holdRequest('next', 70n, { limits })), HELD(70n));
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 30n, heldNanoUsd: 70n });
      assert.deepEqual(
        events.map(({ kind }) => kind).filter((kind) => kind === 'Emptied' || kind === 'LostWrites'),
        [],
      );
      assert.deepEqual([events.at(-1)?.kind, events.some(({ kind }) => kind === 'Failing')], ['Working', true]);
    });
  }

  test('leaves no money and no slot behind for a call that was refused without a reply', async () => {
    const server = await start();
    const { ledger } = await open(server);
    server.signal('SIGSTOP');
    const asked = [
      ledger.admit(holdRequest('a', 60n, { limits })),
      Promise.resolve(ledger.take('b', [slot('Key', '1', 1)], NO_TOKENS_LOAD)),
    ];
    for (const each of await Promise.allSettled(asked)) assert.equal(each.status, 'rejected');
    server.signal('SIGCONT');
    await eventually('it is ready again', isReady(ledger));
    await eventually('the money is free', async () => (await ledger.readAccount('team-a/team-a')).heldNanoUsd === 0n);
    await eventually(
      'the slot is free',
      async () => (await ledger.take('c', [slot('Key', '1', 1)], NO_TOKENS_LOAD)).outcome === 'Taken',
    );
    // also if its hold arrives after its withdrawal
    await assert.rejects(ledger.admit(holdRequest('a', 60n, { limits })), LedgerUnavailable);
  });

  test('settles a call as the store has it after a second hold without a reply', async () => {
    const server = await start();
    const { ledger } = await open(server);
    const first = holdRequest('a', 10n, { limits });
    await ledger.admit(first);
    server.signal('SIGSTOP');
    await assert.rejects(
      ledger.admit(
        holdRequest('a', 90n, {
          limits: { keyLimitNanoUsd: 200n, keyGeneration: 2n },
          origin: { channel: 'other/backup', group: 'vip' },
        }),
      ),
      LedgerUnavailable,
    );
    server.signal('SIGCONT');
    await eventually('it is ready again', isReady(ledger));
    const { record, keyRemainingNanoUsd } = await ledger.settle(settlement('a', 5n));
    assert.equal(record.channel, first.origin.channel);
    assert.deepEqual(await ledger.readUsage('key-1', 'a'), record);
    // by the limit of the second one, which the server read when it continued
    assert.equal(keyRemainingNanoUsd, 195n);
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 5n, heldNanoUsd: 0n });
  });

  test('does the same for slots and money in one step', async () => {
    const server = await start();
    // a lease that does not expire: leaked slots stay visible
    const { ledger } = await open(server, { over: { leaseMs: 1e12 } });
    const slots = [slot('Key', '1', 1), slot('Channel', 'r/c', 1)];
    const admit = async (callId: string) => ledger.admit(holdRequest(callId, 60n, { limits, counts: slots }));
    server.signal('SIGSTOP');
    for (const each of await Promise.allSettled([admit('a'), admit('b')])) assert.equal(each.status, 'rejected');
    assert.deepEqual(ledger.gauges(), { holds: 0, heldNanoUsd: 0n, slots: { Key: 0, Group: 0, Channel: 0 } });
    server.signal('SIGCONT');
    await eventually('it is ready again', isReady(ledger));
    await eventually('the money is free', async () => (await ledger.readAccount('team-a/team-a')).heldNanoUsd === 0n);
    await assert.rejects(admit('a'), LedgerUnavailable);
    await eventually(
      'the slots are free',
      async () => (await ledger.take('c', slots, NO_TOKENS_LOAD)).outcome === 'Taken',
    );
    ledger.release('c', NOTHING_CONSUMED);
    await eventually('another call has both', async () => (await admit('d'))?.outcome === 'Held');
  });

  test('waits for a server that starts later', async () => {
    const server = await start();
    await server.kill();
    const opening = open(server);
    const { ledger } = await opening;
    assert.match(ledger.health?.().reason ?? '', /valkey:\/\/127\.0\.0\.1/);
    await assert.rejects(ledger.admit(holdRequest('a', 1n)), LedgerUnavailable);
    await server.start();
    await eventually('it is ready', isReady(ledger));
    assert.deepEqual(await ledger.admit(holdRequest('a', 1n)), HELD(1n));
  });

  test('delivers the settlements of a killed process by the next one, once', async () => {
    const server = await start(ALWAYS);
    const dataDir = await dataFolder();
    const { ledger: first } = await open(server, { dataDir, over: { leaseMs: 25_000 } });
    await first.admit(holdRequest('a', 60n, { limits, progress: progress(5n) }));
    await first.admit(holdRequest('b', 30n, { limits, progress: progress(5n) }));
    await first.settle(settlement('b', 20n));
    await server.kill();
    const lost = first.settle(settlement('a', 50n));
    // closing gives up on an unavailable server, like the end of a process
    await Promise.all([assert.rejects(lost, LedgerUnavailable), first.close()]);
    await server.start();
    const { ledger: second } = await open(server, { dataDir });
    await eventually('it is delivered', async () => (await second.readUsage('key-1', 'a'))?.status === 'Succeeded');
    assert.deepEqual(await second.readAccount('team-a/team-a'), { spentNanoUsd: 70n, heldNanoUsd: 0n });
    await second.close();
    const { ledger: third } = await open(server, { dataDir });
    assert.deepEqual(await third.readAccount('team-a/team-a'), { spentNanoUsd: 70n, heldNanoUsd: 0n });
    assert.equal((await third.settle(settlement('a', 1n))).record.costNanoUsd, 50n);
  });

  test('fills an empty store from the journal of an older version', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    await mkdir(join(dataDir, 'ledger-journal'));
    const line = (id: string, cost: number, spent: number): string =>
      JSON.stringify([
        'C',
        id,
        [
          'settled',
          'team-a/team-a',
          id,
          'key-1',
          '1795176000000',
          '["auto-a","claude-sonnet-4-5","anthropic/direct","model-gateway/anthropic@1"]',
          '[10,1,2,3,30,"Provider"]',
          String(cost),
          '0',
          'Succeeded',
          '1234',
          String(spent),
          String(100 - spent),
          String(spent),
          String(spent),
          String(spent),
          '0',
          '0',
          '20777',
          '24322',
        ],
        ['', '0', 'anthropic/direct'],
      ]);
    await writeFile(join(dataDir, 'ledger-journal', 'current.jsonl'), `\n${line('a', 30, 30)}\n${line('b', 12, 42)}\n`);
    const { ledger, events } = await open(server, { dataDir, over: { refillMs: REFILL_MS } });
    assert.deepEqual(
      events.filter(({ kind }) => kind === 'Emptied'),
      [{ kind: 'Emptied', putBack: 2 }],
    );
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 42n, heldNanoUsd: 0n });
    const { progress: settled, status, durationMs } = settlement('b', 12n);
    assert.deepEqual(await ledger.readUsage('key-1', 'b'), {
      ...origin('b', { createdMs: 1_795_176_000_000 }),
      ...settled,
      tokens: {
        ...settled.tokens,
        output: 30,
      },
      status,
      durationMs,
      unbilledNanoUsd: 0n,
    });
    // a repeated settlement gets the same reply
    assert.deepEqual(await ledger.settle(settlement('a', 99n)), {
      record: await ledger.readUsage('key-1', 'a'),
      keySpentNanoUsd: 30n,
      keyRemainingNanoUsd: 70n,
    });
  });

  test('admits nothing on an emptied store until all processes know it; balances are as before', async () => {
    const server = await start();
    const over = { refillMs: REFILL_MS };
    const { ledger: first, events } = await open(server, { dataDir: await dataFolder(), over });
    const { ledger: second } = await open(server, { dataDir: await dataFolder(), over });
    const daily = { keyLimitNanoUsd: 100n, period: 'Daily' as const, accountCreditNanoUsd: 200n };
    for (const [n, ledger] of [first, second, first, second].entries()) {
      await ledger.admit(holdRequest(`call-${n}`, 10n, { limits: daily }));
      await ledger.settle(settlement(`call-${n}`, BigInt(n + 1)));
    }
    await first.admit(holdRequest('running-1', 30n, { limits: daily, progress: progress(2n) }));
    await second.admit(holdRequest('running-2', 20n, { limits: daily, progress: progress(2n) }));
    await first.take('running-1', [slot('Key', '1', 1)], NO_TOKENS_LOAD);
    const before = [
      await first.readKey('key-1', 'Daily'),
      await first.readAccount('team-a/team-a'),
      await first.readUsage('key-1', 'call-2'),
    ];
    await server.command('FLUSHALL');
    await assert.rejects(first.admit(holdRequest('too-soon', 100n, { limits: daily })), LedgerUnavailable);
    await eventually('both are ready', () => isReady(first)() && isReady(second)());
    assert.deepEqual(brief(await second.admit(holdRequest('more', 41n, { limits: daily }))), SHORT('Key', 40n));
    assert.deepEqual(
      [
        await second.readKey('key-1', 'Daily'),
        await second.readAccount('team-a/team-a'),
        await second.readUsage('key-1', 'call-2'),
      ].map(withoutUse),
      before.map(withoutUse),
    );
    assert.equal((await second.take('other', [slot('Key', '1', 1)], NO_TOKENS_LOAD)).outcome, 'Full');
    assert.deepEqual((await first.settle(settlement('call-1', 99n))).record.costNanoUsd, 2n);
    assert.equal((await first.settle(settlement('running-1', 25n))).record.costNanoUsd, 25n);
    assert.ok(events.some((event) => event.kind === 'Emptied' && event.putBack > 0));
  });

  test('restores spending in a new store from the statuses', async () => {
    const server = await start();
    const { ledger } = await open(server, {
      over: { refillMs: REFILL_MS },
      refill: async () => ({
        accounts: [{ account: 'team-a/team-a', spentNanoUsd: 70n }],
        keys: [
          {
            keyUid: 'key-1',
            account: 'team-a/team-a',
            totalSpentNanoUsd: 70n,
            period: 'Never',
            periodStartMs: null,
            spentNanoUsd: 70n,
          },
        ],
      }),
    });
    await eventually('it is ready', isReady(ledger));
    assert.deepEqual(brief(await ledger.admit(holdRequest('a', 31n, { limits }))), SHORT('Key', 30n));
    assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 70n, heldNanoUsd: 0n });
  });

  test('restores, by call, only what an older store lost', async () => {
    const server = await start({ settings: [['dbfilename', 'dump.rdb']] });
    const over = { refillMs: REFILL_MS };
    const { ledger: first, events } = await open(server, { dataDir: await dataFolder(), over });
    const { ledger: second } = await open(server, { dataDir: await dataFolder(), over });
    const settle = async (ledger: Ledger, id: string, cost: bigint): Promise<void> => {
      await ledger.admit(holdRequest(id, cost, { limits: { keyLimitNanoUsd: 1_000n } }));
      await ledger.settle(settlement(id, cost));
    };
    await settle(first, 'kept-1', 100n);
    await settle(second, 'kept-2', 50n);
    await first.admit(holdRequest('settled-later', 10n));
    await server.command('SAVE');
    await copyFile(join(server.dir, 'dump.rdb'), join(server.dir, 'backup.rdb'));
    await settle(first, 'lost-1', 7n);
    await settle(second, 'lost-2', 5n);
    await first.settle(settlement('settled-later', 10n));
    await first.admit(holdRequest('lost-hold', 20n));
    await server.kill();
    await copyFile(join(server.dir, 'backup.rdb'), join(server.dir, 'dump.rdb'));
    await server.start();
    await eventually('both have noticed', () => events.some(({ kind }) => kind === 'LostWrites'));
    await eventually('both are ready', () => isReady(first)() && isReady(second)());
    await eventually('all is there', async () => (await first.readAccount('team-a/team-a')).spentNanoUsd === 172n);
    assert.deepEqual(await second.readAccount('team-a/team-a'), { spentNanoUsd: 172n, heldNanoUsd: 20n });
    assert.equal((await second.readUsage('key-1', 'lost-1'))?.costNanoUsd, 7n);
    assert.equal((await second.settle(settlement('lost-1', 99n))).record.costNanoUsd, 7n);
    assert.equal((await first.settle(settlement('lost-hold', 15n))).record.costNanoUsd, 15n);
  });

  test('restores a server without data from the journals, also that of a dead process', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const over = { refillMs: REFILL_MS };
    const { ledger: first } = await open(server, { dataDir, over });
    await first.admit(holdRequest('a', 60n, { limits }));
    await first.settle(settlement('a', 60n));
    await first.close();
    await server.kill();
    await server.start();
    const { ledger: second } = await open(server, { dataDir, over });
    await eventually('it is ready', isReady(second));
    assert.deepEqual(await second.readAccount('team-a/team-a'), { spentNanoUsd: 60n, heldNanoUsd: 0n });
    assert.deepEqual(brief(await second.admit(holdRequest('b', 41n, { limits }))), SHORT('Key', 40n));
  });

  test("restores a store that lost its latest data from the next process's journal only", async () => {
    const server = await start({ settings: [['dbfilename', 'dump.rdb']] });
    const dataDir = await dataFolder();
    const settle = async (ledger: Ledger, id: string, cost: bigint): Promise<void> => {
      await ledger.admit(holdRequest(id, cost));
      await ledger.settle(settlement(id, cost));
    };
    const { ledger: first } = await open(server, { dataDir });
    await settle(first, 'kept', 100n);
    await server.command('SAVE');
    await copyFile(join(server.dir, 'dump.rdb'), join(server.dir, 'backup.rdb'));
    await settle(first, 'lost-1', 7n);
    await settle(first, 'lost-2', 5n);
    await first.close();
    await server.kill();
    await copyFile(join(server.dir, 'backup.rdb'), join(server.dir, 'dump.rdb'));
    await server.start();
    for (let round = 0; round < 2; round++) {
      const { ledger } = await open(server, { dataDir });
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: 112n, heldNanoUsd: 0n });
      const { totalSpentNanoUsd, spentNanoUsd } = await ledger.readKey('key-1', 'Never');
      assert.deepEqual([totalSpentNanoUsd, spentNanoUsd], [112n, 112n]);
      await ledger.close();
    }
  });

  test('does not bill dropped records again by a process that was away for long', async () => {
    const server = await start();
    const dataDir = await dataFolder();
    const createdMs = Date.now() - 2 * 3_600_000;
    const old = { origin: { createdMs } };
    const { ledger: first } = await open(server, { dataDir });
    await first.admit(holdRequest('a', 60n, old));
    await first.settle(settlement('a', 60n, { origin: origin('a', { createdMs }) }));
    await first.admit(holdRequest('b', 5n, old));
    await server.kill();
    const lost = first.settle(settlement('b', 5n, { origin: origin('b', { createdMs }) }));
    await Promise.all([assert.rejects(lost, LedgerUnavailable), first.close()]);
    await server.start();
    // another server's epoch, as if this one had had all of it and lost it
    const { ledger: second } = await open(server);
    for (const [id, cost] of [
      ['a', 60n],
      ['b', 5n],
    ] as const) {
      await second.admit(holdRequest(id, cost, old));
      await second.settle(settlement(id, cost, { origin: origin(id, { createdMs }) }));
    }
    const records: unknown = await server.command('XRANGE', '{mgw0}:s:team-a/team-a', '-', '+');
    assert.ok(Array.isArray(records) && records.length === 2);
    for (const [id] of records) await server.command('XDEL', '{mgw0}:s:team-a/team-a', String(id));
    await server.command('DEL', '{mgw0}:c:a', '{mgw0}:c:b');
    const { ledger: third } = await open(server, { dataDir });
    await assert.rejects(third.settle(settlement('b', 5n)), LedgerUnavailable);
    assert.deepEqual(await third.readAccount('team-a/team-a'), { spentNanoUsd: 65n, heldNanoUsd: 0n });
    await third.close();
    const journal = await openJournal({
      folder: join(dataDir, 'ledger-journal'),
      onFault: (error) => assert.fail(String(error)),
    });
    await journal.close();
    assert.deepEqual(journal.undelivered, []);
  });

  test('loads functions again that the server has lost; a user without the right uses the script', async () => {
    const server = await start();
    const { ledger } = await open(server);
    await server.command('FUNCTION', 'FLUSH');
    assert.deepEqual(await ledger.admit(holdRequest('a', 1n)), HELD(1n));
    await server.command('ACL', 'SETUSER', 'scripts', 'on', '>word', '~*', '+@all', '-function', '-fcall');
    const { ledger: other } = await open(server, { url: server.url.replace('://', '://scripts:word@') });
    assert.deepEqual(await other.admit(holdRequest('b', 1n)), HELD(1n));
    await server.command('SCRIPT', 'FLUSH', 'SYNC');
    assert.equal((await other.settle(settlement('b', 1n))).record.costNanoUsd, 1n);
  });

  test('warns of a server that evicts keys, and of no other', async () => {
    const careful = await start({ settings: [['maxmemory', '100mb']] });
    const forgetful = await start({
      settings: [
        ['maxmemory', '100mb'],
        ['maxmemory-policy', 'volatile-lru'],
      ],
    });
    const [{ events: fine }, { ledger, events }] = [await open(careful), await open(forgetful)];
    const warned = (all: typeof events): boolean => all.some(({ kind }) => kind === 'Evicts');
    await eventually('the policy is told', () => warned(events));
    assert.ok(!warned(fine));
    await forgetful.command('ACL', 'SETUSER', 'default', '-info');
    assert.deepEqual(await ledger.admit(holdRequest('a', 1n)), HELD(1n));
  });

  test('does not acknowledge a step with wait that no replica has', async () => {
    const server = await start();
    const { ledger } = await open(server, { url: `${server.url}?wait=1&prefix=w${randomUUID().slice(0, 4)}` });
    await assert.rejects(ledger.admit(holdRequest('a', 1n)), LedgerUnavailable);
    assert.match(ledger.health?.().reason ?? '', /replicas/);
  });
});

function withoutUse(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'lastUsedMs' in value
    ? { ...value, lastUsedMs: undefined }
    : value;
}
