/**
 * The contract on a real Cluster of three nodes; accounts are spread over it, and a node's failure affects only its
 * own.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, it, test } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import { openValkeyReader } from '../../../../../dataplane/ledger/valkey-reader.ts';
import { valkey } from '../../../../support/valkey.ts';
import { startValkeyCluster, whenFormed } from '../../../../support/valkey-cluster.ts';
import { holdRequest, origin, settlement, slot } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';
import { ledgerContract } from '../contract.ts';
import { openSubject, LONG_TIMEOUT } from './subject.ts';
import { NOTHING_CONSUMED, NO_TOKENS_LOAD } from '../../../../../dataplane/ledger/load.ts';

const DEADLINE_MS = 30_000;

if (valkey.skip) {
  it.skip('the ledger on a Cluster');
} else {
  const cluster = await startValkeyCluster();
  afterAll(() => cluster[Symbol.asyncDispose]());
  const [node] = cluster.nodes;
  /** On whichever node has the key. */
  const command = async (...args: readonly string[]): Promise<unknown> => {
    for (const each of cluster.nodes) {
      try {
        return await each.command(...args);
      } catch (error) {
        if (!String(error).includes('MOVED')) throw error;
      }
    }
    throw new Error('no node has it');
  };
  ledgerContract('on a Cluster', (clock) => openSubject({ url: cluster.url, command }, clock));

  describe('a Cluster', () => {
    const accounts = Array.from({ length: 40 }, (_, n) => ({ keyUid: `key-${n}`, account: `team-${n}/team-${n}` }));
    const spend = async (ledger: Ledger, round: number): Promise<void> => {
      await Promise.all(
        accounts.map(async (place, n) => {
          await ledger.admit(holdRequest(`call-${round}-${n}`, 10n, { origin: place }));
          await ledger.settle(settlement(`call-${round}-${n}`, 5n, { origin: origin('', place) }));
        }),
      );
    };

    test('has accounts on every node, and is read as one', async () => {
      const url = `${cluster.url}?prefix=spread`;
      const ledger = await openValkeyLedger({ url, over: LONG_TIMEOUT });
      await spend(ledger, 1);
      for (const each of cluster.nodes) assert.ok(Number(await each.command('DBSIZE')) > 20);
      const reader = openValkeyReader(url);
      const records = await Array.fromAsync(reader.records({}));
      assert.equal(records.length, accounts.length);
      assert.deepEqual(await reader.readAccount('team-7/team-7'), { spentNanoUsd: 5n, heldNanoUsd: 0n });
      const other = await openValkeyLedger({ url, over: LONG_TIMEOUT });
      for (const each of [reader, other]) {
        assert.equal((await each.readKey('key-9', 'Never')).spentNanoUsd, 5n);
        assert.equal((await each.readKey('key-9', 'Never', 'team-9/team-9')).spentNanoUsd, 5n);
        assert.equal(
          (await each.readKey('key-9', 'Never', 'team-7/team-7')).spentNanoUsd,
          0n,
          'told the account, it looks there only',
        );
      }
      await other.close();
      reader.close();
      await ledger.close();
    });

    test('takes slots on different nodes all or none', async () => {
      const ledger = await openValkeyLedger({ url: `${cluster.url}?prefix=slots`, over: LONG_TIMEOUT });
      const slots = [slot('Key', '1', 2), slot('Channel', 'route/direct', 1)];
      assert.equal((await ledger.take('a', slots, NO_TOKENS_LOAD)).outcome, 'Taken');
      for (let n = 0; n < 20; n++)
        assert.deepEqual(await ledger.take(`b-${n}`, slots, NO_TOKENS_LOAD), { outcome: 'Full', full: slots[1] });
      ledger.release('a', NOTHING_CONSUMED);
      assert.equal((await ledger.take('c', slots, NO_TOKENS_LOAD)).outcome, 'Taken');
      assert.deepEqual(ledger.gauges().slots, { Key: 1, Group: 0, Channel: 1 });
      await ledger.close();
    });

    test('recovers after a node was unavailable, with all data', async () => {
      const ledger = await openValkeyLedger({ url: `${cluster.url}?prefix=away`, over: { refillMs: 0 } });
      await spend(ledger, 1);
      await node?.kill();
      const untilMs = performance.now() + DEADLINE_MS;
      const results = await Promise.allSettled(
        accounts.map((place, n) => ledger.admit(holdRequest(`away-${n}`, 1n, { origin: place }))),
      );
      assert.ok(results.some(({ status }) => status === 'rejected'));
      for (const each of results) if (each.status === 'rejected') assert.ok(each.reason instanceof LedgerUnavailable);
      await node?.start();
      await whenFormed(cluster.nodes);
      while (!ledger.health?.().ok && performance.now() < untilMs) await sleep(20);
      assert.deepEqual(
        await Promise.all(accounts.map((place, n) => ledger.admit(holdRequest(`back-${n}`, 1n, { origin: place })))),
        accounts.map(() => HELD(1n)),
      );
      for (const { account } of accounts) assert.equal((await ledger.readAccount(account)).spentNanoUsd, 5n);
      await ledger.close();
    });
  });
}
