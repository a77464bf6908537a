/**
 * A GitOps repository on a real API server: applied objects stay unchanged under traffic, so that a diff is empty; and
 * definitions of an older release are upgraded while their objects exist.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { LedgerReader } from '#ledger/spending.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import { needKubectl } from '../../support/kube/kubectl.ts';
import { SCENE, isReady, runOperator, startCluster, until } from '../cluster/support.ts';
import type { Cluster, Live, Running } from '../cluster/support.ts';

const helm = await needHelm();
const kubectl = await needKubectl(process.env);
const skip = (await kubeApiserverMissing()) ?? (kubectl.skip || helm.skip);
const ROOT = join(import.meta.dirname, '../../..');
const OLDER = join(import.meta.dirname, 'testdata/older-crds');

const NANO_USD = 1_000_000_000n;

/** A ledger where every key has spent two dollars. */
const SPENT: LedgerReader = {
  readKey: async () => ({
    spentNanoUsd: 2n * NANO_USD,
    heldNanoUsd: 0n,
    totalSpentNanoUsd: 2n * NANO_USD,
    periodStartMs: null,
    resetsMs: null,
    lastUsedMs: Date.UTC(2026, 10, 21),
  }),
  readAccount: async () => ({ spentNanoUsd: 2n * NANO_USD, heldNanoUsd: 0n }),
};

describe.skipIf(skip)('GitOps', { timeout: 180_000 }, () => {
  let cluster: Cluster;
  let run: Running | undefined;
  let folder: string;
  beforeAll(async () => {
    cluster = await startCluster();
    folder = await mkdtemp(join(tmpdir(), 'mgw-gitops-'));
    await writeFile(join(folder, 'models.yaml'), manifests(SCENE));
  });
  afterAll(async () => {
    await run?.stop();
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** The output of kubectl, with its exit code. */
  function kubectlDoes(...args: string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
    const options = { env: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: folder } };
    return new Promise((resolve) => {
      execFile(kubectl.path, args, options, (error, stdout, stderr) =>
        resolve({ exitCode: typeof error?.code === 'number' ? error.code : error ? 1 : 0, output: stdout + stderr }),
      );
    });
  }
  const apply = async (...args: string[]): Promise<void> => {
    const { exitCode, output } = await kubectlDoes('apply', '--server-side', '--field-manager', 'gitops', ...args);
    assert.equal(exitCode, 0, output);
  };

  it('sees no drift after keys are created, statuses written and money spent', async () => {
    await apply('--filename', folder);
    run = runOperator(cluster, { ledger: SPENT, waits: { settleMs: 200, spendingEveryMs: 500 } });
    const spent = await until(
      'spending in the status',
      () => cluster.get('ApiKey', 'team-a', 'ci'),
      (object) => isReady(object) && Number(object.status.spentUsd) === 2,
    );
    const managers = new Set<string>(spent.metadata.managedFields.map(({ manager }: { manager: string }) => manager));
    assert.deepEqual([...managers].toSorted(), [
      'gitops',
      'modelgateway-operator.model-gateway',
      'modelgateway-spending.model-gateway',
    ]);
    assert.ok(await cluster.get('Secret', 'team-a', 'ci-key'));
    assert.deepEqual(await kubectlDoes('diff', '--server-side', '--field-manager', 'gitops', '--filename', folder), {
      exitCode: 0,
      output: '',
    });
  });

  it('sees manual changes', async () => {
    await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/team-a/apikeys/ci',
      { spec: { groupRef: { name: 'other' } } },
      'application/merge-patch+json',
    );
    const { exitCode, output } = await kubectlDoes(
      'diff',
      '--server-side',
      '--field-manager',
      'gitops',
      '--force-conflicts',
      '--filename',
      folder,
    );
    assert.equal(exitCode, 1);
    assert.match(output, /-\s+name: other\n\+\s+name: main/);
    await apply('--force-conflicts', '--filename', folder);
  });

  it('changes nothing by a second apply', async () => {
    await until(
      'it is ready again',
      () => cluster.get('ApiKey', 'team-a', 'ci'),
      (object) => isReady(object) && object.status.observedGeneration === object.metadata.generation,
    );
    const generation = async (): Promise<number> => (await cluster.get('ApiKey', 'team-a', 'ci')).metadata.generation;
    const before = await generation();
    await apply('--filename', folder);
    assert.equal(await generation(), before);
  });
});

describe.skipIf(skip)('definitions of an older release', { timeout: 180_000 }, () => {
  let cluster: Cluster;
  let folder: string;
  beforeAll(async () => {
    cluster = await startCluster(['team-a', 'team-b'], await olderDefinitions());
    folder = await mkdtemp(join(tmpdir(), 'mgw-crds-'));
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const kubectlDoes = (...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      execFile(
        kubectl.path,
        args,
        {
          env: {
            ...process.env,
            KUBECONFIG: cluster.kubeconfig,
            HOME: folder,
          },
        },
        (error, stdout, stderr) => (error ? reject(new Error(stderr)) : resolve(stdout)),
      );
    });

  for (const [how, definitions] of [
    ['kubectl apply --server-side', () => join(ROOT, 'crds')],
    [
      'the chart',
      async () => {
        const path = join(folder, 'rendered.yaml');
        await writeFile(path, await runHelm(helm, 'template', 'crds', join(ROOT, 'charts/model-gateway-crds')));
        return path;
      },
    ],
  ] as const)
    it(`are upgraded by ${how} while their objects exist`, async () => {
      await apply(OLDER);
      await until(
        'the scene is there',
        () =>
          cluster.apply(SCENE).then(
            () => true,
            () => false,
          ),
        Boolean,
      );
      const before = await until(
        'the older definition',
        objects,
        (all) => all.length === 5 && !JSON.stringify(all).includes('clientDisconnect'),
      );
      const rendered = renderedObjects(
        await runHelm(helm, 'template', 'crds', join(ROOT, 'charts/model-gateway-crds')),
      );
      const {
        spec: {
          versions: [wanted],
        },
      } = rendered.find(({ metadata }) => metadata.name === 'apikeys.modelgateway.dev');
      assert.notDeepEqual(await schema(), wanted.schema);
      await apply(await definitions());
      for (const { metadata, status, spec } of (
        await cluster.admin.call('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions')
      ).body.items) {
        assert.deepEqual(status.storedVersions, ['v1alpha1'], metadata.name);
        assert.deepEqual(
          spec.versions.map(({ name, storage }: { name: string; storage: boolean }) => [name, storage]),
          [['v1alpha1', true]],
        );
      }
      assert.deepEqual(await schema(), wanted.schema);
      // the server takes a moment to serve the new definition; only its defaults are new
      const after = await until('the new defaults', objects, (all) => JSON.stringify(all).includes('clientDisconnect'));
      assert.partialDeepStrictEqual(after, before);
      // and valid by the new definition: writing them unchanged is accepted
      for (const object of await live()) {
        const {
          status,
          body: { message },
        } = await cluster.admin.call(
          'PUT',
          `/apis/modelgateway.dev/v1alpha1/namespaces/${object.metadata.namespace}/${plural(object.kind)}/${object.metadata.name}?dryRun=All&fieldValidation=Strict`,
          object,
        );
        assert.equal(status, 200, message);
      }
    });

  async function apply(path: string): Promise<void> {
    await kubectlDoes('apply', '--server-side', '--force-conflicts', '--filename', path);
  }
  const schema = async (): Promise<unknown> =>
    (
      await cluster.admin.call(
        'GET',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/apikeys.modelgateway.dev',
      )
    ).body.spec.versions[0].schema;
  const KINDS = ['Account', 'ApiKey', 'Group', 'ModelRoute', 'PriceCatalog'] as const;
  const plural = (kind: string): string => `${kind.toLowerCase()}s`;
  const live = async (): Promise<Live[]> =>
    (
      await Promise.all(
        KINDS.map(async (kind) =>
          (
            await until(
              `${kind}s are served`,
              () => cluster.list(kind),
              (list) => list !== undefined,
            )
          ).map((object) => ({ apiVersion: 'modelgateway.dev/v1alpha1', kind, ...object })),
        ),
      )
    ).flat();
  const objects = async (): Promise<unknown[]> =>
    (await live()).map(({ kind, metadata, spec }) => ({
      kind,
      name: metadata.name,
      uid: metadata.uid,
      generation: metadata.generation,
      spec,
    }));
});

/** With a version and a namespace each, as in a repository. */
function manifests(scene: string): string {
  return scene
    .replaceAll(/^kind: /gm, 'apiVersion: modelgateway.dev/v1alpha1\nkind: ')
    .replaceAll(/^apiVersion: v1\napiVersion: \S+\n/gm, 'apiVersion: v1\n')
    .replaceAll(/^metadata: \{(?!.*namespace)/gm, 'metadata: {namespace: model-gateway, ');
}

/** Today's definitions, except those that are kept from an older release. */
async function olderDefinitions(): Promise<string[]> {
  const names = (await readdir(join(ROOT, 'crds'))).filter((name) => name.endsWith('.yaml')).toSorted();
  const kept = await readdir(OLDER);
  return Promise.all(
    names.map((name) => readFile(join(kept.includes(name) ? OLDER : join(ROOT, 'crds'), name), 'utf8')),
  );
}
