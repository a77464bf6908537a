/**
 * The same as console.ts where a folder of manifests is the store: the operator of one machine with so many keys in
 * files by team, the ledger with so many calls, and the admin who opens each page over HTTP. The client is in this same
 * process.
 *   node test/bench/console-files.ts [--keys 10000] [--namespaces 200] [--records 100000] [--times 10]
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { loadApiKindsSync } from '#crds/load.ts';
import { openEmbeddedLedger } from '../../dataplane/ledger/embedded.ts';
import { createFilesAccess } from '../../console/access/files.ts';
import { startConsole } from '../../console/server.ts';
import { openFileUsageStore } from '../../console/data/file-store.ts';
import { openUsageFile } from '../../dataplane/ledger/embedded/usage-file.ts';
import { startOperator } from '../../programs/one-machine/operator.ts';
import { platformManifests } from '../e2e/browser/console-scene.ts';
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
const LOG = { info: () => undefined, warn: console.error, error: console.error };
const TOKEN = 'admin';
const GATEWAY_NAMESPACE = 'model-gateway';

await using ending = new AsyncDisposableStack();
const root = ending.adopt(await mkdtemp(join(tmpdir(), 'mgw-bench-console-')), (path) => rm(path, { recursive: true }));
const [configDir, dataDir] = [join(root, 'manifests'), join(root, 'data')];

function teamFile(team: number): string {
  const head =
    `apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: main, namespace: ` +
    `team-${team}}\nspec: {grants: [{name: first, usd: "1000"}]}\n`;
  const own = Array.from(
    { length: Math.ceil((keys - team) / namespaces) },
    (_, n) => `---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: key-${team + n * namespaces}, namespace: team-${team}}
spec: {groupRef: {name: standard}, accountRef: {name: main}, quota: {limitUsd: "25", period: Monthly}}
`,
  );
  return head + own.join('');
}

let port = 0;
console.log(`filling: ${keys} keys in ${namespaces} files, ${records} records`);
await mkdir(configDir);
await mkdir(dataDir);
await writeFile(join(configDir, 'platform.yaml'), platformManifests('http://127.0.0.1:1'));
for (let team = 0; team < namespaces; team++) await writeFile(join(configDir, `team-${team}.yaml`), teamFile(team));
const path = join(dataDir, 'ledger.db');
await (await openEmbeddedLedger({ path })).close();
writeRecords(path, records, {
  account: 'team-0/main',
  uids: Array.from({ length: Math.ceil(keys / namespaces) }, (_, n) => `team-0/key-${n * namespaces}`),
});
const ledger = ending.adopt(await openEmbeddedLedger({ path }), (each) => each.close());
const starting = await timed(async () => {
  const operator = await startOperator({
    configDir,
    dataDir,
    gatewayNamespace: GATEWAY_NAMESPACE,
    ledger,
    log: LOG,
    onMinted: () => undefined,
    onProblems: console.error,
    publish: () => ({ accepted: true }),
  });
  ending.defer(() => operator.stop());
  const { manifests: source } = operator;
  const usage = openFileUsageStore(path, openUsageFile);
  ending.defer(() => usage.close());
  const server = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    proxyHeader: 'authorization',
    sealingKeys: [new Uint8Array(32).fill(1)],
    log: LOG,
    usage,
    gatewayNamespace: GATEWAY_NAMESPACE,
    gatewayUrl: undefined,
    translator: TRANSLATOR,
    resources: () => source.resources,
    nowMs: () => Date.now(),
    access: createFilesAccess({
      source,
      kinds: loadApiKindsSync(),
      log: LOG,
      isToken: (token) => token === TOKEN,
      delay: (ms) => delay(ms),
    }),
  });
  ending.defer(() => server.close());
  port = server.port;
  await source.readSpending(); // as mgw run does it
});
printTimings('the operator starts', [starting], '(every key is generated once)');

async function load(page: string, form?: Readonly<Record<string, string>>): Promise<string> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    ...(form && { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }),
  };
  const answer = await fetch(`http://127.0.0.1:${port}${page}`, {
    redirect: 'manual',
    headers,
    ...(form && { method: 'POST', body: new URLSearchParams(form).toString() }),
  });
  const text = await answer.text();
  if (answer.status !== (form ? 303 : 200)) throw new Error(`${page}: ${answer.status} ${text.slice(0, 500)}`);
  return text;
}

for (const page of [
  '/',
  '/keys',
  '/keys?q=key-12',
  '/keys?part=',
  '/keys/new?namespace=team-0',
  '/keys/team-0/key-0',
  '/keys/team-0/key-0/activity',
  '/wallet',
  '/wallet/team-0/main',
  '/wallet/team-0/main/calls',
  '/wallet/team-0/main/calls?status=Failed',
  '/usage',
  '/usage?by=group',
  '/usage/calls',
  '/models',
]) {
  let bytes = 0;
  const first = await timed(async () => {
    bytes = (await load(page)).length;
  });
  printTimings(
    page,
    await several(times, () => load(page)),
    `first ${first.wallMs.toFixed(0)} ms, ${(bytes / 1000).toFixed(0)} kB`,
  );
}
printTimings(
  '/keys, a second apart',
  await several(3, () => delay(1_100).then(() => load('/keys'))),
  '(spending is read again)',
);
const csrf = /name="csrf" value="([^"]+)"/.exec(await load('/keys'))?.[1] ?? '';
let on = false;
printTimings(
  'a key is switched, written and in force',
  await several(3, () => {
    on = !on;
    return load('/keys/team-0/key-0/enabled', { to: `${on ? 'off' : 'on'} team-0/key-0`, view: '', csrf });
  }),
);
console.log(`memory ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
