/**
 * The charts' objects on a real API server: every object is accepted strictly (server-side dry run, unknown fields
 * refused), and every pod is admitted to a namespace that enforces the restricted Pod Security Standard.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parse } from 'yaml';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { hasGo, moduleFolder } from '../../support/kube/go-build.ts';
import { kubeClient } from '../../support/kube/client.ts';
import type { KubeClient } from '../../support/kube/client.ts';
import { installCrds } from '../../support/kube/install-crds.ts';
import { kubeApiserverMissing, startKubeApiserver } from '../../support/kube-apiserver.ts';
import type { KubeApiserver } from '../../support/kube-apiserver.ts';
import { CRDS_CHART, NAMESPACE, podTemplates, readSituations, renderAll } from './situations.ts';

/** Definitions of other projects whose objects the chart renders, from their Go modules. */
const FOREIGN = [
  {
    module: 'github.com/cert-manager/cert-manager@v1.19.1',
    files: ['deploy/crds/cert-manager.io_certificates.yaml'],
  },
  {
    module: 'sigs.k8s.io/gateway-api@v1.4.0',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: ['prometheusrules', 'servicemonitors'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  },
] as const;
const RESTRICTED = Object.fromEntries(
  ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
);
/** Plurals that are not the kind in lower case followed by s. */
const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  Ingress: 'ingresses',
};

const helm = await needHelm();
const missing =
  (await kubeApiserverMissing()) ??
  (helm.skip || undefined) ??
  ((await hasGo()) ? undefined : "no Go, with which others' definitions are fetched");
const situations = await readSituations();

function pathOf({ apiVersion, kind, metadata }: Rendered): string {
  const plural = PLURALS[kind] ?? `${String(kind).toLowerCase()}s`;
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const where = /^Cluster|^Namespace$|^(?:Valid|Mut)ating/.test(kind)
    ? ''
    : `/namespaces/${metadata.namespace ?? NAMESPACE}`;
  return `${base}${where}/${plural}`;
}

describe.skipIf(missing)('on a real API server', () => {
  let server: KubeApiserver;
  let client: KubeClient;
  beforeAll(async () => {
    server = await startKubeApiserver();
    client = kubeClient(server);
    for (const name of [NAMESPACE, 'team-a', 'team-b'])
      await client.call('POST', '/api/v1/namespaces', { metadata: { name, labels: RESTRICTED } });
    for (const name of ['high', 'system'])
      await client.call('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 1 });
    await client.call('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'gvisor' },
      handler: 'runsc',
    });
    const definitions = renderedObjects(await runHelm(helm, 'template', 'crds', CRDS_CHART));
    for (const { module, files } of FOREIGN) {
      const folder = await moduleFolder(module);
      for (const file of files) definitions.push(parse(await readFile(join(folder, file), 'utf8')));
    }
    await installCrds(client, definitions);
  });
  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  for (const situation of situations)
    it(`${situation.name}: every object is accepted`, async () => {
      const objects = await renderAll(helm, situation);
      await Promise.all(
        objects.map(async (object) => {
          const { status, body } = await client.call(
            'POST',
            `${pathOf(object)}?dryRun=All&fieldValidation=Strict`,
            object,
          );
          assert.equal(status, 201, `${object.kind} ${object.metadata.name}: ${body.message ?? body}`);
        }),
      );
    });

  for (const situation of situations)
    it(`${situation.name}: every pod satisfies the restricted standard`, async () => {
      const pods = podTemplates(await renderAll(helm, situation));
      assert.ok(pods.length >= 2);
      await Promise.all(
        pods.map(async ({ owner, template: { metadata, spec } }) => {
          const pod = {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: {
              ...metadata,
              generateName: 'pod-',
            },
            spec: { ...spec, volumes: [...(spec.volumes ?? []), ...missingVolumes(spec)] },
          };
          const { status, body } = await client.call(
            'POST',
            `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All&fieldValidation=Strict`,
            pod,
          );
          assert.equal(status, 201, `${owner}: ${body.message ?? body}`);
        }),
      );
    });

  it('a pod that violates the standard is refused', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'loose' },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    };
    const { status, body } = await client.call('POST', `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, pod);
    assert.equal(status, 403);
    assert.match(body.message, /violates PodSecurity "restricted/);
  });
});

/** A StatefulSet's claims become volumes of its pods. */
function missingVolumes({ containers, volumes = [] }: Rendered): Rendered[] {
  const there = new Set(volumes.map(({ name }: { name: string }) => name));
  const mounted = new Set<string>(
    containers.flatMap(({ volumeMounts = [] }: Rendered) => volumeMounts.map(({ name }: { name: string }) => name)),
  );
  return [...mounted].filter((name) => !there.has(name)).map((name) => ({ name, emptyDir: {} }));
}
