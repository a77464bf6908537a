import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ApiKey } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { KeySpending, LedgerReader } from '#ledger/spending.ts';
import { createSpendingReader } from '../../../../operator/reconcile/read-spending.ts';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import type { Findings } from '../../../../operator/status/findings.ts';
import { allOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { GATEWAY_NAMESPACE, NOW_MS, apiKeysOf, resourcesOf } from '../support.ts';

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
const NOTHING: KeySpending = {
  periodStartMs: null,
  resetsMs: null,
  spentNanoUsd: 0n,
  heldNanoUsd: 0n,
  totalSpentNanoUsd: 0n,
  lastUsedMs: null,
};

const findings = (kind: Findings['kind'], name: string): Findings => ({
  kind,
  namespace: 'team',
  name,
  uid: name,
  generation: 1,
  published: true,
  fields: {},
});
const OBSERVED = [findings('Account', 'team'), findings('ApiKey', 'one'), findings('ApiKey', 'two')];

/** A ledger that reports changes, and records which objects were requested. */
interface Telling {
  readonly changed: { keys: string[] | undefined; accounts: string[] };
  readonly marks: (object | undefined)[];
  readonly asked: string[];
}

/** A tracker that counts reports, and a ledger with settable amounts. */
function scene(telling?: Telling) {
  const tracker = createStatusTracker();
  const told: string[] = [];
  const counted = {
    ...tracker,
    spent: (...args: Parameters<typeof tracker.spent>) => {
      told.push(args[0]);
      return tracker.spent(...args);
    },
  };
  const spent = new Map<string, KeySpending>();
  const ledger: LedgerReader = {
    readKey: (uid, _period, account) => {
      assert.equal(account, 'team/team');
      telling?.asked.push(uid);
      return Promise.resolve({ ...(spent.get(uid) ?? NOTHING) });
    },
    readAccount: (account) => {
      telling?.asked.push(`account ${account}`);
      return Promise.resolve({ spentNanoUsd: 0n, heldNanoUsd: 0n });
    },
    ...(telling && {
      changesSince: (mark) => {
        telling.marks.push(mark);
        const { keys, accounts } = telling.changed;
        return Promise.resolve({ mark: {}, ...(mark && keys && { keys, accounts }) });
      },
    }),
  };
  const reader = createSpendingReader(counted, GATEWAY_NAMESPACE);
  tracker.observe(OBSERVED, NOW_MS);
  const read = async (text: ReturnType<typeof resourcesOf>, nowMs = NOW_MS): Promise<readonly string[]> => {
    told.length = 0;
    assert.equal(await reader.read(text, { ledger, nowMs }), true);
    return [...told];
  };
  const spentUsd = (name: string) => tracker.get(`ApiKey team/${name}`)?.status;
  return { tracker, ledger, read, reader, spent, spentUsd };
}

describe('reading spending', () => {
  it('writes only what differs from the last read', async () => {
    const { read, spent, spentUsd } = scene();
    const resources = resourcesOf(key('one', '2') + key('two', '2') + ACCOUNT);
    assert.deepEqual((await read(resources)).toSorted(), ['Account team/team', 'ApiKey team/one', 'ApiKey team/two']);
    assert.deepEqual(await read(resources), []);
    spent.set('team/two', { ...NOTHING, spentNanoUsd: 500_000_000n, totalSpentNanoUsd: 500_000_000n });
    assert.deepEqual(await read(resources), ['ApiKey team/two']);
    assert.equal(spentUsd('two')?.remainingUsd, '1.50');
    // every field counts: a period may begin with no spending before and after
    for (const change of [
      { lastUsedMs: 1 },
      { periodStartMs: 2 },
      { resetsMs: 3 },
      { heldNanoUsd: 4n },
      { totalSpentNanoUsd: 5n },
    ]) {
      spent.set('team/one', { ...(spent.get('team/one') ?? NOTHING), ...change });
      assert.deepEqual(await read(resources), ['ApiKey team/one'], Object.keys(change).join());
    }
  });

  it('compares it with an edited limit', async () => {
    const { read, spent, spentUsd } = scene();
    spent.set('team/one', { ...NOTHING, spentNanoUsd: 500_000_000n });
    await read(resourcesOf(key('one', '2')));
    assert.deepEqual(await read(resourcesOf(key('one', '3'))), ['ApiKey team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.50');
  });

  it('is not recorded with another version of the limit than the one that is observed', async () => {
    const { tracker, read, spentUsd } = scene();
    await read(resourcesOf(key('one', '2')));
    const withLimit = (limitUsd: string, generation: number): Resources => {
      const [apiKey] = apiKeysOf(key('one', limitUsd));
      assert.ok(apiKey);
      const edited = { ...apiKey, metadata: { ...apiKey.metadata, generation } };
      return { ...resourcesOf(''), apiKeys: new Map([['team', [edited]]]) };
    };
    // the edit is read before it is observed
    await read(withLimit('3', 2));
    assert.deepEqual([spentUsd('one')?.observedGeneration, spentUsd('one')?.remainingUsd], [1, '2.00']);
    // a read that began before the edit ends after it was observed
    tracker.observe(
      OBSERVED.map((each) => ({ ...each, generation: 2 })),
      NOW_MS,
    );
    await read(withLimit('1', 1));
    assert.equal(spentUsd('one')?.remainingUsd, '2.00');
    assert.ok(tracker.awaitsSpending('ApiKey team/one'));
    await read(withLimit('3', 2));
    assert.deepEqual([spentUsd('one')?.observedGeneration, spentUsd('one')?.remainingUsd], [2, '3.00']);
    assert.ok(!tracker.awaitsSpending('ApiKey team/one'));
  });

  it('reports it to a tracker that has lost it', async () => {
    const { tracker, read, spentUsd } = scene();
    const resources = resourcesOf(key('one', '2'));
    await read(resources);
    tracker.clear();
    tracker.observe(OBSERVED, NOW_MS);
    assert.deepEqual(await read(resources), ['ApiKey team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.00');
  });

  it('reports it again for an object that was not observed at the read, whatever its status', async () => {
    const { tracker, read, spentUsd } = scene();
    const resources = resourcesOf(key('one', '2'));
    tracker.observe([], NOW_MS);
    await read(resources);
    const time = new Date(NOW_MS).toISOString();
    const conditions = [
      {
        type: 'QuotaLow',
        status: 'True' as const,
        reason: 'AboveThreshold',
        message: 'of another gateway',
        lastTransitionTime: time,
        observedGeneration: 1,
      },
    ];
    tracker.observe(OBSERVED, NOW_MS, (id) =>
      id === 'ApiKey team/one' ? { observedGeneration: 1, conditions } : undefined,
    );
    await read(resources);
    assert.equal(spentUsd('one')?.remainingUsd, '2.00');
  });

  it("leaves out other gateways' objects, and reports a ledger that does not respond", async () => {
    const { read, reader } = scene();
    assert.deepEqual(await read(resourcesOf(key('one', '2', ', gatewayNamespace: elsewhere'))), []);
    const unavailable = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    assert.equal(
      await reader.read(resourcesOf(key('one', '2')), {
        ledger: { readKey: unavailable, readAccount: unavailable },
        nowMs: NOW_MS,
      }),
      false,
    );
  });
});

describe('reading from a ledger that reports changes', () => {
  const telling = (): Telling => ({ changed: { keys: [], accounts: [] }, marks: [], asked: [] });
  const RESOURCES = resourcesOf(key('one', '2') + key('two', '2') + ACCOUNT);
  const ALL = ['team/one', 'team/two', 'account team/team'];

  /** The objects that one more read requests. */
  async function askedBy({ asked }: Telling, reading: () => Promise<unknown>): Promise<readonly string[]> {
    asked.length = 0;
    await reading();
    return [...asked];
  }

  it('reads all at first, then only changes since the last read', async () => {
    const ledger = telling();
    const { read } = scene(ledger);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), ALL);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), []);
    ledger.changed.keys = ['team/two', "another gateway's"];
    ledger.changed.accounts = ['team/team'];
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), ['team/two', 'account team/team']);
    assert.equal(ledger.marks[0], undefined);
    assert.equal(new Set(ledger.marks).size, ledger.marks.length);
    ledger.changed.keys = undefined;
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), ALL);
  });

  it('reads new and edited objects, and no more deleted ones', async () => {
    const ledger = telling();
    const { read, spent, spentUsd } = scene(ledger);
    await read(RESOURCES);
    spent.set('team/one', { ...NOTHING, spentNanoUsd: 500_000_000n });
    const [, two] = allOf(RESOURCES.apiKeys);
    assert.ok(two);
    const withKeys = (...keys: ApiKey[]): Resources => ({ ...RESOURCES, apiKeys: new Map([['team', keys]]) });
    const [edited] = apiKeysOf(key('one', '3'));
    assert.ok(edited);
    assert.deepEqual(await askedBy(ledger, () => read(withKeys(edited, two))), ['team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.50');
    ledger.changed.keys = ['team/one', 'team/two'];
    assert.deepEqual(await askedBy(ledger, () => read(withKeys(two))), ['team/two']);
  });

  it('reads an object again that was not observed at the read', async () => {
    const ledger = telling();
    const { tracker, read, spentUsd } = scene(ledger);
    tracker.observe(OBSERVED.slice(0, 2), NOW_MS);
    await read(RESOURCES);
    tracker.observe(OBSERVED, NOW_MS);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), ['team/two']);
    assert.equal(spentUsd('two')?.remainingUsd, '2.00');
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), []);
  });

  it('reads an unobserved object no more if it was replaced or deleted', async () => {
    const ledger = telling();
    const { tracker, read, spent, spentUsd } = scene(ledger);
    tracker.observe(OBSERVED.slice(0, 1), NOW_MS);
    await read(RESOURCES);
    tracker.observe(OBSERVED.slice(0, 2), NOW_MS);
    spent.set('team/one', { ...NOTHING, spentNanoUsd: 500_000_000n });
    const edited = { ...RESOURCES, apiKeys: resourcesOf(key('one', '3')).apiKeys };
    assert.deepEqual(await askedBy(ledger, () => read(edited)), ['team/one']);
    assert.equal(spentUsd('one')?.remainingUsd, '2.50');
    assert.deepEqual(await askedBy(ledger, () => read(edited)), []);
  });

  it('reads all when a period ends, and when the clock is set back', async () => {
    const ledger = telling();
    const { read, spent } = scene(ledger);
    spent.set('team/two', { ...NOTHING, resetsMs: NOW_MS + 1000 });
    await read(RESOURCES);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES, NOW_MS + 999)), []);
    spent.set('team/two', { ...NOTHING, resetsMs: NOW_MS + 5000 });
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES, NOW_MS + 1000)), ALL);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES, NOW_MS + 1001)), []);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES, NOW_MS)), ALL);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES, NOW_MS + 5000)), ALL);
  });

  it('reads all again after the ledger failed to respond with changes', async () => {
    const ledger = telling();
    const { read, reader, ledger: working } = scene(ledger);
    await read(RESOURCES);
    ledger.changed.keys = ['team/two'];
    const readKey = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    assert.equal(await reader.read(RESOURCES, { ledger: { ...working, readKey }, nowMs: NOW_MS }), false);
    ledger.changed.keys = [];
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), ALL);
    assert.deepEqual(await askedBy(ledger, () => read(RESOURCES)), []);
  });

  it('serialises reads: a concurrent reader gets all earlier changes', async () => {
    const ledger = telling();
    const { read, reader, ledger: working, spent, spentUsd } = scene(ledger);
    await read(RESOURCES);
    ledger.changed.keys = ['team/two'];
    spent.set('team/two', { ...NOTHING, spentNanoUsd: 500_000_000n });
    const asked = Promise.withResolvers<undefined>();
    const gate = Promise.withResolvers<undefined>();
    const readKey: LedgerReader['readKey'] = async (...args) => {
      asked.resolve(undefined);
      await gate.promise;
      return working.readKey(...args);
    };
    const first = reader.read(RESOURCES, { ledger: { ...working, readKey }, nowMs: NOW_MS });
    await asked.promise;
    ledger.changed.keys = [];
    const second = read(RESOURCES).then(() => spentUsd('two')?.remainingUsd);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    gate.resolve(undefined);
    assert.equal(await second, '1.50');
    await first;
  });
});
