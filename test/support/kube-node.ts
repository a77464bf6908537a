/**
 * A real Kubernetes node for tests, without Docker: control plane, containerd, kubelet, kube-proxy and CoreDNS as
 * processes of this machine in kernel namespaces of their own (kube-node/sandbox.ts). Pods really run, and
 * NetworkPolicies hold for them. Services and pods can be reached from the test, which counts as the node.
 *
 *   const missing = await kubeNodeMissing();
 * describe('…', { skip: missing ?? false }, () => { const node = await startKubeNode([image]); … await node.stop(); });
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Image } from './image/archive.ts';
import { makePauseImage, PAUSE_IMAGE } from './image/other-images.ts';
import { findBinaries } from './kube/binaries.ts';
import { kubeClient, readCertificate } from './kube/client.ts';
import type { KubeClient } from './kube/client.ts';
import { findNodeBinaries } from './kube/node-binaries.ts';
import { exited, logTail } from './kube/processes.ts';
import type { Process } from './kube/processes.ts';
import { enforcePolicies } from './kube-node/enforce.ts';
import type { Enforcement } from './kube-node/enforce.ts';
import { needNodePackages } from './kube-node/packages.ts';
import { openSandbox, sandboxMissing } from './kube-node/sandbox.ts';
import type { Sandbox } from './kube-node/sandbox.ts';
import * as settings from './kube-node/settings.ts';

const READY_WITHIN_MS = 120_000;
const POLL_MS = 100;
const run = promisify(execFile);

export interface KubeNode {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** Its address, at which this machine reaches it. */
  readonly address: string;
  /** Where it keeps everything; gone when it is stopped. */
  readonly folder: string;
  /** Runs kubectl as somebody who may do everything; rejects with its words. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Runs a script in bash, where kubectl is that of the node; rejects with its words. What it starts ends with it. */
  bash(script: string): Promise<string>;
  /** Gives an image that was loaded another name, both as NAME:TAG. */
  tagImage(image: string, other: string): Promise<void>;
  /** kill -9 of a container, by the id in its pod's status: `containerd://…`. */
  killContainer(containerId: string): Promise<void>;
  /** A folder of the node that a pod of this user may write, for volumes. */
  volumeFolder(name: string, uid: number): Promise<string>;
  /** The daemon's log so far, for an error message. */
  logs(): Promise<string>;
  stop(): Promise<void>;
}

interface Programs {
  readonly folders: { readonly etcd: string; readonly 'kube-apiserver': string };
  readonly folder: string;
}

/**
 * Undefined where a node can run, else one line that says what is missing, for a suite to be skipped with; with CI=true
 * that is an error. Installs and builds what it can.
 */
export async function kubeNodeMissing(): Promise<string | undefined> {
  const missing = await reasonAgainst();
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(`no Kubernetes node: ${missing}`);
  return missing && `no Kubernetes node: ${missing}`;
}

async function reasonAgainst(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'only on Linux does it run';
  if (process.getuid?.() !== 0) return 'only root can run it';
  const packages = await needNodePackages();
  if (packages !== undefined) return packages;
  const unable = await sandboxMissing();
  if (unable !== undefined) return unable;
  const programs = await findPrograms();
  return 'missing' in programs ? programs.missing : undefined;
}

async function findPrograms(): Promise<Programs | { readonly missing: string }> {
  const control = await findBinaries(process.env);
  if ('missing' in control) return control;
  const node = await findNodeBinaries(process.env);
  return 'missing' in node
    ? node
    : { folder: node.folder, folders: { etcd: control.folder, 'kube-apiserver': control.folder } };
}

/** Starts a node that has these images, and no others. */
export async function startKubeNode(images: readonly Image[]): Promise<KubeNode> {
  const programs = await findPrograms();
  if ('missing' in programs) throw new Error(programs.missing);
  const sandbox = await openSandbox();
  const node = new Node(sandbox, programs);
  try {
    await node.begin([await makePauseImage(join(programs.folder, 'pause')), ...images]);
    return node;
  } catch (error) {
    const logs = await node.logs();
    await node.stop();
    throw new Error(`the node did not start: ${error instanceof Error ? error.message : String(error)}\n${logs}`, {
      cause: error,
    });
  }
}

class Node implements KubeNode {
  readonly kubeconfig: string;
  readonly address: string;
  readonly folder: string;
  readonly #sandbox: Sandbox;
  readonly #programs: Programs;
  readonly #daemons: Process[] = [];
  #client: KubeClient | undefined;
  #enforcement: Enforcement | undefined;

  constructor(sandbox: Sandbox, programs: Programs) {
    this.#sandbox = sandbox;
    this.#programs = programs;
    this.kubeconfig = join(sandbox.folder, 'kubeconfig');
    this.address = sandbox.network.node;
    this.folder = sandbox.folder;
  }

  get client(): KubeClient {
    if (!this.#client) throw new Error('the node has not started');
    return this.#client;
  }

  async begin(images: readonly Image[]): Promise<void> {
    await this.#writeSettings();
    this.#start('etcd', settings.etcdArgs(this.#sandbox));
    this.#start('kube-apiserver', settings.apiserverArgs(this.#sandbox));
    this.#start('containerd', ['--config', join(this.#sandbox.folder, 'containerd.toml')], 'containerd');
    await Promise.all([this.#apiserverReady(), this.#imagesLoaded(images)]);
    this.#start('kube-controller-manager', settings.controllerManagerArgs(this.#sandbox));
    this.#start('kube-scheduler', settings.schedulerArgs(this.#sandbox));
    this.#start('coredns', ['-conf', join(this.#sandbox.folder, 'Corefile')]);
    this.#start('kubelet', settings.kubeletArgs(this.#sandbox));
    await this.#await(
      'the node is registered',
      async () => (await this.client.call('GET', `/api/v1/nodes/${settings.NODE_NAME}`)).status === 200,
    );
    this.#start('kube-proxy', ['--config', join(this.#sandbox.folder, 'kube-proxy.yaml')]);
    await this.#await(
      'Services lead somewhere',
      async () => (await fetch(settings.kubeProxyHealthUrl(this.#sandbox))).ok,
    );
    await this.#await('the node is ready', async () =>
      isReady((await this.client.call('GET', `/api/v1/nodes/${settings.NODE_NAME}`)).body),
    );
    this.#enforcement = await enforcePolicies(this.#sandbox, this.client);
  }

  async #writeSettings(): Promise<void> {
    const { folder } = this.#sandbox;
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    });
    for (const name of ['cni', 'pki', 'volumes']) await mkdir(join(folder, name));
    const files = {
      'sa.pub': publicKey,
      'sa.key': privateKey,
      'tokens.csv': settings.CREDENTIALS.file,
      kubeconfig: settings.kubeconfig(this.#sandbox),
      'kubelet.yaml': settings.kubeletConfig(this.#sandbox),
      'kube-proxy.yaml': settings.kubeProxyConfig(this.#sandbox),
      'cni/10-pods.conflist': settings.podNetwork(this.#sandbox),
      'containerd.toml': settings.containerdConfig(this.#sandbox, PAUSE_IMAGE),
      Corefile: settings.corefile(this.#sandbox),
      'resolv.conf': `nameserver ${this.#sandbox.network.node}\n`,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
  }

  #start(
    name: string,
    args: readonly string[],
    path = join(name in this.#programs.folders ? this.#programs.folders.etcd : this.#programs.folder, name),
  ): void {
    this.#daemons.push(this.#sandbox.start(name, path, args));
  }

  async #await(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!(await holds().catch(() => false))) {
      const dead = this.#daemons.find(exited);
      if (dead) throw new Error(`${dead.name} ended:\n${await logTail(dead)}`);
      if (Date.now() > deadline) throw new Error(`${what}: not within ${READY_WITHIN_MS / 1000} s`);
      await delay(POLL_MS);
    }
  }

  async #apiserverReady(): Promise<void> {
    const { folder } = this.#sandbox;
    await this.#await('the API server is ready', async () => {
      const ca = await readCertificate(join(folder, 'pki/apiserver.crt'));
      if (!ca) return false;
      this.#client ??= kubeClient({ url: settings.apiUrl(this.#sandbox), token: settings.CREDENTIALS.token, ca });
      const answers = await Promise.all(
        ['/readyz', '/api/v1/namespaces/default'].map((path) => this.client.call('GET', path)),
      );
      return answers.every(({ status }) => status === 200);
    });
  }

  async #imagesLoaded(images: readonly Image[]): Promise<void> {
    await this.#await('containerd answers', () => this.#ctr('version').then(() => true));
    // one after the other: the disk is the limit
    for (const { archive } of images) await this.#ctr('images', 'import', archive);
  }

  #ctr(...args: readonly string[]): Promise<string> {
    return this.#sandbox.run('ctr', [
      '--address',
      join(this.#sandbox.folder, 'containerd.sock'),
      '--namespace',
      'k8s.io',
      ...args,
    ]);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#asUser(join(this.#programs.folder, 'kubectl'), args);
  }

  bash(script: string): Promise<string> {
    return this.#asUser('bash', [
      '-c',
      `set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n${script}`,
    ]);
  }

  async #asUser(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, {
      maxBuffer: 64 * 2 ** 20,
      env: {
        PATH: `${this.#programs.folder}:${process.env['PATH']}`,
        HOME: this.#sandbox.folder,
        KUBECONFIG: this.kubeconfig,
      },
    });
    return stdout;
  }

  async tagImage(image: string, other: string): Promise<void> {
    await this.#ctr('images', 'tag', `docker.io/library/${image}`, `docker.io/library/${other}`);
  }

  async killContainer(containerId: string): Promise<void> {
    await this.#ctr('tasks', 'kill', '--signal', 'SIGKILL', containerId.replace('containerd://', ''));
  }

  async volumeFolder(name: string, uid: number): Promise<string> {
    const path = join(this.#sandbox.folder, 'volumes', name);
    await mkdir(path, { mode: 0o700 });
    await run('chown', [`${uid}:${uid}`, path]);
    return path;
  }

  async logs(): Promise<string> {
    const unenforced = this.#enforcement?.failure();
    const said = unenforced === undefined ? [] : [`network policies are not enforced: ${unenforced}`];
    return [
      ...said,
      ...(await Promise.all(this.#daemons.map(async (daemon) => `== ${daemon.name}\n${await logTail(daemon)}`))),
    ].join('\n');
  }

  async stop(): Promise<void> {
    await this.#enforcement?.stop();
    await this.#client?.close();
    await this.#sandbox.stop();
  }
}

function isReady(node: {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
