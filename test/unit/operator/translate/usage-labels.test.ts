/** The labels that usage records carry: of the namespace, else of the ApiKey; a change of either is in force at once. */
import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { differsForTranslate } from '#objects/relevance.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { apiKeysOf, GATEWAY_NAMESPACE, NOW_MS, platformManifest, resourcesOf } from '../support.ts';

const SECRET = 'sk-00000000000000000000000000000001';

function keyManifest(labels: string): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team-a, labels: {${labels}}}
spec: {groupRef: {name: main}, accountRef: {name: main}, key: {type: Provided, secretRef: {name: ci}}}
`;
}

function manifest(namespaceLabels: string, keyLabels: string): string {
  return `${platformManifest()}---
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {${namespaceLabels}}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: main, namespace: team-a}
spec: {grants: [{name: first, usd: "1"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: ci, namespace: team-a}
stringData: {apiKey: ${SECRET}}
---
${keyManifest(keyLabels)}`;
}

function labelsOf(text: string, usageLabels?: readonly string[]): string | undefined {
  const { snapshot } = translate(resourcesOf(text), {
    gatewayNamespace: GATEWAY_NAMESPACE,
    nowMs: NOW_MS,
    ...(usageLabels && { usageLabels }),
  });
  const [key] = snapshot.keys;
  assert.ok(key);
  return key.usageLabels;
}

describe('usage labels', () => {
  const CHOSEN = ['cost-center', 'example.com/team'];

  test('are those that the platform chose, in its order', () => {
    const text = manifest('example.com/team: blue', 'cost-center: "4711", other: x');
    assert.equal(labelsOf(text, CHOSEN), 'cost-center=4711,example.com/team=blue');
    assert.equal(labelsOf(text), undefined);
    assert.equal(labelsOf(manifest('', ''), CHOSEN), undefined);
  });

  test("of the namespace come before the key's, which its tenants can change", () => {
    assert.equal(labelsOf(manifest('cost-center: "1"', 'cost-center: "2"'), CHOSEN), 'cost-center=1');
    assert.equal(labelsOf(manifest('cost-center: ""', 'example.com/team: red'), CHOSEN), 'example.com/team=red');
  });

  test('of an ApiKey that change alone are a change of the configuration', () => {
    const [before, after] = [apiKeysOf(keyManifest('cost-center: a')), apiKeysOf(keyManifest('cost-center: b'))];
    assert.ok(before[0] && after[0]);
    assert.equal(differsForTranslate(before[0], after[0]), true);
    assert.equal(differsForTranslate(before[0], before[0]), false);
  });
});
