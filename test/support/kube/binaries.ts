/**
 * Finds etcd and kube-apiserver: in the folder KUBEBUILDER_ASSETS, or in a cache folder, into which they are built once
 * from their Go modules at pinned versions (some minutes; needs `go`).
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, findOrBuild, goBuild, holdsAll, importing, moduleFolder } from './go-build.ts';
import type { Binaries, GoProgram } from './go-build.ts';

/** The version that suites run on unless MGW_TEST_KUBERNETES names another one, whose Go modules are built then. */
export const KUBERNETES_VERSION = parseVersion(process.env['MGW_TEST_KUBERNETES']);
const ETCD_VERSION = '3.6.16';
const BINARIES = ['etcd', 'kube-apiserver'] as const;

/** The version that is built; throws if the text is none. */
export function parseVersion(text = '1.36.3'): string {
  if (/^1\.\d+\.\d+$/.test(text)) return text;
  throw new Error(`MGW_TEST_KUBERNETES must be a version such as 1.37.2, not "${text}"`);
}

/** Finds the binaries, and builds them if needed. */
export async function findBinaries(env: NodeJS.ProcessEnv): Promise<Binaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets)
    return (await holdsAll(assets, BINARIES))
      ? { folder: assets }
      : { missing: `KUBEBUILDER_ASSETS=${assets} lacks etcd or kube-apiserver` };
  const folder = kubeFolder(env);
  return findOrBuild({
    folder,
    names: BINARIES,
    build: () => build(folder),
    withoutGo: 'install Go, or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver',
  });
}

/** The folder of the built programs. */
export function kubeFolder(env: NodeJS.ProcessEnv): string {
  return cacheFolder(env, `kube-${KUBERNETES_VERSION}`);
}

async function build(folder: string): Promise<void> {
  console.error(
    `building etcd ${ETCD_VERSION} and kube-apiserver ${KUBERNETES_VERSION} into ${folder}, once; this ` +
      `takes some minutes`,
  );
  const etcd = 'go.etcd.io/etcd/server/v3';
  await goBuild(folder, {
    name: 'etcd',
    package: etcd,
    modules: [`${etcd}@v${ETCD_VERSION}`],
    files: { 'tools.go': importing(etcd) },
  });
  await goBuild(folder, await kubernetesProgram('kube-apiserver'));
}

/** A program of Kubernetes itself, such as kubelet, at the pinned version. */
export async function kubernetesProgram(name: string): Promise<GoProgram> {
  const module = `k8s.io/kubernetes@v${KUBERNETES_VERSION}`;
  const path = `k8s.io/kubernetes/cmd/${name}`;
  const goMod = stagingReplaces(await readFile(join(await moduleFolder(module), 'go.mod'), 'utf8'));
  return {
    name,
    package: path,
    modules: [module],
    goMod,
    ldflags: versionStamps(),
    files: { 'tools.go': importing(path) },
  };
}

/** Kubernetes replaces its staging modules by relative paths; they are published as v0.<minor>.<patch>. */
function stagingReplaces(goMod: string): string {
  const version = `v0.${KUBERNETES_VERSION.slice('1.'.length)}`;
  return [...goMod.matchAll(/^\s+(k8s\.io\/[a-z0-9.-]+) => /gm)]
    .map(([, name]) => `replace ${name} => ${name} ${version}\n`)
    .join('');
}

/** The linker sets the server's version, which determines its features. */
function versionStamps(): string {
  const minor = KUBERNETES_VERSION.split('.')[1];
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version']
    .map(
      (at) =>
        `-X ${at}.gitVersion=v${KUBERNETES_VERSION} -X ${at}.gitMajor=1 -X ${at}.gitMinor=${minor} -X ` +
        `${at}.gitTreeState=clean`,
    )
    .join(' ');
}
