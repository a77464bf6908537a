/** Statuses show whether an operator still stands behind them, by times that a clock of the test gives. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { Account, ApiKey, Condition } from '#crds/types.gen.ts';
import { startConfirmations } from '../../../../operator/upkeep/confirmations.ts';
import { formatTime } from '../../../../operator/status/conditions.ts';
import type { LiveObject } from '#objects/live-object.ts';
import { fakeClock } from '../fake-clock.ts';
import { NOW_MS, accountsOf } from '../support.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OWN = 'model-gateway';

interface Write {
  readonly manager: string;
  readonly object: string;
  readonly status: { readonly lastConfirmedTime?: string; readonly conditions?: readonly Condition[] };
}

interface Applied {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: Write['status'];
}

/** One leading operator, and an API server that does what it is told unless `fails` says otherwise. */
function scene(own: readonly string[], others: readonly (Account | ApiKey)[] = []) {
  const clock = fakeClock();
  const writes: Write[] = [];
  const problems: unknown[] = [];
  const lives = new Map<string, LiveObject>();
  const state: { leading: boolean; unreadable: boolean; fails: (id: string) => boolean } = {
    leading: true,
    unreadable: false,
    fails: () => false,
  };
  const put = (id: string, status: object = { observedGeneration: 1 }): void => {
    const [kind = '', name = ''] = id.split(' ');
    const [namespace = '', last = ''] = name.split('/');
    lives.set(id, { kind, namespace, name: last, uid: id, resourceVersion: '1', status } as LiveObject);
  };
  for (const id of own) put(id);
  const confirmations = startConfirmations({
    clock,
    gatewayNamespace: OWN,
    leading: () => state.leading,
    tenantObjects: () => others,
    ownIds() {
      if (state.unreadable) throw new Error('the statuses cannot be read');
      return own;
    },
    writable: (id) => lives.get(id),
    onWritten: () => undefined,
    log: { warn: (...line: unknown[]) => void problems.push(line) },
    client: {
      async request({ path, body }: { path: string; body?: unknown }): Promise<never> {
        const { kind, metadata, status } = body as Applied;
        const id = `${kind} ${metadata['namespace']}/${metadata['name']}`;
        if (state.fails(id)) throw new Error('refused');
        const manager = new URLSearchParams(path.split('?')[1]).get('fieldManager') ?? '';
        writes.push({ manager, object: id, status });
        put(id, { ...lives.get(id)?.status, ...status });
        return body as never;
      },
    },
  });
  return { clock, writes, problems, put, state, stop: () => confirmations.stop() };
}

describe('the leader', () => {
  it('confirms each status that was written every six hours, under a field manager of its own', async () => {
    const { clock, writes, put, stop } = scene(['ApiKey team-a/ci', 'Group model-gateway/main', 'ApiKey team-a/new']);
    put('ApiKey team-a/new', {}); // nobody has written its status yet
    await clock.pass(MINUTE_MS);
    const first = { lastConfirmedTime: formatTime(NOW_MS + MINUTE_MS) };
    assert.deepEqual(
      writes.sort((a, b) => a.object.localeCompare(b.object)),
      [
        { manager: `modelgateway-confirmation.${OWN}`, object: 'ApiKey team-a/ci', status: first },
        { manager: `modelgateway-confirmation.${OWN}`, object: 'Group model-gateway/main', status: first },
      ],
    );
    await clock.pass(6 * HOUR_MS - MINUTE_MS);
    assert.equal(writes.length, 2);
    await clock.pass(MINUTE_MS);
    assert.equal(writes.length, 4);
    await stop();
  });

  it('spreads many over half of that time', async () => {
    const ids = Array.from({ length: 10_000 }, (_, number) => `ApiKey team-a/key-${number}`);
    const { clock, writes, stop } = scene(ids);
    await clock.pass(MINUTE_MS);
    assert.equal(writes.length, 56);
    await clock.pass(3 * HOUR_MS);
    assert.equal(new Set(writes.map(({ object }) => object)).size, ids.length);
    assert.equal(writes.length, ids.length);
    await stop();
  });

  it('is not held up by those that cannot be written', async () => {
    const ids = Array.from({ length: 40 }, (_, number) => `ApiKey team-a/key-${number}`);
    const { clock, writes, problems, state, stop } = scene(ids);
    state.fails = (id) => Number(id.split('-').at(-1)) < 30;
    await clock.pass(2 * MINUTE_MS);
    assert.equal(writes.length, 10);
    assert.match(JSON.stringify(problems), /refused.*tried again/);
    await stop();
  });

  it('begins with those that nobody can rely on any more', async () => {
    const ids = Array.from({ length: 60 }, (_, number) => `ApiKey team-a/key-${number}`);
    const { clock, writes, put, stop } = scene(ids);
    const [old = '', silent = ''] = ids.slice(50);
    for (const id of ids) put(id, { observedGeneration: 1, lastConfirmedTime: formatTime(NOW_MS - 7 * HOUR_MS) });
    put(old, { observedGeneration: 1, lastConfirmedTime: formatTime(NOW_MS - 24 * HOUR_MS) });
    put(silent, { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'Unknown', reason: 'GatewaySilent' }] });
    await clock.pass(MINUTE_MS);
    assert.deepEqual(
      writes.slice(0, 2).map(({ object }) => object),
      [old, silent],
    );
    await clock.pass(2 * MINUTE_MS);
    assert.deepEqual(writes.map(({ object }) => object).sort(), ids.sort());
    await stop();
  });

  it('confirms the others also if those cannot be written', async () => {
    const ids = Array.from({ length: 60 }, (_, number) => `ApiKey team-a/key-${number}`);
    const { clock, writes, put, state, stop } = scene(ids);
    state.fails = (id) => Number(id.split('-').at(-1)) < 40;
    for (const id of ids.filter(state.fails))
      put(id, { observedGeneration: 1, lastConfirmedTime: formatTime(NOW_MS - 24 * HOUR_MS) });
    await clock.pass(MINUTE_MS);
    assert.equal(writes.length, 20);
    await stop();
  });

  it('goes on after a sweep that failed as a whole', async () => {
    const { clock, writes, problems, state, stop } = scene(['ApiKey team-a/ci']);
    state.unreadable = true;
    await clock.pass(MINUTE_MS);
    assert.match(String((problems[0] as [{ err: Error }])[0].err), /the statuses cannot be read/);
    state.unreadable = false;
    await clock.pass(MINUTE_MS);
    assert.equal(writes.length, 1);
    await stop();
  });

  it('alone does so', async () => {
    const { clock, writes, state, stop } = scene(['ApiKey team-a/ci']);
    state.leading = false;
    await clock.pass(HOUR_MS);
    assert.deepEqual(writes, []);
    state.leading = true;
    await stop();
    await clock.pass(HOUR_MS);
    assert.deepEqual(writes, []);
  });
});

describe('an object of another gateway', () => {
  const id = 'Account team-b/team';
  const accounts = (...names: string[]): Account[] =>
    accountsOf(
      names
        .map(
          (name) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: ${name}, namespace: team-b}
spec: {gatewayNamespace: other}
---`,
        )
        .join(''),
    );
  const others = accounts('team');
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: 'It does.', lastTransitionTime: 'then' };
  const accepted = { ...ready, type: 'Accepted' };
  const confirmed = formatTime(NOW_MS);

  it('is not Ready any more once its own operators have been silent for a day', async () => {
    const { clock, writes, put, stop } = scene([], others);
    put(id, { observedGeneration: 1, lastConfirmedTime: confirmed, conditions: [accepted, ready] });
    await clock.pass(24 * HOUR_MS - MINUTE_MS);
    assert.equal(writes.length, 0);
    await clock.pass(MINUTE_MS);
    assert.deepEqual(
      writes.map(({ manager, object }) => [manager, object]),
      [['modelgateway-operator.other', id]],
    );
    const [still, withdrawn] = writes[0]?.status.conditions ?? [];
    assert.deepEqual(still, accepted);
    assert.deepEqual([withdrawn?.status, withdrawn?.reason], ['Unknown', 'GatewaySilent']);
    assert.match(withdrawn?.message ?? '', new RegExp(`for a day.*"other"; it last confirmed .* at ${confirmed}`));
    await clock.pass(24 * HOUR_MS);
    assert.equal(writes.length, 1);
    await stop();
  });

  it('stays as it is where no operator ever confirmed it, as earlier versions did not', async () => {
    const { clock, writes, put, stop } = scene([], others);
    put(id, { observedGeneration: 1, conditions: [ready] });
    await clock.pass(48 * HOUR_MS);
    assert.deepEqual(writes, []);
    await stop();
  });

  it('stays as it is while its gateway confirms another one, also right after a silence', async () => {
    const { clock, writes, put, stop } = scene([], accounts('team', 'late'));
    const stale = { observedGeneration: 1, lastConfirmedTime: confirmed, conditions: [ready] };
    put(id, stale);
    put('Account team-b/late', { ...stale, lastConfirmedTime: formatTime(NOW_MS + HOUR_MS) });
    await clock.pass(25 * HOUR_MS - MINUTE_MS);
    assert.equal(writes.length, 0);
    await clock.pass(MINUTE_MS);
    assert.deepEqual(writes.map(({ object }) => object).sort(), ['Account team-b/late', id]);
    for (const { status } of writes)
      assert.match(status.conditions?.[0]?.message ?? '', new RegExp(`at ${formatTime(NOW_MS + HOUR_MS)}`));

    put('Account team-b/late', { ...stale, lastConfirmedTime: formatTime(clock.nowMs()) });
    put(id, stale); // its operator is back and has corrected the conditions, and confirms it later
    await clock.pass(HOUR_MS);
    assert.equal(writes.length, 2);
    await stop();
  });

  it('is not held up by those that cannot be written', async () => {
    const names = Array.from({ length: 40 }, (_, number) => `team-${number}`);
    const { clock, writes, put, state, stop } = scene([], accounts(...names));
    for (const name of names) put(`Account team-b/${name}`, { lastConfirmedTime: confirmed, conditions: [ready] });
    state.fails = (object) => Number(object.split('-').at(-1)) < 30;
    await clock.pass(24 * HOUR_MS + MINUTE_MS);
    assert.equal(writes.length, 10);
    await stop();
  });
});
