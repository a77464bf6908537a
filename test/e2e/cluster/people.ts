/** People of a cluster for tests: ServiceAccounts with tokens of their own, and the rights that roles give them. */
import assert from 'node:assert/strict';
import type { Cluster, Live } from './support.ts';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const PEOPLE = '/api/v1/namespaces/default/serviceaccounts';
const API = ['modelgateway.dev'];

/** The Role that docs/guides/console.md documents. */
export const EDITS_KEYS: readonly Rule[] = [
  { apiGroups: API, resources: ['apikeys'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
  { apiGroups: API, resources: ['accounts'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
];
export const SEES_KEYS: readonly Rule[] = [{ apiGroups: API, resources: ['apikeys'], verbs: ['get', 'list'] }];
export const DOES_ALL: readonly Rule[] = [
  { apiGroups: API, resources: ['*'], verbs: ['*'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
];

/** Creates a person with these rights by namespace ("" for all). Resolves with their token. */
export async function makePerson(
  { admin }: Cluster,
  name: string,
  roles: Readonly<Record<string, readonly Rule[]>>,
): Promise<string> {
  const post = async (path: string, body: object): Promise<Live> => {
    const answer = await admin.call('POST', path, body);
    assert.ok(answer.status < 300, answer.body.message);
    return answer.body;
  };
  await post(PEOPLE, { metadata: { name } });
  for (const [namespace, rules] of Object.entries(roles)) {
    const [kind, place] = namespace === '' ? ['ClusterRole', ''] : ['Role', `/namespaces/${namespace}`];
    await post(`${RBAC}${place}/${kind.toLowerCase()}s`, { metadata: { name }, rules });
    await post(`${RBAC}${place}/${kind.toLowerCase()}bindings`, {
      metadata: { name },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind,
        name,
      },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    });
  }
  return (await post(`${PEOPLE}/${name}/token`, { spec: {} })).status.token;
}

/** Deletes a person: their tokens become invalid. */
export async function removePerson({ admin }: Cluster, name: string): Promise<void> {
  const { status, body } = await admin.call('DELETE', `${PEOPLE}/${name}`);
  assert.ok(status < 300, body.message);
}
