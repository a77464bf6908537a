/** A node with a release of the chart on it, and what the tests ask of both. */
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
/** Of the official image, which the chart's values name. */
const VALKEY_USER = 999;
/** Known beforehand, so that its pod need not wait for a second look of the scheduler's. */
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

export interface World {
  readonly node: KubeNode;
  /**
   * Where calls come in: the Envoys as callers outside the cluster reach them, and the proxies by a Service of their
   * own.
   */
  urls(): Promise<Readonly<Record<Entrance, string>>>;
  helm(...args: readonly string[]): Promise<string>;
  install(): Promise<void>;
  /** Of the gateway's namespace; of one component where it is named. */
  pods(component?: string): Promise<Pod[]>;
  /** Resolves once so many pods of a component are ready, and no others are there. */
  settled(component: string, count: number): Promise<Pod[]>;
  get(path: string): Promise<KubeAnswer['body']>;
  /** The key of an ApiKey, by default of team-a. */
  key(name: string, namespace?: string): Promise<string>;
  /** What containers of the gateway's namespace hold in memory, in MiB, by pod and container. */
  memory(): Promise<readonly (readonly [container: string, mebibytes: number])[]>;
  close(): Promise<void>;
}

export type Entrance = 'edge' | 'direct';
export const ENTRANCES = ['edge', 'direct'] as const;

/** Undefined where the suite can run. */
export async function worldMissing(): Promise<string | undefined> {
  const needs = [await needHelm(), await needEnvoy(), await need('valkey')];
  return needs.map(({ skip }) => skip).find((skip) => skip !== false) || await kubeNodeMissing();
}

/** A node with all images and a namespace that lets in what is restricted; nothing is installed. */
export async function openWorld(): Promise<World> {
  const node = await startKubeNode(await images());
  try {
    await node.kubectl('create', 'namespace', NAMESPACE);
    await node.kubectl('label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted');
    const path = await node.volumeFolder('valkey', VALKEY_USER);
    await node.client.call('POST', '/api/v1/persistentvolumes', {
      metadata: { name: 'valkey' }, spec: {
        capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain',
        claimRef: CLAIM, hostPath: { path, type: 'Directory' },
      },
    });
    return new ReleasedWorld(node, (await needHelm()).path);
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
export async function packagedChart(world: World, version: string): Promise<string> {
  const { folder } = world.node;
  await world.helm('package', CHART, '--version', version, '--app-version', version, '--destination', folder);
  return join(folder, `model-gateway-${version}.tgz`);
}

class ReleasedWorld implements World {
  readonly node: KubeNode;
  readonly #helm: string;

  constructor(node: KubeNode, helm: string) {
    this.node = node;
    this.#helm = helm;
  }

  async urls(): Promise<Readonly<Record<Entrance, string>>> {
    const { spec: { clusterIP } } = await this.get(`/api/v1/namespaces/${NAMESPACE}/services/direct`);
    const { spec: { ports: [{ nodePort }] } } = await this.get(`/api/v1/namespaces/${NAMESPACE}/services/${RELEASE}`);
    return { edge: `http://${this.node.address}:${nodePort}`, direct: `http://${clusterIP}` };
  }

  helm(...args: readonly string[]): Promise<string> {
    return runHelmAt({ path: this.#helm, skip: false }, this.node.kubeconfig, [...args, '--namespace', NAMESPACE]);
  }

  async install(): Promise<void> {
    try {
      await this.helm('install', RELEASE, CHART, '--values', VALUES, '--wait', '--timeout', `${WITHIN_MS / 1000}s`);
    } catch (error) {
      throw new Error(
        [error instanceof Error ? error.message : String(error), ...await this.#say()].join('\n'), { cause: error },
      );
    }
  }

  /** What pods and events say. */
  async #say(): Promise<string[]> {
    const said = [];
    for (const args of [['get', 'pods', '-o', 'wide'], [
      'get', 'events', '--field-selector', 'type!=Normal',
    ], ['logs', '--tail=5', '--prefix', '-l', 'app.kubernetes.io/name=model-gateway']]) {
      said.push(await this.node.kubectl(...args, '--namespace', NAMESPACE).catch(String));
    }
    return said;
  }

  async pods(component?: string): Promise<Pod[]> {
    const { items } = await this.get(`/api/v1/namespaces/${NAMESPACE}/pods`);
    return (items as KubeAnswer['body'][]).map(podOf).filter((pod) => component === undefined ||
      pod.component === component);
  }

  settled(component: string, count: number): Promise<Pod[]> {
    return eventually(`${count} pods of ${component} are ready`, () =>
      this.pods(component), (pods) => pods.length === count && pods.every(({ ready, ending }) => ready && !ending));
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
    return [...text.matchAll(
      /^container_memory_working_set_bytes\{container="([^"]+)",namespace="([^"]+)",pod="([^"]+)"\} (\S+)/gm,
    )]
      .filter(([, , namespace]) => namespace === NAMESPACE).map(([, container, , pod, bytes]) =>
        [`${pod} ${container}`, Math.round(Number(bytes) / 2 ** 20)]);
  }

  close(): Promise<void> {
    return this.node.stop();
  }
}

function podOf({ metadata, status }: KubeAnswer['body']): Pod {
  const [container] = status.containerStatuses ?? [];
  const ready = status.conditions?.find(({ type }: { type: string }) => type === 'Ready');
  return {
    name: metadata.name, component: metadata.labels['app.kubernetes.io/component'] ?? '',
    containerId: container?.containerID ?? '', restarts: container?.restartCount ?? 0,
    ready: ready?.status === 'True', ending: metadata.deletionTimestamp !== undefined,
    readyAfterSeconds: (Date.parse(ready?.lastTransitionTime) - Date.parse(metadata.creationTimestamp)) / 1000,
  };
}

/** Runs what the chart's notes print, on a free port of this machine; resolves with the answer. */
export async function makeFirstCall(world: World): Promise<unknown> {
  const commands = firstCallCommands(await world.helm('get', 'notes', RELEASE));
  const port = String(await freePort());
  const said = await world.node.bash(
    commands.replace(' 8080:', ` ${port}:`).replace('127.0.0.1:8080', `127.0.0.1:${port}`),
  );
  return JSON.parse(said.slice(said.lastIndexOf('\n{') + 1));
}

/** kill -9; resolves with the time of the kill once the pod is ready again, with a new container. */
export async function killPod(world: World, pod: Pod | undefined): Promise<number> {
  if (!pod) throw new Error('there is no pod to kill');
  const killedMs = Date.now();
  await world.node.killContainer(pod.containerId);
  await eventually(`${pod.name} is back`, async () => (await world.pods()).find(({ name }) => name === pod.name),
    (now) => now !== undefined && now.restarts > pod.restarts && now.ready);
  return killedMs;
}

/** The operators' Lease. */
export async function operatorLease(
  world: World,
): Promise<{ readonly holderIdentity: string; readonly renewTime: string }> {
  return (await world.get(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${RELEASE}-operator`)).spec;
}

/** kubectl rollout of a component's Deployment. */
export async function rollout(
  world: World, verb: string, component: string, ...args: readonly string[]
): Promise<void> {
  const deployment = component === 'dataplane' ? RELEASE : `${RELEASE}-${component}`;
  await world.node.kubectl('rollout', verb, `deployment/${deployment}`, '--namespace', NAMESPACE, ...args);
}

export async function installDefinitions(world: World): Promise<void> {
  await world.helm('install', 'model-gateway-crds', CRDS_CHART);
}

/** Looks again and again; rejects with what it saw last. */
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
