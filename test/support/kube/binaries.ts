/**
 * Where etcd and kube-apiserver come from: the folder KUBEBUILDER_ASSETS, else a cache folder, into which they are built from
 * their Go modules at pinned versions the first time (some minutes; `go` is needed).
 */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export const KUBERNETES_VERSION = '1.36.3';
const ETCD_VERSION = '3.6.16';
const BINARIES = ['etcd', 'kube-apiserver'] as const;
const LOCK_POLL_MS = 2_000;

const run = promisify(execFile);

/** The folder that holds both binaries, or why there is none. */
export type Binaries = { readonly folder: string } | { readonly missing: string };

/** Finds the binaries, building them if need be. */
export async function findBinaries(env: NodeJS.ProcessEnv): Promise<Binaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets) return (await holdsAll(assets)) ? { folder: assets } : { missing: `KUBEBUILDER_ASSETS=${assets} lacks etcd or kube-apiserver` };
  const folder = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'model-gateway', `kube-${KUBERNETES_VERSION}`);
  if (await holdsAll(folder)) return { folder };
  if (!(await hasGo())) return { missing: 'install Go, or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver' };
  await buildOnce(folder);
  return { folder };
}

async function holdsAll(folder: string): Promise<boolean> {
  const found = await Promise.all(BINARIES.map((name) => isExecutable(join(folder, name))));
  return found.every(Boolean);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(() => true, () => false);
}

async function hasGo(): Promise<boolean> {
  return run('go', ['version']).then(() => true, () => false);
}

/** Builds under a lock folder that names its process, so that test files started together don't build twice. */
async function buildOnce(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lock = join(folder, '.lock');
  while (!(await takeLock(lock))) {
    if (await holdsAll(folder)) return;
    await delay(LOCK_POLL_MS);
  }
  try {
    console.error(`building etcd ${ETCD_VERSION} and kube-apiserver ${KUBERNETES_VERSION} into ${folder}, once; this takes some minutes`);
    const kubernetes = await moduleFolder(`k8s.io/kubernetes@v${KUBERNETES_VERSION}`);
    const staging = stagingReplaces(await readFile(join(kubernetes, 'go.mod'), 'utf8'));
    await goBuild(folder, { name: 'etcd', module: `go.etcd.io/etcd/server/v3@v${ETCD_VERSION}`, package: 'go.etcd.io/etcd/server/v3', goMod: '' });
    await goBuild(folder, { name: 'kube-apiserver', module: `k8s.io/kubernetes@v${KUBERNETES_VERSION}`, package: 'k8s.io/kubernetes/cmd/kube-apiserver', goMod: staging });
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(lock, 'utf8').catch(() => '0'));
  if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true });
  return false;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function moduleFolder(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module]);
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/** Kubernetes pins its own staging modules by relative path; the same ones are published as v0.<minor>.<patch>. */
function stagingReplaces(goMod: string): string {
  const version = `v0.${KUBERNETES_VERSION.slice('1.'.length)}`;
  return [...goMod.matchAll(/^\s+(k8s\.io\/[a-z0-9.-]+) => /gm)].map(([, name]) => `replace ${name} => ${name} ${version}\n`).join('');
}

interface Build {
  readonly name: string;
  readonly module: string;
  readonly package: string;
  /** What the build's go.mod has besides its own name. */
  readonly goMod: string;
}

async function goBuild(folder: string, build: Build): Promise<void> {
  if (await isExecutable(join(folder, build.name))) return;
  const cwd = join(folder, `.src-${build.name}`);
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'go.mod'), `module build.local\n\ngo 1.26.0\n\n${build.goMod}`);
  await writeFile(join(cwd, 'tools.go'), `//go:build tools\n\npackage build\n\nimport _ "${build.package}"\n`);
  const options = { cwd, env: { ...process.env, CGO_ENABLED: '0' }, maxBuffer: 64 * 1024 * 1024 };
  await run('go', ['get', build.module], options);
  await run('go', ['mod', 'tidy'], options);
  await run('go', ['build', '-ldflags', ldflags(), '-o', `${build.name}.new`, build.package], options);
  await rename(join(cwd, `${build.name}.new`), join(folder, build.name));
}

function ldflags(): string {
  const minor = KUBERNETES_VERSION.split('.')[1];
  const stamps = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map((at) =>
    `-X ${at}.gitVersion=v${KUBERNETES_VERSION} -X ${at}.gitMajor=1 -X ${at}.gitMinor=${minor} -X ${at}.gitTreeState=clean`);
  return ['-s -w', ...stamps].join(' ');
}
