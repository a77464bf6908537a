/** Of an object only what the gateway reads is kept, so that nobody decides about the operator's memory. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { parseKeySecret, parseResource } from '#kube/parse-object.ts';

const LONG = 'x'.repeat(150 * 1024);
const identity = { name: 'ci', namespace: 'team-a', uid: 'u', resourceVersion: '7' };

it('keeps of a Secret the key, its own label and its own annotations', () => {
  const secret = parseKeySecret({
    metadata: {
      ...identity,
      labels: { 'modelgateway.dev/api-key': 'ci', other: 'label' },
      annotations: { 'modelgateway.dev/rotation': '2', 'modelgateway.dev/previous-keys': LONG, note: LONG },
      managedFields: [{ manager: LONG }],
      ownerReferences: [{ apiVersion: 'modelgateway.dev/v1alpha1', kind: 'ApiKey', name: 'ci', uid: 'owner' }],
    },
    data: { apiKey: Buffer.from('sk-key').toString('base64'), junk: Buffer.from(LONG).toString('base64') },
  });
  assert.deepEqual(secret, {
    namespace: 'team-a',
    name: 'ci',
    labels: { 'modelgateway.dev/api-key': 'ci' },
    annotations: { 'modelgateway.dev/rotation': '2' },
    data: new Map([['apiKey', 'sk-key']]),
    live: { uid: 'u', resourceVersion: '7', ownerUid: 'owner' },
  });
});

it('cuts a value that is no key, and finds it too long still', () => {
  const { data } = parseKeySecret({ metadata: identity, data: { apiKey: Buffer.from(LONG).toString('base64') } });
  const { length } = data.get('apiKey') ?? '';
  assert.ok(length > 512 && length < 520, String(length));
});

it('keeps of an object its identity, a number of labels and its own annotations', () => {
  const labels = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`label-${n}`, 'x']));
  const { metadata, ...rest } = parseResource('ApiKey', {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    more: LONG,
    metadata: {
      ...identity,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels,
      annotations: { note: LONG, 'modelgateway.dev/allow-deletion': 'true', 'modelgateway.dev/note': LONG },
      finalizers: [LONG],
      managedFields: [{ manager: LONG }],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: LONG, uid: 'p' }],
    },
    spec: {},
    status: {},
  } as Parameters<typeof parseResource>[1]);
  assert.deepEqual(Object.keys(rest), ['apiVersion', 'kind', 'spec', 'status']);
  assert.deepEqual(
    { ...metadata, labels: Object.keys(metadata.labels ?? {}).length },
    {
      ...identity,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: 64,
      annotations: { 'modelgateway.dev/allow-deletion': 'true' },
    },
  );
});
