/** Ten thousand keys of a hundred teams, created and changed through the API server. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterRelease } from '../e2e/node/cluster-release.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { KubeAnswer } from '../support/kube/client.ts';

const TEAMS = 100;
const PARALLEL = 24;
const API = 'modelgateway.dev/v1alpha1';
const GROUP = `/apis/${API}`;
const MERGE = 'application/merge-patch+json';
const READY_WITHIN_MS = 900_000;
const POLL_MS = 250;
/** Keys of a namespace that lives for one round. */
const GUESTS = 20;

export interface Tenants {
  readonly keys: number;
  /** The text of the n-th key, as it is now. */
  secretOf(n: number): Promise<string>;
  patch(n: number, spec: object): Promise<KubeAnswer>;
  get(n: number): Promise<KubeAnswer['body']>;
  /** Creates a namespace with an account and keys; resolves with its name once all keys are ready. */
  welcome(round: number): Promise<string>;
  /** Deletes such a namespace, without waiting for its end. */
  dismiss(namespace: string): Promise<void>;
}

/** Creates the keys, and resolves once all of them are ready. */
export async function openTenants(release: ClusterRelease, keys: number): Promise<Tenants> {
  const { client } = release.node;
  const create = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await client.call('POST', path, body);
    if (status >= 300) throw new Error(`${path}: ${answer.message}`);
  };
  const addTeam = async (namespace: string): Promise<void> => {
    await create('/api/v1/namespaces', { metadata: { name: namespace } });
    await create(`${GROUP}/namespaces/${namespace}/accounts`, {
      apiVersion: API,
      kind: 'Account',
      metadata: { name: 'team' },
      spec: { grants: [{ name: 'all', usd: '1000' }] },
    });
  };
  const addKey = (namespace: string, name: string): Promise<void> =>
    create(`${GROUP}/namespaces/${namespace}/apikeys`, {
      apiVersion: API,
      kind: 'ApiKey',
      metadata: { name },
      spec: { groupRef: { name: 'standard' }, accountRef: { name: 'team' }, quota: { limitUsd: '25' } },
    });
  const pathOf = (n: number): string => `${GROUP}/namespaces/${teamOf(n)}/apikeys/key-${n}`;
  await inParallel(Math.min(TEAMS, keys), PARALLEL, (n) => addTeam(teamOf(n)));
  await inParallel(keys, PARALLEL, (n) => addKey(teamOf(n), `key-${n}`));
  for (let team = 0; team < Math.min(TEAMS, keys); team++) await allReady(release, teamOf(team));
  return {
    keys,
    secretOf: (n) => release.key(`key-${n}`, teamOf(n)),
    patch: (n, spec) => client.call('PATCH', pathOf(n), { spec }, MERGE),
    get: (n) => release.get(pathOf(n)),
    async welcome(round) {
      const namespace = `guest-${round}`;
      await addTeam(namespace);
      for (let n = 0; n < GUESTS; n++) await addKey(namespace, `key-${n}`); // one after the other, as kubectl does
      await allReady(release, namespace);
      return namespace;
    },
    async dismiss(namespace) {
      const { status } = await client.call('DELETE', `/api/v1/namespaces/${namespace}`);
      if (status >= 300) throw new Error(`namespace ${namespace} cannot be deleted: ${status}`);
    },
  };
}

function teamOf(n: number): string {
  return `team-${n % TEAMS}`;
}

async function allReady(release: ClusterRelease, namespace: string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    const { items } = await release.get(`${GROUP}/namespaces/${namespace}/apikeys`);
    if (items.every(isReady)) return;
    await delay(POLL_MS);
  }
  throw new Error(`the keys of ${namespace} are not ready`);
}

function isReady({ status }: KubeAnswer['body']): boolean {
  return status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')?.status === 'True';
}
