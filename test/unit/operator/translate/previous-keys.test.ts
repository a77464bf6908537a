/** An annotation with another key's hash takes nothing over: a tenant can write annotations of its Secrets. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'vitest';
import { previousKeysOf } from '#objects/key-secret.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const VICTIM = `sk-${'v'.repeat(48)}`;
const ATTACKER = `sk-${'a'.repeat(48)}`;

function apiKey(
  namespace: string,
  {
    created,
    key,
    previous = '',
  }: Readonly<Record<'created' | 'key', string>> & {
    readonly previous?: string;
  },
): string {
  const entry = JSON.stringify([{ sha256: previous, notAfter: new Date(NOW_MS + 3_600_000).toISOString() }]);
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: ${namespace}, creationTimestamp: "${created}"}
spec: {groupRef: {name: main}, accountRef: {name: main}}
---
apiVersion: v1
kind: Secret
metadata:
  name: ci-key
  namespace: ${namespace}
  labels: {modelgateway.dev/api-key: ci}
  annotations:
    ${previous === '' ? 'note: none' : `modelgateway.dev/previous-keys: '${entry}'`}
stringData: {apiKey: ${key}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: main, namespace: ${namespace}}
spec: {}
---`;
}

describe("a previous hash that is another tenant's current key", () => {
  for (const [age, created] of [
    ['older', '2020-01-01T00:00:00Z'],
    ['younger', '2030-01-01T00:00:00Z'],
  ] as const) {
    it(`does not take the key over if the claiming ApiKey is ${age}`, () => {
      const resources = resourcesOf(`${apiKey('victim', { created: '2025-01-01T00:00:00Z', key: VICTIM })}
${apiKey('attacker', { created, key: ATTACKER, previous: hash('sha256', VICTIM, 'hex') })}
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main, namespace: ${GATEWAY_NAMESPACE}}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}`);
      const { snapshot } = translate(resources, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
      const owner = snapshot.keys.filter(({ hashes }) =>
        hashes.some(({ sha256 }) => sha256 === hash('sha256', VICTIM, 'hex')),
      );
      assert.deepEqual(
        owner.map(({ namespace, refusal }) => ({ namespace, refusal })),
        [{ namespace: 'victim', refusal: '' }],
      );
    });
  }
});

describe('a key that was replaced twice', () => {
  it('is listed once, until the later end', () => {
    const times = [2, 3, 1].map((hours) => NOW_MS + hours * 3_600_000);
    const list = times.map((ms, index) => ({
      sha256: (index < 2 ? 'a' : 'b').repeat(64),
      notAfter: new Date(ms).toISOString(),
    }));
    const secret = {
      namespace: 'n',
      name: 's',
      labels: {},
      data: new Map(),
      annotations: {
        'modelgateway.dev/previous-keys': JSON.stringify(list),
      },
    };
    assert.deepEqual(previousKeysOf(secret, NOW_MS), [
      { sha256: 'a'.repeat(64), notAfterMs: times[1] },
      { sha256: 'b'.repeat(64), notAfterMs: times[2] },
    ]);
  });
});

describe('a key that another tenant registers too', () => {
  const rotatedTo = `sk-${'n'.repeat(48)}`;
  const group = `apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: main, namespace: ${GATEWAY_NAMESPACE}}
spec: {allowedNamespaces: {from: All}, routes: [{routeSelector: {}}]}`;

  /** Secrets as a cluster has them: a list of replaced keys without the operator's MAC was dropped before. */
  function ownerOfVictim(victimCreated: string, attackerCreated: string): string[] {
    const resources =
      resourcesOf(`${apiKey('victim', { created: victimCreated, key: rotatedTo, previous: hash('sha256', VICTIM, 'hex') })}
${apiKey('attacker', { created: attackerCreated, key: VICTIM })}
${group}`);
    const secrets = new Map(
      [...resources.secrets].map(([namespace, byName]) => [
        namespace,
        new Map([...byName].map(([name, secret]) => [name, { ...secret, live: { uid: name, resourceVersion: '1' } }])),
      ]),
    );
    const { snapshot } = translate({ ...resources, secrets }, { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS });
    return snapshot.keys
      .filter(({ hashes }) => hashes.some(({ sha256 }) => sha256 === hash('sha256', VICTIM, 'hex')))
      .map(({ namespace }) => namespace);
  }

  it("stays its first owner's over a rotation, as long as the old key works", () => {
    assert.deepEqual(ownerOfVictim('2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'), ['victim']);
  });

  it('belongs to the older ApiKey before and after a rotation', () => {
    assert.deepEqual(ownerOfVictim('2025-01-01T00:00:00Z', '2024-01-01T00:00:00Z'), ['attacker']);
  });
});
