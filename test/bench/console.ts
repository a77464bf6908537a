/**
 * How long the console's pages take among many keys and calls: a real API server that says who may do what, the
 * operator's watched copy with the keys, a ledger file with the calls, and people with different rights who open each
 * page over HTTP. The client is in this same process, so that its CPU time is an upper bound; on a machine that does
 * other things only CPU times tell anything.
 *   node test/bench/console.ts [--keys 10000] [--namespaces 200] [--records 100000] [--times 10]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadApiKindsSync } from '#crds/load.ts';
import { openClusterAccess } from '../../console/access/kubernetes.ts';
import { startConsole } from '../../console/server.ts';
import { openFileUsageStore } from '../../console/data/file-store.ts';
import { openUsageFile } from '../../dataplane/ledger/embedded/usage-file.ts';
import { openAccess } from '../../kube/access.ts';
import { admitObjects } from '../../operator/sources/cluster/admit-object.ts';
import { SYSTEM_CLOCK } from '../../runtime/clock.ts';
import type { KubeObject } from '../../kube/models.ts';
import { parseResource } from '../../kube/parse-object.ts';
import { openLiveObjects } from '../../operator/store/live-objects.ts';
import type { Resources } from '#objects/resources.ts';
import { createClusterCache } from '../../operator/store/cluster-cache.ts';
import { GATEWAY_NAMESPACE, SCENE, startCluster } from '../e2e/cluster/support.ts';
import { several, printTimings, timed, writeRecords } from './console-load.ts';
import { TRANSLATOR } from '../../operator/translate/translator.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '10000' },
    namespaces: {
      type: 'string',
      default: '200',
    },
    records: { type: 'string', default: '100000' },
    times: { type: 'string', default: '10' },
  },
});
const [keys, namespaces, records, times] = [values.keys, values.namespaces, values.records, values.times].map(
  Number,
) as [number, number, number, number];
const METER = { add: () => undefined, set: () => undefined, observe: () => undefined };
const LOG = { info: () => undefined, warn: console.error, error: console.error };
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Managed fields of three writers: kubectl, the operator, and its spending. */
const MANAGED = ['kubectl', 'model-gateway-operator', 'model-gateway-spending'].map((manager) => ({
  manager,
  operation: 'Apply',
  apiVersion: 'modelgateway.dev/v1alpha1',
  time: '2026-11-20T12:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:spec': {
      'f:enabled': {},
      'f:groupRef': { 'f:name': {} },
      'f:accountRef': { 'f:name': {} },
      'f:quota': { 'f:limitUsd': {}, 'f:period': {} },
    },
  },
}));
const namespaceOf = (n: number): string => `team-${n % namespaces}`;
const teams = Array.from({ length: namespaces }, (_, n) => namespaceOf(n));
await using ending = new AsyncDisposableStack();
const cluster = ending.adopt(await startCluster(teams), (each) => each.stop());
const create = (path: string, body: object): Promise<void> =>
  cluster.admin.call('POST', path, body).then(({ status, body: { message } }) => {
    if (status >= 300) throw new Error(message);
  });

/** Creates the objects that single pages read; all others are put into the cache, as a watch would do. */
async function fill(): Promise<void> {
  await cluster.apply(SCENE.replaceAll('namespace: team-a', 'namespace: team-0'));
  await cluster.apply(
    `kind: Account\nmetadata: {name: main, namespace: team-0}\nspec: {grants: [{name: first, usd: ` +
      `"1000"}]}\n---\nkind: ApiKey\nmetadata: {name: key-0, namespace: team-0}\nspec: {groupRef: {name: main}, ` +
      `accountRef: {name: main}}`,
  );
}

const LIVED = {
  observedGeneration: 1,
  conditions: ['Accepted', 'Programmed', 'Ready'].map((type) => ({
    type,
    status: 'True',
    reason: type,
    message: 'Acknowledged by 3 of 3 proxies.',
    lastTransitionTime: '2026-11-01T00:00:00Z',
    observedGeneration: 1,
  })),
};

function metaOf(name: string, namespace: string, n: number): KubeObject['metadata'] {
  return {
    name,
    namespace,
    uid: `uid-${namespace}-${name}`,
    resourceVersion: String(n + 1),
    generation: 1,
    creationTimestamp: '2026-11-01T00:00:00Z',
  };
}

function keyObject(n: number): KubeObject {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: metaOf(`key-${n}`, namespaceOf(n), n),
    spec: {
      gatewayNamespace: GATEWAY_NAMESPACE,
      enabled: n % 10 > 0,
      groupRef: { name: 'main' },
      accountRef: { name: 'main' },
      quota: { limitUsd: '25', period: 'Monthly', whenShort: 'Lower' },
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    },
    status: {
      ...LIVED,
      keyPrefix: 'sk-abcdefg',
      keyHash: 'a'.repeat(64),
      spentUsd: String(n % 25),
      totalSpentUsd: '12.5',
      remainingUsd: String(25 - (n % 25)),
      lastUsedTime: '2026-11-20T12:00:00Z',
    },
  } as KubeObject;
}

function accountObject(namespace: string, n: number): KubeObject {
  return {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'Account',
    metadata: metaOf('main', namespace, n),
    spec: {
      gatewayNamespace: GATEWAY_NAMESPACE,
      grants: [{ name: 'first', usd: '1000' }],
    },
    status: { ...LIVED, creditUsd: '1000', spentUsd: '125', heldUsd: '0', balanceUsd: '875' },
  } as KubeObject;
}

/** A token of somebody with this role, in a namespace or ("") everywhere. */
async function person(name: string, namespace: string): Promise<string> {
  const [kind, place] = namespace === '' ? ['ClusterRole', ''] : ['Role', `/namespaces/${namespace}`];
  await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
  await create(`${RBAC}${place}/${kind.toLowerCase()}s`, {
    metadata: { name },
    rules: [{ apiGroups: ['modelgateway.dev'], resources: ['*'], verbs: ['*'] }],
  });
  await create(`${RBAC}${place}/${kind.toLowerCase()}bindings`, {
    metadata: { name },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind,
      name,
    },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
  });
  return (await cluster.admin.call('POST', `/api/v1/namespaces/default/serviceaccounts/${name}/token`, { spec: {} }))
    .body.status.token;
}

console.log(`filling: ${keys} keys in ${namespaces} namespaces, ${records} records`);
await fill();
const [platform, tenant] = [await person('platform', ''), await person('tenant', 'team-0')];
const access = ending.adopt(openAccess({ kubeconfig: cluster.kubeconfig, nowMs: () => Date.now() }), (each) =>
  each.close(),
);
const objects = openLiveObjects({
  admit: admitObjects(loadApiKindsSync()),
  onSpecs: () => undefined,
  onLive: () => undefined,
  onChange: (id) => cache.changed(id),
});
const cache = createClusterCache({
  objects,
  after: SYSTEM_CLOCK.after,
  namespaces: () => [GATEWAY_NAMESPACE, ...teams],
  covers: () => false,
});
for (const kind of ['Group', 'ModelRoute', 'PriceCatalog'] as const)
  for (const each of await cluster.list(kind)) objects.apply(kind, parseResource(kind, each));
for (const [n, team] of teams.entries()) objects.apply('Account', parseResource('Account', accountObject(team, n)));
for (let n = 0; n < keys; n++) objects.apply('ApiKey', parseResource('ApiKey', keyObject(n)));
cache.complete();
const resources = (): Resources => ({
  apiKeys: objects.byNamespace('ApiKey'),
  accounts: objects.byNamespace('Account'),
  groups: objects.ofKind('Group'),
  modelRoutes: objects.ofKind('ModelRoute'),
  priceCatalogs: objects.ofKind('PriceCatalog'),
  secrets: new Map(),
  namespaces: new Map(teams.map((team) => [team, {}])),
});
const folder = ending.adopt(await mkdtemp(join(tmpdir(), 'mgw-bench-console-')), (path) =>
  rm(path, { recursive: true }),
);
writeRecords(join(folder, 'ledger.db'), records, {
  account: 'team-0/main',
  uids: cache
    .list('ApiKey')
    .filter(({ metadata }) => metadata.namespace === 'team-0')
    .map(({ metadata }) => metadata.uid ?? ''),
});
const usage = openFileUsageStore(join(folder, 'ledger.db'), openUsageFile);
let clockMs = Date.now();
const server = ending.adopt(
  await startConsole({
    translator: TRANSLATOR,
    listen: { host: '127.0.0.1', port: 0 },
    proxyHeader: 'authorization',
    sealingKeys: [new Uint8Array(32).fill(1)],
    log: LOG,
    usage,
    gatewayNamespace: GATEWAY_NAMESPACE,
    gatewayUrl: undefined,
    resources,
    nowMs: () => Date.now(),
    access: openClusterAccess({
      access,
      userAgent: 'bench',
      meter: METER,
      cache,
      gatewayNamespace: GATEWAY_NAMESPACE,
      nowMs: () => clockMs,
    }),
  }),
  (each) => each.close(),
);
ending.defer(() => usage.close());

async function open(path: string, token: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 500)}`);
  return text;
}

const answer = JSON.stringify({
  items: Array.from({ length: keys }, (_, n) => ({
    ...keyObject(n),
    metadata: { ...keyObject(n).metadata, managedFields: MANAGED },
  })),
});
printTimings(
  `reading the server's list of ${keys} keys`,
  await several(times, async () => JSON.parse(answer)),
  `(${(answer.length / 1e6).toFixed(0)} MB of JSON that the copy saves, and what the server does to write it)`,
);
const names = { platform, tenant };
for (const [who, token] of Object.entries(names)) {
  printTimings(`${who}: first page of all`, [await timed(() => open('/keys', token))], '(rights are asked for)');
  printTimings(
    `${who}: rights asked for again`,
    await several(times, async () => {
      clockMs += 10_001;
      await open('/keys', token);
    }),
  );
  for (const path of [
    '/keys',
    '/keys?q=key-12',
    '/keys/new',
    '/keys/team-0/key-0',
    '/wallet',
    '/wallet/team-0/main',
    '/wallet/team-0/main/calls',
    '/wallet/team-0/main/calls?status=Failed',
    '/models',
  ]) {
    let bytes = 0;
    const first = await timed(async () => {
      bytes = (await open(path, token)).length;
    });
    printTimings(
      `${who}: ${path}`,
      await several(times, () => open(path, token)),
      `first ${first.wallMs.toFixed(0)} ms, ${(bytes / 1000).toFixed(0)} kB`,
    );
  }
}
const query = { accounts: ['team-0/main'] };
printTimings('sums of all records', await several(times, () => usage.sums(query)));
printTimings('a page of 100 records', await several(times, () => usage.page(query, { size: 100 })));
console.log(`memory ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
