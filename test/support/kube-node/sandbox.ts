/**
 * The sandbox of a test node: network, mounts and processes in kernel namespaces. When the first process of the
 * namespaces ends, all of it is gone: pods, daemons, mounts, bridges, packet filters. Outside are only a pair of
 * network interfaces, which ends with it, a cgroup, and a folder; the next run removes what a killed one left of these
 * two.
 */
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startProcess, watchOver } from '../kube/processes.ts';
import type { Process } from '../kube/processes.ts';

const run = promisify(execFile);
const PREFIX = 'mgw-node-';
const SLOTS = 8;
const REMOVED_WITHIN_MS = 120_000;
const YOUNG_MS = 60_000;

/** Addresses that no other running sandbox has. */
export interface Network {
  readonly node: string;
  /** This machine's, as the node sees it. */
  readonly host: string;
  readonly services: string;
  readonly pods: string;
}

export interface Sandbox {
  readonly folder: string;
  readonly network: Network;
  /** The cgroup in which pods are, from the root of each hierarchy. */
  readonly cgroup: string;
  /** Starts a program in it, with its output in `<folder>/<name>.log`. */
  start(name: string, path: string, args: readonly string[]): Process;
  /** Runs a program until it exits, with a file as its input if one is given. */
  run(path: string, args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** The work of the first process: mounts for programs that write to fixed paths. */
const BEGIN = `
mount --make-rshared /
for at in /run /var/log /var/lib/cni; do mkdir -p $at; mount -t tmpfs none $at; done
mkdir -p /run/netns
ip link set lo up
echo ready
exec sleep infinity`;

/** Returns undefined if one can be opened, else the reason. */
export async function sandboxMissing(): Promise<string | undefined> {
  const refused = await run('unshare', [
    '--net',
    '--mount',
    '--pid',
    '--fork',
    '--mount-proc',
    'ip',
    'link',
    'set',
    'lo',
    'up',
  ]).then(
    () => false,
    () => true,
  );
  if (refused) return 'kernel namespaces cannot be made here';
  const trial = `/${PREFIX}trial-${process.pid}`;
  try {
    await makeCgroup(trial);
    return (await hierarchies()).length === 0 ? 'no cgroups are mounted' : undefined;
  } catch {
    return 'cgroups cannot be made here';
  } finally {
    await removeCgroup(trial);
  }
}

export async function openSandbox(): Promise<Sandbox> {
  await removeRemains();
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await writeFile(join(folder, 'owner'), String(process.pid));
  const unshared = spawn(
    'unshare',
    ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-ec', BEGIN],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  // the folder stays for the clean-up of the next run if this process is killed
  const unwatch = watchOver([{ name: 'unshare', child: unshared, log: '' }], join(folder, 'nothing'));
  const cgroup = `/${folder.slice(folder.lastIndexOf('/') + 1)}`;
  const stop = async (): Promise<void> => {
    unshared.kill('SIGKILL');
    if (unshared.exitCode === null && unshared.signalCode === null) await once(unshared, 'exit');
    unwatch();
    await removeCgroup(cgroup);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([
      once(unshared.stdout, 'data'),
      once(unshared, 'exit').then(() => {
        throw new Error('no namespaces could be made');
      }),
    ]);
    const init = await childOf(unshared);
    const network = await connect(init);
    await makeCgroup(cgroup);
    const enter = ['--target', init, '--net', '--mount', '--pid'];
    return {
      folder,
      network,
      cgroup,
      stop,
      start: (name, path, args) => startProcess(folder, 'nsenter', [...enter, path, ...args], name),
      run: async (path, args) => (await run('nsenter', [...enter, path, ...args], { maxBuffer: 64 * 2 ** 20 })).stdout,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function childOf({ pid }: ChildProcess): Promise<string> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
}

/**
 * A pair of interfaces between this machine and the node. Whoever creates an interface of a name first owns its
 * addresses.
 */
async function connect(init: string): Promise<Network> {
  for (let slot = 0; slot < SLOTS; slot++) {
    const name = `${PREFIX}${slot}`;
    if (
      !(await run('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', init]).then(
        () => true,
        () => false,
      ))
    )
      continue;
    const network = {
      node: `10.250.${slot}.1`,
      host: `10.250.${slot}.2`,
      services: `10.${96 + slot}.0.0/16`,
      pods: `10.244.${slot}.0/24`,
    };
    const inside = (...args: string[]): Promise<unknown> => run('nsenter', ['--target', init, '--net', 'ip', ...args]);
    await inside('addr', 'add', `${network.node}/30`, 'dev', 'eth0');
    await inside('link', 'set', 'eth0', 'up');
    // the node's own processes call Services too, for example the API server its webhooks; kube-proxy translates the
    // addresses
    await inside('route', 'add', network.services, 'dev', 'eth0');
    await run('nsenter', ['--target', init, '--net', '--pid', '--mount', 'sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    await run('ip', ['addr', 'add', `${network.host}/30`, 'dev', name]);
    await run('ip', ['link', 'set', name, 'up']);
    for (const range of [network.services, network.pods]) await run('ip', ['route', 'add', range, 'via', network.node]);
    return network;
  }
  throw new Error('no network interface could be made');
}

/** The roots of all hierarchies of a version; with version 2 there is one. */
async function cgroupRoots(type: 'cgroup' | 'cgroup2'): Promise<string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  return mounts.filter((mount) => mount[2] === type).map(([, path = '']) => path);
}

/** The hierarchy of the pods: version 1, if it is mounted. */
async function hierarchies(): Promise<string[]> {
  const first = await cgroupRoots('cgroup');
  return first.length > 0 ? first : cgroupRoots('cgroup2');
}

async function makeCgroup(name: string): Promise<void> {
  // otherwise all pods together would weigh as much as any one process of the machine
  const weights = { 'cpu.shares': '8192', 'cpu.weight': '800' };
  for (const root of await hierarchies()) {
    await mkdir(join(root, name));
    // version 1 requires them before a process can join
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const inherited = await readFile(join(root, file), 'utf8').catch(() => '');
      if (inherited !== '') await writeFile(join(root, name, file), inherited).catch(() => undefined);
    }
    for (const [file, weight] of Object.entries(weights))
      await writeFile(join(root, name, file), weight, { flag: 'r+' }).catch(() => undefined);
  }
}

async function removeCgroup(name: string): Promise<void> {
  // if both versions are mounted, programs use the second one too
  for (const root of [...(await cgroupRoots('cgroup')), ...(await cgroupRoots('cgroup2'))])
    await removeTree(join(root, name));
}

/** Cgroups can be removed when they are empty, which takes the kernel a moment after the last process. */
async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  const deadline = Date.now() + REMOVED_WITHIN_MS;
  for (;;) {
    const failure = await rmdir(path).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
    if (failure === undefined || failure.code === 'ENOENT') return;
    if (Date.now() > deadline) throw failure;
    await delay(50);
  }
}

/** Removes the cgroups and folders of killed runs. */
async function removeRemains(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = await readFile(join(folder, 'owner'), 'utf8').then(Number, () => undefined);
    if (owner === undefined ? await isYoung(folder) : await isRunning(owner)) continue;
    await removeCgroup(`/${name}`);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Its owner may be about to write its name. */
function isYoung(folder: string): Promise<boolean> {
  return stat(folder).then(
    ({ mtimeMs }) => Date.now() - mtimeMs < YOUNG_MS,
    () => true,
  );
}

function isRunning(pid: number): Promise<boolean> {
  return readFile(`/proc/${pid}/stat`).then(
    () => true,
    () => false,
  );
}
