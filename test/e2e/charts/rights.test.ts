/**
 * The operator's rights equal those of docs/examples/kubernetes, with which test/e2e/cluster runs it and shows that it
 * needs no others; the roles for people let tenants manage keys and nothing of the platform's.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { needHelm, renderedObjects } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { ROOT, readSituations, renderAll } from './situations.ts';

const helm = await needHelm();

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The rights of the operator's ServiceAccount, by namespace. */
function grantsOf(objects: readonly Rendered[], account: string): Record<string, string[]> {
  const grants: Record<string, string[]> = {};
  for (const binding of objects) {
    if (
      !String(binding.kind).endsWith('RoleBinding') ||
      !binding.subjects.some(({ name }: { name: string }) => name === account)
    )
      continue;
    const where = binding.metadata.namespace ?? 'everywhere';
    const role = objects.find(
      ({ kind, metadata }) =>
        kind === binding.roleRef.kind &&
        metadata.name === binding.roleRef.name &&
        (metadata.namespace ?? 'everywhere') === where,
    );
    assert.ok(role, `${binding.roleRef.name} is bound and not there`);
    grants[where] = [...(grants[where] ?? []), ...(role.rules as Rule[]).flatMap(single)].toSorted();
  }
  return grants;
}

/** One line for each verb on each resource. */
function single({ apiGroups, resources, verbs, resourceNames }: Rule): string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.map((verb) => `${verb} ${resource}.${group} ${resourceNames?.join() ?? '*'}`),
    ),
  );
}

async function example(file: string): Promise<Record<string, string[]>> {
  return grantsOf(
    renderedObjects(await readFile(join(ROOT, 'docs/examples/kubernetes', file), 'utf8')),
    'model-gateway-operator',
  );
}

describe.skipIf(helm.skip)('rights', () => {
  const rendered: Record<string, Rendered[]> = {};
  beforeAll(async () => {
    for (const situation of await readSituations()) rendered[situation.name] = await renderAll(helm, situation);
  });
  const of = (name: string): Rendered[] => rendered[name] ?? [];

  it('are those of an operator for all namespaces', async () => {
    assert.deepEqual(grantsOf(of('defaults'), 'model-gateway-operator'), await example('rbac.yaml'));
  });

  it('are those of an operator for some namespaces', async () => {
    const expected = await example('rbac-namespaced.yaml');
    assert.deepEqual(grantsOf(of('namespaced'), 'model-gateway-operator'), {
      ...expected,
      'team-b': expected['team-a'],
    });
  });

  it('are no others of an operator that configures Envoys', async () => {
    assert.deepEqual(grantsOf(of('edge'), 'model-gateway-operator'), await example('rbac.yaml'));
  });

  it("are none if the cluster's owner grants them", () => {
    assert.deepEqual(
      of('no-rbac').filter(({ apiVersion }) => apiVersion.startsWith('rbac.')),
      [],
    );
  });

  it('let the Job after an uninstall list objects and change their statuses, and nothing else', () => {
    const kinds = ['accounts', 'apikeys', 'groups', 'modelroutes', 'pricecatalogs'];
    const rights = [
      ...kinds.map((kind) => `list ${kind}.modelgateway.dev *`),
      ...kinds.map((kind) => `patch ${kind}/status.modelgateway.dev *`),
    ].toSorted();
    assert.deepEqual(grantsOf(of('defaults'), 'model-gateway-uninstall'), { everywhere: rights });
    assert.deepEqual(grantsOf(of('namespaced'), 'model-gateway-uninstall'), {
      'model-gateway': rights,
      'team-a': rights,
      'team-b': rights,
    });
  });

  it('give only these two a token for the API server, and no other account a binding', () => {
    for (const [name, objects] of Object.entries(rendered))
      for (const object of objects) {
        const pod = object.spec?.template?.spec;
        if (pod?.containers)
          assert.equal(
            pod.automountServiceAccountToken,
            /^(?:operator|uninstall)$/.test(pod.containers[0].name),
            `${name} ${object.metadata.name}`,
          );
        for (const subject of object.subjects ?? []) assert.match(subject.name, /(?:operator|uninstall)$/);
      }
  });

  it('let tenants edit ApiKeys and read the other kinds', () => {
    const roles = of('defaults').filter(({ metadata }) =>
      Object.keys(metadata.labels).some((label) => label.startsWith('rbac.authorization.k8s.io/aggregate-to-')),
    );
    const written = roles
      .flatMap(({ rules }) => (rules as Rule[]).flatMap(single))
      .filter((grant) => !/^(?:get|list|watch) /.test(grant));
    assert.deepEqual([...new Set(written.map((grant) => grant.split(' ')[1]))], ['apikeys.modelgateway.dev']);
    const edit = roles.find(({ metadata }) => metadata.name.includes('-edit'));
    assert.equal(edit?.metadata.labels['rbac.authorization.k8s.io/aggregate-to-view'], undefined);
  });
});
