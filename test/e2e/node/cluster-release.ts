/** A release of the chart on a test node, and what tests do with both. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CHART, CRDS_CHART, NAMESPACE } from '../charts/situations.ts';
import { needEnvoy } from '../../support/envoy.ts';
import { firstCallCommands } from '../../support/first-call.ts';
import { freePort } from '../../support/free-port.ts';
import { needHelm, runHelmAt } from '../../support/helm.ts';
import type { Image } from '../../support/image/archive.ts';
import { makeGatewayImage } from '../../support/image/gateway-image.ts';
import { makeEnvoyImage, makeValkeyImage } from '../../support/image/other-images.ts';
import type { KubeAnswer } from '../../support/kube/client.ts';
import { kubeNodeMissing, startKubeNode } from '../../support/kube-node.ts';
import type { KubeNode } from '../../support/kube-node.ts';
import { need } from '../../support/needs.ts';

export const RELEASE = 'model-gateway';
export const VALUES = join(import.meta.dirname, 'values.yaml');
/** The user of the official image, which the chart's values name. */
const VALKEY_USER = 999;
/** Created beforehand, so that its pod need not wait for another scheduling attempt. */
const CLAIM = { namespace: NAMESPACE, name: 'data-model-gateway-valkey-0' };
const WITHIN_MS = 120_000;
const POLL_MS = 250;

export interface Pod {
  readonly name: string;
  readonly component: string;
  readonly containerId: string;
  readonly ready: boolean;
  readonly restarts: number;
  /** From its creation to when it was ready. */
  readonly readyAfterSeconds: number;
  readonly ending: boolean;
}

export interface ClusterRelease {
  readonly node: KubeNode;
  /**
   * The URLs for calls: of the Envoys for clients outside the cluster, and of the proxies by a Service of their own.
   */
  urls(): Promise<Readonly<Record<Entrance, string>>>;
  helm(...args: readonly string[]): Promise<string>;
  install(): Promise<void>;
  /** The pods of the gateway's namespace, or of one component. */
  pods(component?: string): Promise<Pod[]>;
  /** Resolves when a component has exactly this many ready pods. */
  settled(component: string, count: number): Promise<Pod[]>;
  get(path: string): Promise<KubeAnswer['body']>;
  /** The key of an ApiKey, by default of team-a. */
  key(name: string, namespace?: string): Promise<string>;
  /** The memory of containers in the gateway's namespace, in MiB, by pod and container. */
  memory(): Promise<readonly (readonly [container: string, mebibytes: number])[]>;
  close(): Promise<void>;
}

export type Entrance = 'edge' | 'direct';
export const ENTRANCES = ['edge', 'direct'] as const;

/** Returns undefined if the suite can run, else the reason. */
export async function clusterReleaseMissing(): Promise<string | undefined> {
  const needs = [await needHelm(), await needEnvoy(), await need('valkey')];
  return needs.map(({ skip }) => skip).find((skip) => skip !== false) || (await kubeNodeMissing());
}

/** Starts a node with all images and a namespace for restricted pods; nothing is installed. */
export async function openClusterRelease(): Promise<ClusterRelease> {
  const node = await startKubeNode(await images());
  try {
    await node.kubectl('create', 'namespace', NAMESPACE);
    await node.kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
    const path = await node.volumeFolder('valkey', VALKEY_USER);
    await node.client.call('POST', '/api/v1/persistentvolumes', {
      metadata: { name: 'valkey' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: CLAIM,
        hostPath: { path, type: 'Directory' },
      },
    });
    return new InstalledRelease(node, (await needHelm()).path);
  } catch (error) {
    await node.stop();
    throw error;
  }
}

async function images(): Promise<Image[]> {
  const [valkey, envoy] = [await need('valkey'), await needEnvoy()];
  return [await makeGatewayImage(), await makeValkeyImage(valkey.path), await makeEnvoyImage(envoy.path)];
}

/** The chart as the release workflow packages it, of this version. */
export async function packagedChart(release: ClusterRelease, version: string): Promise<string> {
  const { folder } = release.node;
  await release.helm('package', CHART, '--version', version, '--app-version', version, '--destination', folder);
  return join(folder, `model-gateway-${version}.tgz`);
}

class InstalledRelease implements ClusterRelease {
  readonly node: KubeNode;
  readonly #helm: string;

  constructor(node: KubeNode, helm: string) {
    this.node = node;
    this.#helm = helm;
  }

  async urls(): Promise<Readonly<Record<Entrance, string>>> {
    const {
      spec: { clusterIP },
    } = await this.get(`/api/v1/namespaces/${NAMESPACE}/services/direct`);
    const {
      spec: {
        ports: [{ nodePort }],
      },
    } = await this.get(`/api/v1/namespaces/${NAMESPACE}/services/${RELEASE}`);
    return { edge: `http://${this.node.address}:${nodePort}`, direct: `http://${clusterIP}` };
  }

  helm(...args: readonly string[]): Promise<string> {
    return runHelmAt({ path: this.#helm, skip: false }, this.node.kubeconfig, [...args, '--namespace', NAMESPACE]);
  }

  async install(): Promise<void> {
    try {
      await this.helm('install', RELEASE, CHART, '--values', VALUES, '--wait', '--timeout', `${WITHIN_MS / 1000}s`);
    } catch (error) {
      throw new Error([error instanceof Error ? error.message : String(error), ...(await this.#say())].join('\n'), {
        cause: error,
      });
    }
  }

  /** Returns the state of pods and events. */
  async #say(): Promise<string[]> {
    const said = [];
    for (const args of [
      ['get', 'pods', '-o', 'wide'],
      ['get', 'events', '--field-selector', 'type!=Normal'],
      ['logs', '--tail=5', '--prefix', '-l', 'app.kubernetes.io/name=model-gateway'],
    ]) {
      said.push(await this.node.kubectl(...args, '--namespace', NAMESPACE).catch(String));
    }
    return said;
  }

  async pods(component?: string): Promise<Pod[]> {
    const { items } = await this.get(`/api/v1/namespaces/${NAMESPACE}/pods`);
    return (items as KubeAnswer['body'][])
      .map(podOf)
      .filter((pod) => component === undefined || pod.component === component);
  }

  settled(component: string, count: number): Promise<Pod[]> {
    return eventually(
      `${count} pods of ${component} are ready`,
      () => this.pods(component),
      (pods) => pods.length === count && pods.every(({ ready, ending }) => ready && !ending),
    );
  }

  async get(path: string): Promise<KubeAnswer['body']> {
    const { status, body } = await this.node.client.call('GET', path);
    if (status !== 200) throw new Error(`${path} answers ${status}`);
    return body;
  }

  async key(name: string, namespace = 'team-a'): Promise<string> {
    const { data } = await this.get(`/api/v1/namespaces/${namespace}/secrets/${name}-key`);
    return Buffer.from(data.apiKey, 'base64').toString();
  }

  async memory(): Promise<[string, number][]> {
    const text = String(await this.get('/api/v1/nodes/node1/proxy/metrics/resource'));
    return [
      ...text.matchAll(
        /^container_memory_working_set_bytes\{container="([^"]+)",namespace="([^"]+)",pod="([^"]+)"\} (\S+)/gm,
      ),
    ]
      .filter(([, , namespace]) => namespace === NAMESPACE)
      .map(([, container, , pod, bytes]) => [`${pod} ${container}`, Math.round(Number(bytes) / 2 ** 20)]);
  }

  close(): Promise<void> {
    return this.node.stop();
  }
}

function podOf({ metadata, status }: KubeAnswer['body']): Pod {
  const [container] = status.containerStatuses ?? [];
  const ready = status.conditions?.find(({ type }: { type: string }) => type === 'Ready');
  return {
    name: metadata.name,
    component: metadata.labels['app.kubernetes.io/component'] ?? '',
    containerId: container?.containerID ?? '',
    restarts: container?.restartCount ?? 0,
    ready: ready?.status === 'True',
    ending: metadata.deletionTimestamp !== undefined,
    readyAfterSeconds: (Date.parse(ready?.lastTransitionTime) - Date.parse(metadata.creationTimestamp)) / 1000,
  };
}

/** Runs the commands of the chart's notes, on a free port of this machine; resolves with the response. */
export async function makeFirstCall(release: ClusterRelease): Promise<unknown> {
  const commands = firstCallCommands(await release.helm('get', 'notes', RELEASE));
  const port = String(await freePort());
  const said = await release.node.bash(
    commands.replace(' 8080:', ` ${port}:`).replace('127.0.0.1:8080', `127.0.0.1:${port}`),
  );
  return JSON.parse(said.slice(said.lastIndexOf('\n{') + 1));
}

/** kill -9; resolves with the time of the kill once the pod is ready again, with a new container. */
export async function killPod(release: ClusterRelease, pod: Pod | undefined): Promise<number> {
  if (!pod) throw new Error('there is no pod to kill');
  const killedMs = Date.now();
  await release.node.killContainer(pod.containerId);
  await eventually(
    `${pod.name} is back`,
    async () => (await release.pods()).find(({ name }) => name === pod.name),
    (now) => now !== undefined && now.restarts > pod.restarts && now.ready,
  );
  return killedMs;
}

/** The operators' Lease. */
export async function operatorLease(
  release: ClusterRelease,
): Promise<{ readonly holderIdentity: string; readonly renewTime: string }> {
  return (await release.get(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${RELEASE}-operator`)).spec;
}

/** kubectl rollout of a component's Deployment. */
export async function rollout(
  release: ClusterRelease,
  verb: string,
  component: string,
  ...args: readonly string[]
): Promise<void> {
  const deployment = component === 'dataplane' ? RELEASE : `${RELEASE}-${component}`;
  await release.node.kubectl('rollout', verb, `deployment/${deployment}`, '--namespace', NAMESPACE, ...args);
}

export async function installDefinitions(release: ClusterRelease): Promise<void> {
  await release.helm('install', 'model-gateway-crds', CRDS_CHART);
}

/** Polls; rejects with the last value. */
export async function eventually<T>(what: string, look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  const deadline = Date.now() + WITHIN_MS;
  for (;;) {
    const seen = await look();
    if (holds(seen)) return seen;
    if (Date.now() > deadline)
      throw new Error(`${what}: not within ${WITHIN_MS / 1000} s; seen last: ${JSON.stringify(seen)?.slice(0, 2000)}`);
    await delay(POLL_MS);
  }
}
