/**
 * [P] Injects the sidecar into a pod, as a JSON Patch. It is a native sidecar (an init container with restartPolicy
 * Always) in front of all other init containers, so that it serves them too, ends after the app and does not keep a Job
 * from completing. An injected sidecar is recognised and replaced, so that injecting twice has the same result.
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
  /** The certificate authorities of the fleet (PEM); undefined: those of Node.js. */
  readonly authorities: string | undefined;
}

type Injection = { readonly patch: readonly PatchOperation[] } | { readonly problems: readonly string[] };

const KEY_FOLDER = '/var/run/secrets/modelgateway.dev/key';
const KEY_FILE = 'apiKey';
/** A placeholder without which SDKs send nothing; it gives no access. */
const NO_KEY = 'model-gateway-sidecar';
/** Readable for any user the sidecar runs as; only the sidecar mounts it. */
const KEY_MODE = 0o444;

/** Returns no operation if the pod needs no change. */
export function inject(pod: Pod, plan: InjectionPlan): Injection {
  const result = readOverrides(pod.metadata?.annotations ?? {});
  if ('problems' in result) return result;
  const { overrides } = result;
  const problems = portAndNameConflicts(pod, overrides);
  return problems.length > 0 ? { problems } : { patch: jsonPatch(pod, injected(pod, plan, overrides)) };
}

/** Ports and names of the pod that conflict with the sidecar's. */
function portAndNameConflicts({ metadata, spec }: Pod, { port, adminPort }: Overrides): string[] {
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const others = all.filter(({ name }) => name !== SIDECAR_CONTAINER);
  const problems = others.flatMap(({ name, ports }) =>
    [port, adminPort].flatMap((wanted) =>
      ports?.some(({ containerPort }) => containerPort === wanted)
        ? [
            `the container ${name} uses port ${wanted} of the sidecar; set another port with the annotation ` +
              `${OVERRIDE_PREFIX}${wanted === port ? '' : 'admin-'}port`,
          ]
        : [],
    ),
  );
  if (spec.containers.some(({ name }) => name === SIDECAR_CONTAINER))
    problems.push(`a container has the name ${SIDECAR_CONTAINER} of the sidecar`);
  if (metadata?.annotations?.[INJECTED_ANNOTATION] !== undefined) return problems;
  if (spec.initContainers?.some(({ name }) => name === SIDECAR_CONTAINER))
    problems.push(`an init container has the name ${SIDECAR_CONTAINER} of the sidecar`);
  if (spec.volumes?.some(({ name }) => name === KEY_VOLUME))
    problems.push(`a volume has the name ${KEY_VOLUME} of the volume of the sidecar`);
  return problems;
}

function injected(pod: Pod, plan: InjectionPlan, overrides: Overrides): Pod {
  const { metadata, spec } = pod;
  const { initContainers = [], containers, volumes = [] } = spec;
  const known = initContainers.findIndex(({ name }) => name === SIDECAR_CONTAINER);
  // if another webhook has put a container in front, that stays: two webhooks that both want the first place would
  // never finish
  const at = Math.max(known, 0);
  const served = (container: Container): Container => withAddress(container, overrides.port);
  const rest = initContainers.filter((_, index) => index !== known);
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [INJECTED_ANNOTATION]: 'true' } },
    spec: {
      ...spec,
      // keep the fields that the API server has filled in meanwhile
      initContainers: [
        ...rest.slice(0, at),
        { ...initContainers[known], ...sidecar(plan, overrides) },
        ...rest.slice(at).map(served),
      ],
      containers: containers.map(served),
      volumes: withVolume(volumes, {
        name: KEY_VOLUME,
        secret: {
          secretName: plan.secret.name,
          defaultMode: KEY_MODE,
          items: [{ key: plan.secret.entry, path: KEY_FILE }],
        },
      }),
    },
  };
}

/** Replaces the volume of the same name, or appends it. */
function withVolume(volumes: readonly Volume[], volume: Volume): readonly Volume[] {
  return volumes.some(({ name }) => name === volume.name)
    ? volumes.map((each) => (each.name === volume.name ? volume : each))
    : [...volumes, volume];
}

/**
 * Adds the variables by which an app finds the sidecar. The pod's own variables take precedence; if it has an address
 * of its own, its key is not touched.
 */
function withAddress(container: Container, port: number): Container {
  const env = [...(container.env ?? [])];
  for (const [address, key, url] of [
    ['OPENAI_BASE_URL', 'OPENAI_API_KEY', `http://127.0.0.1:${port}/v1`],
    ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY', `http://127.0.0.1:${port}`],
  ] as const) {
    const own = env.find(({ name }) => name === address);
    if (!own) env.push({ name: address, value: url });
    if ((!own || own.value === url) && !env.some(({ name }) => name === key)) env.push({ name: key, value: NO_KEY });
  }
  return env.length === (container.env?.length ?? 0) ? container : { ...container, env };
}

function sidecar({ settings, authorities }: InjectionPlan, overrides: Overrides): Container {
  const { image, imagePullPolicy, securityContext } = settings;
  const probe = (path: string, periodSeconds: number, failureThreshold: number): object => ({
    httpGet: {
      path,
      port: overrides.adminPort,
      scheme: 'HTTP',
    },
    periodSeconds,
    failureThreshold,
    timeoutSeconds: 5,
    successThreshold: 1,
  });
  return {
    name: SIDECAR_CONTAINER,
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    restartPolicy: 'Always',
    args: ['dataplane', '--sidecar'],
    env: environment(settings, authorities, overrides),
    ports: [{ name: 'mgw-admin', containerPort: overrides.adminPort, protocol: 'TCP' }],
    // the containers after it wait for this probe
    startupProbe: probe('/readyz', 1, 120),
    readinessProbe: probe('/readyz', 5, 3),
    livenessProbe: probe('/healthz', 10, 5),
    resources: resources(settings.resources, overrides),
    securityContext,
    volumeMounts: [{ name: KEY_VOLUME, mountPath: KEY_FOLDER, readOnly: true }],
  };
}

function environment(
  { fleet, logLevel, ipv6, env }: SidecarSettings,
  authorities: string | undefined,
  overrides: Overrides,
): EnvVar[] {
  return [
    { name: 'MGW_FLEET', value: fleet },
    ...(authorities === undefined ? [] : [{ name: 'MGW_FLEET_CA', value: authorities }]),
    { name: 'MGW_KEY_FILE', value: `${KEY_FOLDER}/${KEY_FILE}` },
    { name: 'MGW_LISTEN', value: `127.0.0.1:${overrides.port}` },
    // on all addresses, because the kubelet's probes and Prometheus come from outside of the pod
    { name: 'MGW_ADMIN', value: `${ipv6 ? '[::]' : ''}:${overrides.adminPort}` },
    { name: 'MGW_LOG_LEVEL', value: overrides.logLevel ?? logLevel },
    ...env,
  ];
}

function resources(common: SidecarSettings['resources'], { requests, limits }: Overrides): object {
  const merged = (name: string, own: object): object => {
    const given = common[name];
    const all = { ...(isJsonObject(given) ? given : {}), ...own };
    return Object.keys(all).length === 0 ? {} : { [name]: all };
  };
  return { ...common, ...merged('requests', requests), ...merged('limits', limits) };
}
