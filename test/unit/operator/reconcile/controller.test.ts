/**
 * The control loop of a cluster with a controlled clock: publishing waits for nothing, and conditions follow the
 * proxies' reports.
 */
import { EMPTY_SNAPSHOT } from '#snapshot/kinds.gen.ts';
import assert from 'node:assert/strict';
import { describe, it, test } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AccountSpending } from '#ledger/spending.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { LiveObject } from '#objects/live-object.ts';
import { allOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { Controller } from '../../../../operator/reconcile/controller.ts';
import type { ControllerOptions } from '../../../../operator/reconcile/controller.ts';
import { createValidPublisher, publishable } from '../../../../operator/reconcile/last-good.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import type { ProxyProgress } from '../../../../operator/status/programming.ts';
import { NO_LOG, NO_METER, fakeClock } from '../fake-clock.ts';
import { GATEWAY_NAMESPACE, NOW_MS, newLoader } from '../support.ts';

const ACCOUNT = (name: string, usd = '1') =>
  `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ` +
  `${name}}\nspec: {grants: [{name: g, usd: "${usd}"}]}\n---\n`;
const ID = `Account ${GATEWAY_NAMESPACE}/a`;

function setUp(text: string, over: Partial<ControllerOptions> = {}) {
  const clock = fakeClock();
  const load = newLoader();
  const published: Snapshot[] = [];
  const changed: [string, number | undefined][] = [];
  const live = new Map<string, LiveObject>();
  const state: { resources: Resources; progress: ProxyProgress | undefined; writing: boolean } = {
    resources: load([{ path: 'x', text }]).resources,
    progress: {
      version: '1',
      connected: 2,
      acknowledged: 2,
      rejected: [],
      convergedMs: 3.2,
    },
    writing: false,
  };
  const controller = new Controller({
    gatewayNamespace: GATEWAY_NAMESPACE,
    clock,
    meter: NO_METER,
    log: NO_LOG,
    onMinted: () => undefined,
    source: {
      resources: () => state.resources,
      objects: {
        live: (id: string) => live.get(id),
        current(id: string) {
          const account = allOf(state.resources.accounts).find(
            ({ metadata: { namespace, name } }) => id === `Account ${namespace}/${name}`,
          );
          return account && { ...account, status: live.get(id)?.status };
        },
      } as never,
    },
    proxies: {
      publish: createValidPublisher({ publish: (snapshot) => void published.push(snapshot), log: NO_LOG }),
      progress: () => state.progress,
    },
    keys: {
      joined: (resources) => resources,
      find: () => undefined,
      obstacle: () => undefined,
      write: () => Promise.reject(new Error('hangs')),
    },
    statuses: {
      start: () => {
        state.writing = true;
      },
      stop: async () => {
        state.writing = false;
      },
      changed: (id, afterMs) => void changed.push([id, afterMs]),
    },
    ...over,
  });
  const programmed = (id = ID): string => {
    const condition = controller.status(id)?.status.conditions.find(({ type }) => type === 'Programmed');
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  };
  return {
    clock,
    controller,
    published,
    changed,
    live,
    state,
    programmed,
    edit: (next: string) => {
      state.resources = load([{ path: 'x', text: next }]).resources;
    },
  };
}

test('publishes a change before it writes any status', async () => {
  const { clock, controller, published, programmed, edit, state } = setUp(ACCOUNT('a'));
  await controller.start();
  assert.equal(programmed(), 'True Programmed: Acknowledged by 2 of 2 proxies in 4 ms.');
  state.progress = { version: '1', connected: 2, acknowledged: 0, rejected: [], convergedMs: undefined };
  edit(ACCOUNT('a', '2'));
  controller.resourcesChanged();
  await clock.pass(20);
  assert.equal(published.length, 2);
  assert.equal(programmed(), 'Unknown Reconciling: Acknowledged by 0 of 2 proxies so far.');
  state.progress = { version: '1', connected: 2, acknowledged: 2, rejected: [], convergedMs: 9 };
  controller.progressed([ID]);
  assert.equal(programmed(), 'True Programmed: Acknowledged by 2 of 2 proxies in 9 ms.');
  await controller.stop();
});

test('ignores a new proxy for two seconds, but not a refusal', async () => {
  const { clock, controller, programmed, state } = setUp(ACCOUNT('a'), { settleMs: 0 });
  await controller.start();
  const before = programmed();
  state.progress = { version: '1', connected: 3, acknowledged: 2, rejected: [], convergedMs: undefined };
  controller.progressed([ID]);
  await clock.pass(1900);
  assert.equal(programmed(), before);
  await clock.pass(200);
  assert.equal(programmed(), 'Unknown Reconciling: Acknowledged by 2 of 3 proxies so far.');
  state.progress = {
    version: '1',
    connected: 3,
    acknowledged: 2,
    rejected: [{ proxy: 'p3', message: 'too long' }],
    convergedMs: undefined,
  };
  controller.progressed([ID]);
  assert.equal(
    programmed(),
    'False Rejected: Rejected by 1 of 3 proxies, which continue with the last good version. p3: too long',
  );
  await controller.stop();
});

test('continues from the live objects as a new leader, and waits for proxies to connect', async () => {
  const { clock, controller, programmed, live, state } = setUp(ACCOUNT('a'));
  state.progress = { version: '1', connected: 0, acknowledged: 0, rejected: [], convergedMs: undefined };
  const generation = allOf(state.resources.accounts)[0]?.metadata.generation ?? 0;
  const conditions = ['Accepted', 'Programmed', 'Ready'].map((type) => ({
    type,
    status: 'True' as const,
    reason: type,
    message: `${type} before`,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: generation,
  }));
  live.set(ID, {
    kind: 'Account',
    namespace: GATEWAY_NAMESPACE,
    name: 'a',
    uid: 'u',
    resourceVersion: '1',
    status: { observedGeneration: generation, conditions },
  });
  await controller.start();
  await controller.lead(true);
  assert.equal(state.writing, true);
  assert.equal(programmed(), 'True Programmed: Programmed before');
  assert.deepEqual(
    controller.status(ID)?.status.conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    Array(3).fill('2026-01-01T00:00:00Z'),
  );
  await clock.pass(12_500);
  assert.match(programmed(), /^False NoProxies: No proxy is connected/);
  await controller.lead(false);
  assert.equal(state.writing, false);
  await controller.stop();
});

test('begins as the leader without waiting for the ledger, and then writes all statuses', async () => {
  const { promise: hanging } = Promise.withResolvers<never>();
  const ledger = { readKey: () => hanging, readAccount: () => hanging };
  const { clock, controller, published, changed, state, edit } = setUp(ACCOUNT('a'), { ledger });
  await controller.lead(true);
  await controller.start();
  assert.deepEqual([published.length, state.writing], [1, false]);
  edit(ACCOUNT('a', '2'));
  controller.resourcesChanged();
  await clock.pass(20);
  assert.deepEqual([published.length, state.writing], [2, false], 'publishing waits for no ledger');
  changed.length = 0;
  await clock.pass(5_000);
  assert.ok(state.writing);
  assert.ok(changed.some(([id]) => id === ID));
});

test('as the leader keeps no timer of the wait for the first spending', async () => {
  const ledger = {
    readKey: () => Promise.reject(new Error('there is no key')),
    readAccount: () => Promise.resolve({ spentNanoUsd: 0n, heldNanoUsd: 0n }),
  };
  const { clock, controller, state } = setUp(ACCOUNT('a'), { ledger });
  await controller.start();
  const before = clock.pending();
  await controller.lead(true);
  assert.ok(state.writing);
  const added = clock.pending().filter((atMs) => !before.includes(atMs));
  assert.ok(!added.includes(clock.nowMs() + 5_000), added.join());
  await controller.stop();
});

test('reports an object that no operator serves again before its Event is deleted', async () => {
  const reported: string[] = [];
  const foreign =
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: typo, creationTimestamp: ` +
    `"2020-01-01T00:00:00Z"}\nspec: {gatewayNamespace: nobody}\n---\n`;
  const { clock, controller } = setUp(foreign, { onUnserved: ({ id }) => void reported.push(id) });
  await controller.start();
  await controller.lead(true);
  await clock.pass(45 * 60_000);
  assert.deepEqual(reported, [`Account ${GATEWAY_NAMESPACE}/typo`]);
  await clock.pass(10 * 60_000);
  assert.equal(reported.length, 2);
  await controller.stop();
});

test('writes objects later that are about to change again', async () => {
  const { controller, changed, state } = setUp(ACCOUNT('a'));
  state.progress = { version: '1', connected: 2, acknowledged: 1, rejected: [], convergedMs: undefined };
  await controller.start();
  assert.deepEqual(changed, [[ID, 300]]);
  state.progress = { version: '1', connected: 2, acknowledged: 2, rejected: [], convergedMs: 8 };
  controller.progressed([ID]);
  assert.deepEqual(changed.at(-1), [ID, 0]);
  await controller.stop();
});

test('generates keys beside publishing, and a failure delays nothing', async () => {
  const key =
    'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: k, namespace: team-a}\nspec: ' +
    '{groupRef: {name: g}, accountRef: {name: a}}\n';
  let asked = 0;
  const { clock, controller, published, edit } = setUp(ACCOUNT('a') + key, {
    keys: {
      joined: (resources) => resources,
      find: () => undefined,
      obstacle: () => undefined,
      write: () =>
        new Promise(() => {
          asked++;
        }),
    },
  });
  await controller.start();
  await controller.lead(true);
  await clock.pass(10);
  assert.equal(asked, 1);
  edit(ACCOUNT('a') + ACCOUNT('b') + key);
  controller.resourcesChanged();
  await clock.pass(20);
  assert.deepEqual([published.at(-1)?.accounts.length, asked], [2, 1]);
});

test("keeps one object's fault from affecting others: it stays at its last good version, or out", () => {
  const load = newLoader();
  const snapshotOf = (text: string): Snapshot =>
    translate(load([{ path: 'x', text }]).resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS }).snapshot;
  const good = snapshotOf(ACCOUNT('a') + ACCOUNT('b'));
  const group = {
    namespace: GATEWAY_NAMESPACE,
    name: 'bad',
    generation: 1n,
    displayName: '',
    priceRatioE9: 1n,
    access: { $case: 'automatic', value: { members: [] } },
  };
  const wanted: Snapshot = { ...snapshotOf(ACCOUNT('a', '5') + ACCOUNT('c')), groups: [group as never] };
  const result = publishable(wanted, good);
  assert.deepEqual(
    result?.faults.map(({ name }) => name),
    Array(result?.faults.length).fill('bad'),
  );
  assert.ok((result?.faults.length ?? 0) > 0);
  assert.deepEqual(
    [result?.snapshot.groups, result?.snapshot.accounts.map(({ name, creditNanoUsd }) => [name, creditNanoUsd])],
    [
      [],
      [
        ['a', 5_000_000_000n],
        ['c', 1_000_000_000n],
      ],
    ],
  );
  const before = {
    ...good,
    groups: [
      {
        ...group,
        access: { $case: 'automatic', value: { members: ['x'] } },
        displayName: 'last good',
      } as never,
    ],
  };
  assert.equal(publishable(wanted, before)?.snapshot.groups[0]?.displayName, 'last good');
});

test('a changed key with a fault keeps its last good version, and all others change', () => {
  const load = newLoader();
  const snapshotOf = (...limits: string[]): Snapshot =>
    translate(load([{ path: 'x', text: ACCOUNT('a') + limits.map(keyManifest).join('') }]).resources, {
      gatewayNamespace: GATEWAY_NAMESPACE,
      nowMs: NOW_MS,
    }).snapshot;
  const good = snapshotOf('1', '1');
  const wanted = snapshotOf('2', '2');
  const [first, second] = wanted.keys;
  assert.ok(first && second);
  const twice = { ...first, hashes: [...first.hashes, ...first.hashes] };
  const result = publishable({ ...wanted, keys: [twice, second] }, good);
  assert.deepEqual(
    result?.faults.map(({ kind, name }) => `${kind} ${name}`),
    ['ApiKey key-0'],
  );
  assert.deepEqual(result?.snapshot.keys, [good.keys[0], second]);
  assert.deepEqual(publishable(wanted, good), { snapshot: wanted, faults: [] });
});

test('a changed account with a fault keeps its last good version', () => {
  const account = { namespace: 'team-a', name: 'a', generation: 1n, creditNanoUsd: 1n, limits: [] };
  const good: Snapshot = { ...EMPTY_SNAPSHOT, accounts: [account] };
  const faulty = { ...account, generation: 2n, rateLimits: { requestsPerMinute: 0 } };
  const result = publishable({ ...good, accounts: [faulty] }, good);
  assert.deepEqual(
    [result?.faults.map(({ kind, name }) => `${kind} ${name}`), result?.snapshot.accounts],
    [['Account a'], [account]],
  );
});

/** The nth key, with its Secret. */
function keyManifest(limitUsd: string, n: number): string {
  return (
    `apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: key-${n}}\nspec: {groupRef: {name: ` +
    `g}, accountRef: {name: a}, quota: {limitUsd: "${limitUsd}"}, key: {type: Provided}}\n---\napiVersion: v1\n` +
    `kind: Secret\nmetadata: {name: key-${n}-key}\nstringData: {apiKey: sk-${String(n).padStart(40, '0')}}\n---\n`
  );
}

test('writes an edit together with what remains of its limit, and a new object with its spending', async () => {
  const ledger = {
    readKey: () => Promise.reject(new Error('there is no key')),
    readAccount: () => Promise.resolve({ spentNanoUsd: 0n, heldNanoUsd: 0n }),
  };
  const { clock, controller, changed, edit } = setUp(ACCOUNT('a', '5'), { ledger });
  await controller.start();
  await controller.lead(true);
  await clock.pass(20);
  const seen: unknown[] = [];
  const watch = (id: string): void => {
    // what an immediate write would have
    for (const [each, afterMs] of changed.splice(0))
      if (each === id && (afterMs ?? 0) === 0) {
        const { balanceUsd, spentUsd } = controller.status(id)?.status ?? {};
        seen.push([spentUsd, balanceUsd]);
      }
  };
  watch(ID);
  assert.deepEqual(seen.splice(0).at(-1), ['0.00', '5.00']);
  edit(`${ACCOUNT('a', '7')}${ACCOUNT('b', '3')}`);
  controller.resourcesChanged();
  await clock.pass(2);
  assert.deepEqual(
    changed.filter(([, afterMs]) => (afterMs ?? 0) === 0),
    [],
  );
  await clock.pass(20);
  watch(ID);
  assert.deepEqual(seen, [['0.00', '7.00']]);
  assert.equal(controller.status(ID.replace(/a$/, 'b'))?.status.balanceUsd, '3.00');
  await controller.stop();
});

describe('what is left of an edited limit, while the ledger does not respond', () => {
  /** A ledger whose reads end, with an error, only when the test ends. */
  function hangingLedger() {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    const end = (): void => reject(new LedgerUnavailable('gone'));
    return { readKey: () => promise, readAccount: () => promise, end };
  }
  const shown = (controller: Controller): unknown[] => {
    const { observedGeneration, spentUsd, balanceUsd, conditions = [] } = controller.status(ID)?.status ?? {};
    return [observedGeneration, spentUsd, balanceUsd, conditions.find(({ type }) => type === 'Ready')?.reason];
  };

  it('follows from what was read before, so that no status has the new limit with the rest of the old one', async () => {
    let readAccount: () => Promise<AccountSpending> = () =>
      Promise.resolve({ spentNanoUsd: 2_000_000_000n, heldNanoUsd: 0n });
    const hanging = hangingLedger();
    const ledger = { ...hanging, readAccount: () => readAccount() };
    const { clock, controller, changed, edit } = setUp(ACCOUNT('a', '5'), { ledger });
    await controller.start();
    await controller.lead(true);
    await clock.pass(20);
    const [before] = shown(controller);
    assert.deepEqual(shown(controller), [before, '2.00', '3.00', 'Ready']);
    readAccount = hanging.readAccount;
    changed.length = 0;
    edit(ACCOUNT('a', '7'));
    controller.resourcesChanged();
    await clock.pass(600);
    assert.ok(changed.some(([id]) => id === ID));
    assert.deepEqual(shown(controller), [Number(before) + 1, '2.00', '5.00', 'Ready']);
    edit(ACCOUNT('a', '1'));
    controller.resourcesChanged();
    await clock.pass(600);
    assert.deepEqual(shown(controller), [Number(before) + 2, '2.00', '-1.00', 'LimitReached']);
    hanging.end();
    await controller.stop();
  });

  it('follows from the status that an earlier leader wrote', async () => {
    const ledger = hangingLedger();
    const { clock, controller, live } = setUp(ACCOUNT('a', '9'), { ledger });
    live.set(ID, {
      kind: 'Account',
      namespace: GATEWAY_NAMESPACE,
      name: 'a',
      uid: 'a',
      resourceVersion: '1',
      status: { observedGeneration: 0, spentUsd: '2.00', balanceUsd: '3.00' },
    });
    await controller.start();
    const leads = controller.lead(true);
    await clock.pass(5_000);
    await leads;
    assert.deepEqual(shown(controller).slice(1), ['2.00', '7.00', 'Ready']);
    ledger.end();
    await controller.stop();
  });
});
