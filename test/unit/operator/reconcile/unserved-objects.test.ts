/** A gatewayNamespace without an operator is reported by every operator that sees the object. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { findUnserved } from '../../../../operator/reconcile/unserved-objects.ts';
import { GATEWAY_NAMESPACE, resourcesOf } from '../support.ts';

const CREATED = '2026-11-01T00:00:00Z';
const account = (name: string, gateway: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: ${name}, namespace: team-a, creationTimestamp: "${CREATED}"}
spec: {gatewayNamespace: ${gateway}}
---`;

function unserved(afterMs: number, observed: ReadonlyMap<string, number> = new Map()) {
  const resources = resourcesOf(account('ours', GATEWAY_NAMESPACE) + account('typo', 'model-gatway'));
  return findUnserved(resources, {
    gatewayNamespace: GATEWAY_NAMESPACE,
    nowMs: Date.parse(CREATED) + afterMs,
    observedGeneration: (id) => observed.get(id),
  });
}

describe('an object whose gateway has no operator', () => {
  it('is reported after a minute without a status, with the gateway that was probably meant', () => {
    const [found, ...others] = unserved(60_000);
    assert.equal(found?.id, 'Account team-a/typo');
    assert.match(found.message, /"model-gatway" of spec\.gatewayNamespace\. Did you mean "model-gateway"\?$/);
    assert.deepEqual(others, []);
  });
  it('is not reported while its operator may still respond, nor afterwards', () => {
    assert.deepEqual(unserved(59_000), []);
    assert.deepEqual(unserved(60_000, new Map([['Account team-a/typo', 1]])), []);
  });
});
