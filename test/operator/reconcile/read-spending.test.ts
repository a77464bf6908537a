import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { KeySpending, LedgerReader } from '#ledger/ledger.ts';
import { createSpendingReader } from '../../../operator/reconcile/read-spending.ts';
import { openStatusBook } from '../../../operator/reconcile/status-book.ts';
import type { Findings } from '../../../operator/status/findings.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const key = (name: string, limitUsd: string, more = ''): string => `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: team}
spec: {groupRef: {name: main}, accountRef: {name: team}, quota: {limitUsd: "${limitUsd}"}${more}}
---
`;
const ACCOUNT = `apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: team, namespace: team}
spec: {grants: [{name: all, usd: "10"}]}
`;
const NOTHING: KeySpending = { periodStartMs: null, resetsMs: null, spentNanoUsd: 0n, heldNanoUsd: 0n, totalSpentNanoUsd: 0n, lastUsedMs: null };

const findings = (kind: Findings['kind'], name: string): Findings => ({ kind, namespace: 'team', name, uid: name, generation: 1, published: true, fields: {} });
const OBSERVED = [findings('Account', 'team'), findings('ApiKey', 'one'), findings('ApiKey', 'two')];

/** A book that counts what it is told, and a ledger whose figures can be set. */
function scene() {
  const book = openStatusBook();
  const told: string[] = [];
  const counted = { ...book, spent: (...args: Parameters<typeof book.spent>) => { told.push(args[0]); book.spent(...args); } };
  const spent = new Map<string, KeySpending>();
  const ledger: LedgerReader = {
    readKey: (uid, _period, account) => {
      assert.equal(account, 'team/team');
      return Promise.resolve({ ...spent.get(uid) ?? NOTHING });
    },
    readAccount: () => Promise.resolve({ spentNanoUsd: 0n, heldNanoUsd: 0n }),
  };
  const reader = createSpendingReader(counted, GATEWAY_NAMESPACE);
  book.observe(OBSERVED, NOW_MS);
  const read = async (text: ReturnType<typeof resourcesOf>): Promise<readonly string[]> => {
    told.length = 0;
    assert.equal(await reader.read(text, { ledger, nowMs: NOW_MS }), true);
    return [...told];
  };
  const spentUsd = (name: string) => book.get(`ApiKey team/${name}`)?.status;
  return { book, read, reader, spent, spentUsd };
}

describe('reading what was spent', () => {
  it('puts into words only what differs from what was read last', async () => {
    const { read, spent, spentUsd } = scene();
    const resources = resourcesOf(key('one', '2') + key('two', '2') + ACCOUNT);
    assert.deepEqual((await read(resources)).toSorted(), ['Account team/team', 'ApiKey team/one', 'ApiKey team/two']);
    assert.deepEqual(await read(resources), []);
    spent.set('team/two', { ...NOTHING, spentNanoUsd: 500_000_000n, totalSpentNanoUsd: 500_000_000n });
    assert.deepEqual(await read(resources), ['ApiKey team/two']);
    assert.equal(spentUsd('two')?.remainingUsd, '1.50');
    // every field counts: a period may begin with nothing spent before and after
    for (const change of [{ lastUsedMs: 1 }, { periodStartMs: 2 }, { resetsMs: 3 }, { heldNanoUsd: 4n }, { totalSpentNanoUsd: 5n }]) {
      spent.set('team/one', { ...spent.get('team/one') ?? NOTHING, ...change });
      assert.deepEqual(await read(resources), ['ApiKey team/one'], Object.keys(change).join());
    }
  });

  it('measures it anew against an edited limit', async () => {
    const { read, spent, spentUsd } = scene();
    spent.set('team/one', { ...NOTHING, spentNanoUsd: 500_000_000n });
    await read(resourcesOf(key('one', '2')));
    assert.deepEqual(await read(resourcesOf(key('one', '3'))), ['ApiKey team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.50');
  });

  it('tells a book that has forgotten', async () => {
    const { book, read, spentUsd } = scene();
    const resources = resourcesOf(key('one', '2'));
    await read(resources);
    book.clear();
    book.observe(OBSERVED, NOW_MS);
    assert.deepEqual(await read(resources), ['ApiKey team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.00');
  });

  it('leaves out what counts for another gateway, and says where the ledger does not answer', async () => {
    const { read, reader } = scene();
    assert.deepEqual(await read(resourcesOf(key('one', '2', ', gatewayNamespace: elsewhere'))), []);
    const unavailable = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    assert.equal(await reader.read(resourcesOf(key('one', '2')), { ledger: { readKey: unavailable, readAccount: unavailable }, nowMs: NOW_MS }), false);
  });
});
