/**
 * What `npm run test:cluster` runs: the suites of the API server on the cluster of KUBECONFIG, or on one that kind
 * makes:
 *   KUBECONFIG=… npm run test:cluster [-- FILES]
 *   npm run test:cluster -- --kind [FILES]
 * Only for clusters that nobody needs: tests make and delete namespaces, definitions and roles, with all rights.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { needKubectl } from './kube/kubectl.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const KIND_CLUSTER = 'model-gateway-test';
const ACCOUNT = 'model-gateway-test';
/** Suites that neither freeze nor restart a server. */
const SUITES = [
  ...['first-call', 'conditions', 'secrets', 'leaders', 'rights', 'churn', 'fleet'].map(
    (name) => `test/e2e/cluster/${name}.test.ts`,
  ),
  'test/e2e/crds/explain.test.ts',
  'test/e2e/charts/admission.test.ts',
  'test/e2e/gitops/cluster.test.ts',
];

const {
  values: { kind },
  positionals,
} = parseArgs({ options: { kind: { type: 'boolean', default: false } }, allowPositionals: true });
if (kind)
  await run('kind', ['version']).catch((cause: unknown) => {
    throw new Error('--kind needs kind (https://kind.sigs.k8s.io) on the PATH, and Docker', { cause });
  });
const kubectl = await needKubectl({ ...process.env, CI: 'true' });
const folder = await mkdtemp(join(tmpdir(), 'mgw-test-cluster-'));
const kubeconfig = kind ? join(folder, 'kubeconfig') : process.env['KUBECONFIG'];
if (!kubeconfig) throw new Error('KUBECONFIG names no file; --kind makes a cluster');

const kubectlDoes = async (...args: string[]): Promise<string> =>
  (await run(kubectl.path, ['--kubeconfig', kubeconfig, ...args])).stdout;

/** The address, the CA, and a token with all rights. */
async function endpoint(): Promise<{ url: string; ca: string; token: string }> {
  const {
    clusters: [{ cluster }],
  } = JSON.parse(await kubectlDoes('config', 'view', '--minify', '--flatten', '--raw', '--output', 'json'));
  await kubectlDoes('create', 'serviceaccount', ACCOUNT, '--namespace', 'kube-system');
  await kubectlDoes(
    'create',
    'clusterrolebinding',
    ACCOUNT,
    '--clusterrole',
    'cluster-admin',
    '--serviceaccount',
    `kube-system:${ACCOUNT}`,
  );
  const token = await kubectlDoes('create', 'token', ACCOUNT, '--namespace', 'kube-system', '--duration', '2h');
  return {
    url: cluster.server,
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64').toString(),
    token: token.trim(),
  };
}

try {
  if (kind)
    await run('kind', [
      'create',
      'cluster',
      '--name',
      KIND_CLUSTER,
      '--config',
      join(ROOT, 'test/e2e/cluster/kind.yaml'),
      '--kubeconfig',
      kubeconfig,
      '--wait',
      '120s',
    ]);
  const file = join(folder, 'cluster.json');
  await writeFile(file, JSON.stringify(await endpoint()), { mode: 0o600 });
  const tests = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      'e2e',
      '--maxWorkers',
      '1',
      ...(positionals.length > 0 ? positionals : SUITES),
    ],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, MGW_TEST_CLUSTER: file } },
  );
  const [exitCode] = await once(tests, 'exit');
  process.exitCode = typeof exitCode === 'number' ? exitCode : 1;
} finally {
  if (kind) await run('kind', ['delete', 'cluster', '--name', KIND_CLUSTER]);
  else {
    await kubectlDoes('delete', 'clusterrolebinding', ACCOUNT, '--ignore-not-found');
    await kubectlDoes('delete', 'serviceaccount', ACCOUNT, '--namespace', 'kube-system', '--ignore-not-found');
  }
  await rm(folder, { recursive: true, force: true });
}
