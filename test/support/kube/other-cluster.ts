/**
 * An existing cluster, used instead of a test API server: MGW_TEST_CLUSTER names a file with its address, written by
 * test/support/test-cluster.ts. Tests remove at their end what they create there.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeApiserver } from '../kube-apiserver.ts';
import { kubeClient } from './client.ts';
import type { KubeClient, KubeEndpoint } from './client.ts';

const GONE_WITHIN_MS = 120_000;
const POLL_MS = 500;
/** Cluster-wide objects that tests create, in the order of deletion. */
const KINDS = [
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/api/v1/namespaces',
] as const;

/** Its address, if tests are to run on it. */
export function otherCluster(env: NodeJS.ProcessEnv): KubeEndpoint | undefined {
  const file = env['MGW_TEST_CLUSTER'];
  return file ? (JSON.parse(readFileSync(file, 'utf8')) as KubeEndpoint) : undefined;
}

/** The cluster with the interface of a test's own, except that it is neither frozen nor restarted. */
export async function borrowCluster(endpoint: KubeEndpoint): Promise<KubeApiserver> {
  const client = kubeClient(endpoint);
  const before = new Map<string, ReadonlySet<string>>();
  for (const path of KINDS) before.set(path, new Set(await namesOf(client, path)));
  const notOurs = (): never => {
    throw new Error('a cluster that is there already is neither frozen nor restarted');
  };
  return {
    ...endpoint,
    freeze: notOurs,
    thaw: notOurs,
    restart: async () => notOurs(),
    async stop() {
      const added = async (path: string): Promise<string[]> =>
        (await namesOf(client, path)).filter((name) => !before.get(path)?.has(name));
      for (const path of KINDS) for (const name of await added(path)) await client.call('DELETE', `${path}/${name}`);
      const deadline = Date.now() + GONE_WITHIN_MS;
      let left: string[];
      while ((left = (await Promise.all(KINDS.map(added))).flat()).length > 0) {
        if (Date.now() > deadline) throw new Error(`not gone within ${GONE_WITHIN_MS / 1000} s: ${left.join(', ')}`);
        await delay(POLL_MS);
      }
      await client.close();
    },
  };
}

async function namesOf(client: KubeClient, path: string): Promise<string[]> {
  const { status, body } = await client.call('GET', path);
  if (status !== 200) throw new Error(`${path}: ${body.message ?? body}`);
  return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}
