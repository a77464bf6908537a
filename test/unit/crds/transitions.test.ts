/** Transition rules: forbidden changes. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { JsonObject } from '#crds/json.ts';
import { loadApiKindsSync } from '#crds/load.ts';
import { admit } from '#crds/schema.ts';

const schema = loadApiKindsSync().get('ApiKey');
assert.ok(schema);

const SPEC = { groupRef: { name: 'main' }, accountRef: { name: 'team' } };

function told(before: JsonObject, after: JsonObject): string[] {
  assert.ok(schema);
  const object = (spec: JsonObject): JsonObject => ({
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name: 'ci', namespace: 'team' },
    spec,
  });
  return admit(schema, object(after), object(before)).errors.map(({ path, message }) => `${path}: ${message}`);
}

describe('a change', () => {
  it('is accepted in mutable fields', () => {
    assert.deepEqual(told(SPEC, { ...SPEC, groupRef: { name: 'other' }, enabled: false, key: { rotation: 2 } }), []);
    assert.deepEqual(told({ ...SPEC, key: { rotation: 3 } }, { ...SPEC, key: { rotation: 3 } }), []);
  });

  it('is refused in immutable fields, defaults included', () => {
    assert.deepEqual(told(SPEC, { ...SPEC, accountRef: { name: 'other' } }), [
      'spec.accountRef.name: Forbidden: accountRef.name cannot be changed, because what was spent belongs to the ' +
        'account; create another ApiKey for the other account',
    ]);
    assert.deepEqual(
      told(SPEC, { ...SPEC, gatewayNamespace: 'other' }).map((each) => each.split(':', 1)[0]),
      ['spec.gatewayNamespace'],
    );
    assert.deepEqual(
      told(SPEC, { ...SPEC, key: { type: 'Provided' } }).map((each) => each.split(':', 1)[0]),
      ['spec.key.type'],
    );
    assert.deepEqual(told({ ...SPEC, key: { rotation: 3 } }, { ...SPEC, key: { rotation: 2 } }), [
      'spec.key.rotation: Invalid value: 2: rotation can only grow; a replaced key cannot be brought back',
    ]);
  });
});
