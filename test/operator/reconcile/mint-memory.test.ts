/** Keys are made with a memory as they would be without one, after whatever edits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApiKey } from '#crds/types.gen.ts';
import { mintKeys } from '../../../operator/reconcile/mint-keys.ts';
import type { KeySecrets, MintMemory } from '../../../operator/reconcile/mint-keys.ts';
import { keepKeysBySecret } from '../../../operator/store/keys-by-secret.ts';
import { KEY_ENTRY, KEY_LABEL, ROTATION_ANNOTATION } from '../../../operator/store/key-secret.ts';
import type { Resources, SecretObject } from '../../../operator/store/resources.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);

interface World {
  apiKeys: readonly ApiKey[];
  secrets: ReadonlyMap<string, SecretObject>;
}

type Edit = (world: World) => void;

const applied = fc.tuple(name, fc.integer({ min: 1, max: 3 }), fc.option(name, { nil: undefined }), fc.constantFrom('Generated', 'Generated', 'Provided')).map(([named, rotation, other, type]): Edit => {
  const secretRef = other === undefined ? '' : `, secretRef: {name: ${other}-key}`;
  const spec = `{groupRef: {name: main}, accountRef: {name: team-a}, key: {type: ${type}${type === 'Provided' ? '' : `, rotation: ${rotation}`}${secretRef}}}`;
  const { apiKeys } = resourcesOf(`{apiVersion: modelgateway.dev/v1alpha1, kind: ApiKey, metadata: {name: ${named}, namespace: team-a}, spec: ${spec}}`);
  return (world) => { world.apiKeys = [...world.apiKeys.filter(({ metadata }) => metadata.name !== named), ...apiKeys]; };
});
const removed = name.map((named): Edit => (world) => { world.apiKeys = world.apiKeys.filter(({ metadata }) => metadata.name !== named); });
const secretOf = (named: string, owner: string, rotation: number): SecretObject =>
  ({ namespace: 'team-a', name: named, labels: { [KEY_LABEL]: owner }, annotations: { [ROTATION_ANNOTATION]: String(rotation) }, data: new Map([[KEY_ENTRY, `sk-${rotation}`]]) });
const secret = fc.tuple(name, name, fc.integer({ min: 1, max: 3 })).map(([named, owner, rotation]): Edit => (world) => {
  world.secrets = new Map([...world.secrets, [`team-a/${named}-key`, secretOf(`${named}-key`, owner, rotation)]]);
});
const lost = name.map((named): Edit => (world) => { world.secrets = new Map([...world.secrets].filter(([id]) => id !== `team-a/${named}-key`)); });

/** What would be written, and what went wrong; nothing is. */
async function planned(world: World, memory?: MintMemory): Promise<{ readonly writes: readonly SecretObject[]; readonly told: readonly unknown[] }> {
  const writes: SecretObject[] = [];
  const keys: KeySecrets = {
    joined: (resources) => resources, find: (id, { secrets }) => secrets.get(id), obstacle: () => undefined,
    write: async (written) => { writes.push(written); return true; },
  };
  const resources: Resources = { ...resourcesOf(''), ...world };
  const { failures, retry } = await mintKeys(resources, NOW_MS, { gatewayNamespace: GATEWAY_NAMESPACE, minted: keys, onMinted: () => undefined, ...memory && { memory } });
  writes.sort((one, other) => one.name < other.name ? -1 : 1);
  return { writes, told: [...writes.map(({ name: named, labels, annotations }) => ({ named, labels, annotations })), [...failures], retry] };
}

test('random edits, some of which are what was planned', async () => {
  let made = 0;
  const steps = fc.array(fc.tuple(fc.array(fc.oneof({ weight: 3, arbitrary: applied }, removed, { weight: 2, arbitrary: secret }, lost), { minLength: 1, maxLength: 3 }), fc.boolean()), { minLength: 2, maxLength: 20, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, async (edits) => {
    const memory: MintMemory = { keysConcerned: keepKeysBySecret() };
    const world: World = { apiKeys: [], secrets: new Map() };
    for (const [step, written] of edits) {
      for (const edit of step) edit(world);
      const { writes, told } = await planned(world, memory);
      assert.deepEqual(told, (await planned(world)).told);
      made += writes.length;
      if (written) world.secrets = new Map([...world.secrets, ...writes.map((one) => [`team-a/${one.name}`, one] as const)]);
    }
  }), { numRuns: 150 });
  assert.ok(made > 0);
});
