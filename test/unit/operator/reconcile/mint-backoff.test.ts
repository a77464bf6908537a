/** Keys whose Secrets cannot be written: other keys do not wait for them, and requests back off. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { KubeError, explainKubeError } from '#kube/errors.ts';
import { createMintBackoff } from '../../../../operator/reconcile/mint-backoff.ts';
import { SecretWriteError, mintKeys } from '../../../../operator/reconcile/mint-keys.ts';
import type { KeySecrets, MintResult } from '../../../../operator/reconcile/mint-keys.ts';
import type { Resources } from '#objects/resources.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

function key(namespace: string, name: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: ${namespace}}
spec: {groupRef: {name: main}, accountRef: {name: main}}
---`;
}

function keys(namespace: string, count: number): string {
  return Array.from({ length: count }, (_, n) => key(namespace, `key-${n}`)).join('');
}

const TERMINATING = new KubeError('POST /secrets: 403 forbidden', {
  status: 403,
  reason: 'Forbidden',
  causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace', message: 'namespace is being terminated' }],
});

/** Namespaces in which every write fails; the others work. */
function setUp(failing: ReadonlySet<string>, namespaceWide = true) {
  const attempts: string[] = [];
  const made = new Set<string>();
  const minted: KeySecrets = {
    joined: (resources) => resources,
    find: () => undefined,
    obstacle: () => undefined,
    async write({ namespace, name }) {
      attempts.push(namespace);
      if (failing.has(namespace))
        throw new SecretWriteError(explainKubeError(TERMINATING), namespaceWide, { cause: TERMINATING });
      made.add(`${namespace}/${name}`);
      return true;
    },
  };
  const backoff = createMintBackoff();
  const mint = (resources: Resources, atMs: number): Promise<MintResult> => {
    attempts.length = 0;
    const options = { gatewayNamespace: GATEWAY_NAMESPACE, minted, backoff, onMinted: () => undefined };
    return mintKeys(resources, NOW_MS + atMs, options);
  };
  return { attempts, made, mint };
}

describe('keys of a namespace in which no Secret can be written', () => {
  it('cost a few attempts, then none until the backoff has passed, which doubles', async () => {
    const { attempts, mint } = setUp(new Set(['ending']));
    const resources = resourcesOf(keys('ending', 500));
    const first = await mint(resources, 0);
    assert.ok(attempts.length <= 16, `${attempts.length} attempts`);
    assert.equal(first.failures.size, 500);
    assert.equal(first.retryAtMs, NOW_MS + 1_000);
    assert.match([...first.failures.values()].join(), /being deleted.*NamespaceTerminating/);
    assert.equal((await mint(resources, 999)).failures.size, 500);
    assert.equal(attempts.length, 0);
    assert.equal((await mint(resources, 1_000)).retryAtMs, NOW_MS + 3_000);
    assert.ok(attempts.length > 0 && attempts.length <= 16, `${attempts.length} attempts`);
  });

  it('delay no key of another namespace, and new keys precede retries', async () => {
    const { attempts, made, mint } = setUp(new Set(['ending']));
    await mint(resourcesOf(keys('ending', 500)), 0);
    const { failures } = await mint(resourcesOf(keys('ending', 500) + key('fresh', 'ci')), 2_000);
    assert.equal(attempts[0], 'fresh');
    assert.ok(made.has('fresh/ci-key'));
    assert.equal(failures.has('fresh/ci'), false);
  });

  it('are created as soon as the namespace works again', async () => {
    const failing = new Set(['ending']);
    const { made, mint } = setUp(failing);
    await mint(resourcesOf(keys('ending', 40)), 0);
    failing.clear();
    const { failures, retryAtMs } = await mint(resourcesOf(keys('ending', 40)), 1_000);
    assert.equal(made.size, 40);
    assert.equal(failures.size, 0);
    assert.equal(retryAtMs, undefined);
  });
});

describe('a key whose own Secret cannot be written', () => {
  it('delays no other key of its namespace', async () => {
    const { attempts, mint } = setUp(new Set(['team-a']), false);
    await mint(resourcesOf(keys('team-a', 40)), 0);
    assert.equal(attempts.length, 40);
    await mint(resourcesOf(keys('team-a', 40) + key('team-a', 'new')), 500);
    assert.equal(attempts.length, 1);
  });
});

describe('a namespace that is being deleted', () => {
  it('gets no keys', async () => {
    const { attempts, mint } = setUp(new Set());
    const resources = { ...resourcesOf(keys('ending', 3)), terminatingNamespaces: new Set(['ending']) };
    const { failures } = await mint(resources, 0);
    assert.equal(attempts.length, 0);
    assert.equal(failures.size, 0);
  });
});
