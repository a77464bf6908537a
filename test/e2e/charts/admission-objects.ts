/** What the tests of the chart's admission policies render and write. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import type { KubeAnswer, KubeClient } from '../../support/kube/client.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { CHART, NAMESPACE } from './situations.ts';

const helm = await needHelm();
export const missing = (await kubeApiserverMissing()) ?? (helm.skip || undefined);
export const API = 'modelgateway.dev/v1alpha1';
export const MERGE = 'application/merge-patch+json';
export const KEY = `sk-${'a1B2'.repeat(12)}`;
export const FORBIDDEN = 403;
export const INVALID = 422;

export const TENANT = [{ apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['*'] }];

/** The chart's objects with the policy on the assignment of groups. `folder`: for its values. */
export async function renderPolicies(folder: string): Promise<ReturnType<typeof renderedObjects>> {
  const values = join(folder, 'values.yaml');
  await writeFile(values, 'admission: {groupAssignment: true}\n');
  const chart = ['template', 'gw', CHART, '--namespace', NAMESPACE];
  return renderedObjects(await runHelm(helm, ...chart, '--kube-version', '1.36.0', '--values', values));
}

export async function post(client: KubeClient, path: string, body: object): Promise<KubeAnswer['body']> {
  const answer = await client.call('POST', path, body);
  assert.equal(answer.status, 201, answer.body.message);
  return answer.body;
}
export const at = (namespace: string, plural: string, name = ''): string =>
  `/apis/${API}/namespaces/${namespace}/${plural}${name && `/${name}`}`;
export const account = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: API,
  kind: 'Account',
  metadata: { name, ...metadata },
  spec: { grants: [{ name: 'first', usd: '5' }], ...spec },
});
export const key = (name: string, group: string, metadata: object = {}, spec: object = {}): object => ({
  apiVersion: API,
  kind: 'ApiKey',
  metadata: { name, ...metadata },
  spec: { groupRef: { name: group }, accountRef: { name: 'team' }, ...spec },
});

/** Where a role is, and the ServiceAccount that it is bound to. */
export interface RoleSubject {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly namespace: string };
}

export async function bindRole(
  admin: KubeClient,
  name: string,
  rules: object[],
  { namespace, account }: RoleSubject,
): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await post(admin, `${rbac}/roles`, { metadata: { name }, rules });
  await post(admin, `${rbac}/rolebindings`, {
    metadata: { name },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name,
    },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  });
}
