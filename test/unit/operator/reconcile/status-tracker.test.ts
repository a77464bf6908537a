/** What the status of a ModelRoute counts, and what an ApiKey's says of its Account. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { allOf } from '#objects/resources.ts';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import { accountSpendingStatus, keySpendingStatus, limitsStatus } from '../../../../operator/status/spending.ts';
import { REFUSAL_LASTS_MS } from '../../../../operator/status/refusals.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const ID = `ModelRoute ${GATEWAY_NAMESPACE}/openai`;

const channel = (name: string, more = ''): string =>
  `    - {name: ${name}, protocol: OpenAI, baseUrl: "https://${name}.test/v1"${more}}\n`;

/** A route with a channel that is drained, one whose Secret is missing, and three that may serve. */
const route = (drained = '[drained]'): string => `apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: openai}
spec:
  models: [{name: gpt, contextTokens: 10, maxOutputTokens: 5}]
  drainedChannels: ${drained}
  channels:
${['main', 'second', 'third', 'drained'].map((name) => channel(name)).join('')}${channel(
  'keyless',
  ', auth: {type: ApiKey, secretRef: {name: nowhere}}',
)}`;

describe('CHANNELS counts usable ones', () => {
  function scene(manifest = route()) {
    const changed: string[] = [];
    const tracker = createStatusTracker((id) => changed.push(id));
    const observe = (text: string): void => {
      const { statuses } = translate(resourcesOf(text), {
        gatewayNamespace: GATEWAY_NAMESPACE,
        nowMs: NOW_MS,
        sealingKeys: [],
      });
      tracker.observe(statuses, NOW_MS);
    };
    observe(manifest);
    const channels = (): number | undefined => tracker.get(ID)?.status.channels;
    return { tracker, changed, channels, observe };
  }

  it('with a credential, and not drained', () => {
    assert.equal(scene().channels(), 3);
    assert.equal(scene(route('[main, second, third, drained]')).channels(), 0);
  });

  it('without those whose provider answers 401, 402 or 403, until they are in order again', () => {
    for (const status of [401, 402, 403]) {
      const { tracker, changed, channels } = scene();
      changed.length = 0;
      tracker.refused(ID, { channel: 'main', status, atMs: NOW_MS });
      assert.equal(channels(), 2);
      assert.deepEqual(changed, [ID], 'the status is written');
      tracker.refused(ID, { channel: 'main', status, atMs: NOW_MS + 1 });
      tracker.refused(ID, { channel: 'drained', status, atMs: NOW_MS + 1 });
      assert.equal(channels(), 2, 'each is counted once');
      tracker.refused(ID, { channel: 'third', status, atMs: NOW_MS + 2 });
      assert.equal(channels(), 1);
      tracker.refused(ID, { channel: 'main', status: 0, recovered: true, atMs: NOW_MS + 3 });
      assert.equal(channels(), 2);
      tracker.expire(NOW_MS + 2 + REFUSAL_LASTS_MS);
      assert.equal(channels(), 3);
    }
  });

  it('with those that refuse a model or an address, or cannot be reached at the moment', () => {
    const { tracker, channels } = scene();
    tracker.refused(ID, { channel: 'main', status: 404, atMs: NOW_MS });
    tracker.refused(ID, { channel: 'second', status: 0, connectError: 'ECONNREFUSED', atMs: NOW_MS });
    assert.equal(channels(), 3);
  });
});

describe('a key whose Account has spent its credit or reached a limit', () => {
  const USD = 1_000_000_000n;
  const account = (name: string): string =>
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: ${name}}\n` +
    'spec: {grants: [{name: g, usd: "10"}], limits: [{usd: "5", period: Total}]}\n---\n';
  const key = (name: string, of: string): string =>
    `apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ${name}}\n` +
    `spec: {groupRef: {name: main}, accountRef: {name: ${of}}, quota: {limitUsd: "3"}, key: {type: Provided}}\n---\n` +
    `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}-key}\nstringData: {apiKey: sk-${name.padStart(40, '0')}}\n---\n`;
  const base =
    `${route('[]')}---\napiVersion: modelgateway.dev/v1alpha1\nkind: Group\nmetadata: {name: main}\n` +
    'spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}\n---\n';
  const CREDIT = 'False AccountLimitReached: The credit of the Account "a" is spent.';
  const LIMIT = 'False AccountLimitReached: A limit of the Account "a" is reached; see its condition LimitExhausted.';

  function scene(objects = account('a') + account('b') + key('of-a', 'a') + key('of-b', 'b')) {
    const changed: string[] = [];
    const tracker = createStatusTracker((id) => changed.push(id));
    const idOf = (kind: string, name: string): string => `${kind} ${GATEWAY_NAMESPACE}/${name}`;
    type Before = Parameters<typeof tracker.observe>[2];
    const observe = (text: string, before?: Before): void => {
      const { statuses } = translate(resourcesOf(base + text), { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
      tracker.observe(statuses, NOW_MS, before);
      tracker.reprogram(
        statuses.map(({ kind, name }) => idOf(kind, name)),
        () => ({ status: 'True', reason: 'Programmed', message: 'x' }),
        NOW_MS,
      );
    };
    observe(objects);
    return {
      tracker,
      changed,
      observe,
      /** Records what an account has spent of its credit, and of its limit of 5 USD. */
      spend: (name: string, usd: bigint, creditUsd = 10n, limited = false): void => {
        const spending = { spentNanoUsd: usd * USD, heldNanoUsd: 0n };
        const [object] = allOf(resourcesOf(account(name)).accounts);
        assert.ok(object);
        const limits = limited ? limitsStatus(object, spending) : undefined;
        tracker.spent(idOf('Account', name), accountSpendingStatus(creditUsd * USD, spending, limits), NOW_MS);
      },
      ready: (name: string): string => {
        const found = tracker.get(idOf('ApiKey', name))?.status.conditions.find(({ type }) => type === 'Ready');
        return `${found?.status} ${found?.reason}: ${found?.message}`;
      },
    };
  }

  it('says so, and the keys of other Accounts do not', () => {
    const { spend, ready, changed } = scene();
    assert.match(ready('of-a'), /^True Ready/);
    changed.length = 0;
    spend('a', 10n);
    assert.equal(ready('of-a'), CREDIT);
    assert.match(ready('of-b'), /^True Ready/);
    assert.deepEqual(changed, [`Account ${GATEWAY_NAMESPACE}/a`, `ApiKey ${GATEWAY_NAMESPACE}/of-a`]);
    spend('a', 10n, 20n);
    assert.match(ready('of-a'), /^True Ready/, 'credit was added');
    spend('a', 5n, 20n, true);
    assert.equal(ready('of-a'), LIMIT);
  });

  it('is written once, however much more the Account spends', () => {
    const { spend, changed } = scene();
    spend('a', 10n);
    changed.length = 0;
    spend('a', 11n);
    assert.deepEqual(changed, [`Account ${GATEWAY_NAMESPACE}/a`]);
  });

  it('says first that its own quota is reached', () => {
    const { tracker, spend, ready } = scene();
    spend('a', 10n);
    const spending = {
      periodStartMs: null,
      resetsMs: null,
      spentNanoUsd: 3n * USD,
      heldNanoUsd: 0n,
      totalSpentNanoUsd: 3n * USD,
      lastUsedMs: null,
    };
    const [object] = allOf(resourcesOf(key('of-a', 'a')).apiKeys);
    assert.ok(object);
    tracker.spent(`ApiKey ${GATEWAY_NAMESPACE}/of-a`, keySpendingStatus(object, spending), NOW_MS);
    assert.match(ready('of-a'), /^False LimitReached/);
  });

  it('says so of the Account that it names now, also if it is new or was removed meanwhile', () => {
    const { observe, spend, ready } = scene();
    spend('a', 10n);
    const accounts = account('a') + account('b');
    observe(accounts + key('of-a', 'b') + key('of-b', 'b') + key('new', 'a'));
    assert.match(ready('of-a'), /^True Ready/);
    assert.equal(ready('new'), CREDIT);
    observe(accounts + key('of-b', 'b'));
    spend('a', 10n, 20n);
    observe(accounts + key('of-a', 'a'));
    assert.match(ready('of-a'), /^True Ready/);
  });

  it('says so also after a restart, before the ledger has been read', () => {
    const { tracker: former, spend } = scene();
    spend('a', 10n);
    const next = scene('');
    next.observe(account('a') + account('b') + key('of-a', 'a'), (id) => former.get(id)?.status);
    assert.equal(next.ready('of-a'), CREDIT);
  });
});
