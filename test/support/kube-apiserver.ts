/**
 * A real Kubernetes API server for tests, without Docker: etcd and kube-apiserver as plain processes on free ports,
 * with CRDs, CEL, RBAC, server-side apply and watches, but no nodes and no pods.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findBinaries } from './kube/binaries.ts';
import { kubeClient, readCertificate, type KubeEndpoint } from './kube/client.ts';
import { borrowCluster, otherCluster } from './kube/other-cluster.ts';
import { freePort } from './free-port.ts';
import { exited, logTail, startProcess, stopProcess, watchOver, type Process } from './kube/processes.ts';

const READY_WITHIN_MS = 120_000;
const POLL_MS = 100;
const TOKEN = 'test-admin';

export interface KubeApiserver extends KubeEndpoint {
  /** Freezes the server: connections stay, and nothing responds. */
  freeze(): void;
  thaw(): void;
  /** Kills it and starts it again with its data, on the same port. Resolves when it responds. */
  restart(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/**
 * Returns undefined if the server is available here, else the reason in one line, with which the suite is skipped. In
 * CI (CI=true) a missing server is an error, so that no suite is left out unnoticed.
 */
export async function kubeApiserverMissing(): Promise<string | undefined> {
  if (otherCluster(process.env)) return undefined;
  const binaries = await findBinaries(process.env);
  if (!('missing' in binaries)) return undefined;
  if (process.env['CI'] === 'true') throw new Error(`no Kubernetes API server: ${binaries.missing}`);
  return `no Kubernetes API server: ${binaries.missing}`;
}

/** Starts a server with an empty store, or uses the given cluster; the result has an administrator's token. */
export async function startKubeApiserver(): Promise<KubeApiserver> {
  const other = otherCluster(process.env);
  if (other) return borrowCluster(other);
  const binaries = await findBinaries(process.env);
  if ('missing' in binaries) throw new Error(`no Kubernetes API server: ${binaries.missing}`);
  const folder = await mkdtemp(join(tmpdir(), 'kube-apiserver-'));
  const [clientPort, peerPort, securePort] = await Promise.all([freePort(), freePort(), freePort()]);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  await writeCredentials(folder);
  const etcd = startProcess(
    folder,
    join(binaries.folder, 'etcd'),
    etcdArgs(folder, etcdUrl, `http://127.0.0.1:${peerPort}`),
  );
  const startServer = (): Process =>
    startProcess(folder, join(binaries.folder, 'kube-apiserver'), apiserverArgs(folder, etcdUrl, securePort));
  let apiserver = startServer();
  let unwatch = watchOver([apiserver, etcd], folder);
  const stop = async (): Promise<void> => {
    apiserver.child.kill('SIGCONT');
    await stopProcess(apiserver);
    await stopProcess(etcd);
    unwatch();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const ca = await untilReady([etcd, apiserver], folder, `https://127.0.0.1:${securePort}`);
    return {
      url: `https://127.0.0.1:${securePort}`,
      token: TOKEN,
      ca,
      stop,
      freeze: () => void apiserver.child.kill('SIGSTOP'),
      thaw: () => void apiserver.child.kill('SIGCONT'),
      async restart() {
        apiserver.child.kill('SIGKILL');
        await stopProcess(apiserver);
        unwatch();
        apiserver = startServer();
        unwatch = watchOver([apiserver, etcd], folder);
        await untilReady([etcd, apiserver], folder, `https://127.0.0.1:${securePort}`);
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writeCredentials(folder: string): Promise<void> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  await writeFile(join(folder, 'sa.pub'), publicKey);
  await writeFile(join(folder, 'sa.key'), privateKey, { mode: 0o600 });
  await writeFile(join(folder, 'tokens.csv'), `${TOKEN},admin,admin,"system:masters"\n`, { mode: 0o600 });
}

function etcdArgs(folder: string, clientUrl: string, peerUrl: string): string[] {
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ];
}

function apiserverArgs(folder: string, etcdUrl: string, securePort: number): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    `--cert-dir=${join(folder, 'pki')}`,
    `--secure-port=${securePort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
  ];
}

/** Waits for /readyz and the default namespace; returns the server's self-signed certificate. */
async function untilReady(processes: readonly Process[], folder: string, url: string): Promise<string> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    const dead = processes.find(exited);
    if (dead) throw new Error(`${dead.name} ended at its start:\n${await logTail(dead)}`);
    const ca = await readCertificate(join(folder, 'pki', 'apiserver.crt'));
    if (ca && (await answersReady({ url, token: TOKEN, ca }))) return ca;
    await delay(POLL_MS);
  }
  throw new Error(`kube-apiserver was not ready within ${READY_WITHIN_MS / 1000} s`);
}

async function answersReady(endpoint: KubeEndpoint): Promise<boolean> {
  const client = kubeClient(endpoint);
  try {
    const ready = await client.call('GET', '/readyz');
    const namespace = await client.call('GET', '/api/v1/namespaces/default');
    return ready.status === 200 && namespace.status === 200;
  } catch {
    return false; // not listening yet
  } finally {
    await client.close();
  }
}
