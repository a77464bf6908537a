/**
 * [P] The sidecar's way into a pod: inject(pod, plan) → JSON Patch. The sidecar is a native one (an init container that
 * is restarted always), before all other init containers, so that it serves them too, ends after the app and does not
 * keep a Job from completing. What was injected is recognised and made anew in its place: to inject twice is to inject
 * once.
 */
import { isJsonObject } from '#crds/json.ts';
import { jsonPatch } from './json-patch.ts';
import type { PatchOperation } from './json-patch.ts';
import { readOverrides } from './overrides.ts';
import type { Overrides } from './overrides.ts';
import { INJECTED_ANNOTATION, KEY_VOLUME, OVERRIDE_PREFIX, SIDECAR_CONTAINER } from './pod.ts';
import type { Container, EnvVar, Pod, Volume } from './pod.ts';
import type { SidecarSettings } from './settings.ts';

export interface InjectionPlan {
  readonly settings: SidecarSettings;
  /** The Secret with the key, and its entry. */
  readonly secret: { readonly name: string; readonly entry: string };
  /** The authorities of the fleet's certificate, PEM; undefined: those that Node.js knows. */
  readonly authorities: string | undefined;
}

type Injection = { readonly patch: readonly PatchOperation[] } | { readonly problems: readonly string[] };

const KEY_FOLDER = '/var/run/secrets/modelgateway.dev/key';
const KEY_FILE = 'apiKey';
/** What SDKs insist on having before they send anything; it opens nothing. */
const NO_KEY = 'model-gateway-sidecar';
/** Readable by whatever user the sidecar runs as; it is mounted nowhere else. */
const KEY_MODE = 0o444;

/** No operation where the pod is as it should be. */
export function inject(pod: Pod, plan: InjectionPlan): Injection {
  const result = readOverrides(pod.metadata?.annotations ?? {});
  if ('problems' in result) return result;
  const { overrides } = result;
  const problems = portAndNameConflicts(pod, overrides);
  return problems.length > 0 ? { problems } : { patch: jsonPatch(pod, injected(pod, plan, overrides)) };
}

/** Ports and names of the pod that conflict with the sidecar's. */
function portAndNameConflicts({ metadata, spec }: Pod, { port, adminPort }: Overrides): string[] {
  const all = [...spec.initContainers ?? [], ...spec.containers];
  const others = all.filter(({ name }) => name !== SIDECAR_CONTAINER);
  const problems = others.flatMap(({
    name, ports,
  }) => [port, adminPort].flatMap((wanted) => ports?.some(({ containerPort }) => containerPort === wanted)
    ? [`the container ${name} has the port ${wanted}, which the sidecar listens on; choose another one with the ` +
      `annotation ${OVERRIDE_PREFIX}${wanted === port ? '' : 'admin-'}port`] : []));
  if (spec.containers.some(({ name }) => name === SIDECAR_CONTAINER))
    problems.push(`a container has the sidecar's name ${SIDECAR_CONTAINER}`);
  if (metadata?.annotations?.[INJECTED_ANNOTATION] !== undefined) return problems;
  if (spec.initContainers?.some(({ name }) => name === SIDECAR_CONTAINER))
    problems.push(`an init container has the sidecar's name ${SIDECAR_CONTAINER}`);
  if (spec.volumes?.some(({ name }) => name === KEY_VOLUME))
    problems.push(`a volume has the name ${KEY_VOLUME} of the sidecar's`);
  return problems;
}

function injected(pod: Pod, plan: InjectionPlan, overrides: Overrides): Pod {
  const { metadata, spec } = pod;
  const { initContainers = [], containers, volumes = [] } = spec;
  const known = initContainers.findIndex(({ name }) => name === SIDECAR_CONTAINER);
  // where another webhook has put something before it, it stays: two that both want to be first would never end
  const at = Math.max(known, 0);
  const served = (container: Container): Container => withAddress(container, overrides.port);
  const rest = initContainers.filter((_, index) => index !== known);
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [INJECTED_ANNOTATION]: 'true' } },
    spec: {
      ...spec,
      // what the API server has filled in meanwhile stays
      initContainers: [
        ...rest.slice(0, at), { ...initContainers[known], ...sidecar(plan, overrides) }, ...rest.slice(at).map(served),
      ],
      containers: containers.map(served),
      volumes: withVolume(volumes, { name: KEY_VOLUME, secret: {
        secretName: plan.secret.name, defaultMode: KEY_MODE, items: [{ key: plan.secret.entry, path: KEY_FILE }],
      } }),
    },
  };
}

/** In its place, or at the end. */
function withVolume(volumes: readonly Volume[], volume: Volume): readonly Volume[] {
  return volumes.some(({ name }) => name === volume.name)
    ? volumes.map((each) => each.name === volume.name ? volume : each)
    : [...volumes, volume];
}

/**
 * What an app needs to find the sidecar. Whatever the pod says itself counts, and a key of its own beside an address of
 * its own is not touched.
 */
function withAddress(container: Container, port: number): Container {
  const env = [...container.env ?? []];
  for (const [address, key, url] of [[
    'OPENAI_BASE_URL', 'OPENAI_API_KEY', `http://127.0.0.1:${port}/v1`,
  ], ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY', `http://127.0.0.1:${port}`]] as const) {
    const own = env.find(({ name }) => name === address);
    if (!own) env.push({ name: address, value: url });
    if ((!own || own.value === url) && !env.some(({ name }) => name === key)) env.push({ name: key, value: NO_KEY });
  }
  return env.length === (container.env?.length ?? 0) ? container : { ...container, env };
}

function sidecar({ settings, authorities }: InjectionPlan, overrides: Overrides): Container {
  const { image, imagePullPolicy, securityContext } = settings;
  const probe = (path: string, periodSeconds: number, failureThreshold: number): object => ({ httpGet: {
    path, port: overrides.adminPort, scheme: 'HTTP',
  }, periodSeconds, failureThreshold, timeoutSeconds: 5, successThreshold: 1 });
  return {
    name: SIDECAR_CONTAINER,
    image,
    ...imagePullPolicy === undefined ? {} : { imagePullPolicy },
    restartPolicy: 'Always',
    args: ['dataplane', '--sidecar'],
    env: environment(settings, authorities, overrides),
    ports: [{ name: 'mgw-admin', containerPort: overrides.adminPort, protocol: 'TCP' }],
    // the containers after it wait for the first one
    startupProbe: probe('/readyz', 1, 120),
    readinessProbe: probe('/readyz', 5, 3),
    livenessProbe: probe('/healthz', 10, 5),
    resources: resources(settings.resources, overrides),
    securityContext,
    volumeMounts: [{ name: KEY_VOLUME, mountPath: KEY_FOLDER, readOnly: true }],
  };
}

function environment({ fleet, logLevel, ipv6, env }: SidecarSettings, authorities:
  | string | undefined, overrides: Overrides): EnvVar[] {
  return [
    { name: 'MGW_FLEET', value: fleet },
    ...authorities === undefined ? [] : [{ name: 'MGW_FLEET_CA', value: authorities }],
    { name: 'MGW_KEY_FILE', value: `${KEY_FOLDER}/${KEY_FILE}` },
    { name: 'MGW_LISTEN', value: `127.0.0.1:${overrides.port}` },
    // the kubelet's probes and Prometheus come from outside of the pod
    { name: 'MGW_ADMIN', value: `${ipv6 ? '[::]' : ''}:${overrides.adminPort}` },
    { name: 'MGW_LOG_LEVEL', value: overrides.logLevel ?? logLevel },
    ...env,
  ];
}

function resources(common: SidecarSettings['resources'], { requests, limits }: Overrides): object {
  const merged = (name: string, own: object): object => {
    const given = common[name];
    const all = { ...isJsonObject(given) ? given : {}, ...own };
    return Object.keys(all).length === 0 ? {} : { [name]: all };
  };
  return { ...common, ...merged('requests', requests), ...merged('limits', limits) };
}
