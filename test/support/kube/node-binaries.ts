/**
 * The programs of a Kubernetes node in addition to etcd and kube-apiserver: built once from their Go modules at pinned
 * versions into the same cache folder (some minutes, less if kube-apiserver was built there).
 */
import { mkdir } from 'node:fs/promises';
import { kubeFolder, kubernetesProgram, KUBERNETES_VERSION } from './binaries.ts';
import { findOrBuild, goBuild } from './go-build.ts';
import type { Binaries } from './go-build.ts';

const COREDNS_VERSION = '1.14.5';
const OF_KUBERNETES = ['kubectl', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'] as const;
const ALL = [...OF_KUBERNETES, 'coredns', 'pause'] as const;

/** The program of a pod's sandbox: it only waits to be stopped. */
const PAUSE = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}
`;

/** With the plugins that a test node needs, without those for clouds' DNS. */
const COREDNS = `package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() {
	coremain.Run()
}
`;

/** Finds all of them, and builds missing ones. */
export function findNodeBinaries(env: NodeJS.ProcessEnv): Promise<Binaries> {
  const folder = kubeFolder(env);
  return findOrBuild({ folder, names: ALL, build: () => build(folder), withoutGo: 'install Go' });
}

async function build(folder: string): Promise<void> {
  console.error(
    `building kubelet and the rest of a node of Kubernetes ${KUBERNETES_VERSION} into ${folder}, once; ` +
      `this takes some minutes`,
  );
  await mkdir(folder, { recursive: true });
  for (const name of OF_KUBERNETES) await goBuild(folder, await kubernetesProgram(name));
  await goBuild(folder, {
    name: 'coredns',
    package: '.',
    modules: [`github.com/coredns/coredns@v${COREDNS_VERSION}`],
    files: { 'main.go': COREDNS },
  });
  await goBuild(folder, { name: 'pause', package: '.', modules: [], files: { 'main.go': PAUSE } });
}
