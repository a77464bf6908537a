/**
 * [P] Reviews an AdmissionReview of a pod: whether the pod requests a sidecar, with which key, and the patch that
 * injects it. A pod that requests a sidecar and cannot have one is denied with advice, because its app would fail later
 * with less information.
 */
import { isJsonObject } from '#crds/json.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { KEY_ENTRY, secretNameOf } from '#objects/key-secret.ts';
import { inject } from './inject.ts';
import type { InjectionPlan } from './inject.ts';
import type { PatchOperation } from './json-patch.ts';
import { API_KEY_ANNOTATION, INJECT_LABEL } from './pod.ts';
import type { Pod } from './pod.ts';

/** The part of admission.k8s.io/v1 that is read. */
interface ReviewRequest {
  readonly uid: string;
  readonly namespace: string;
  readonly pod: Pod;
}

export interface ReviewContext extends Omit<InjectionPlan, 'secret'> {
  readonly gatewayNamespace: string;
  /** Reads the ApiKey from the API server; undefined if there is none. Rejects if the server cannot be asked. */
  readonly findApiKey: (namespace: string, name: string) => Promise<ApiKey | undefined>;
}

/** injected; unchanged: nothing to do; skipped: the pod cannot have a sidecar, and starts without one; denied. */
export type ReviewOutcome = 'injected' | 'unchanged' | 'skipped' | 'denied';

export interface ReviewResult {
  readonly outcome: ReviewOutcome;
  readonly patch?: readonly PatchOperation[];
  /** Shown by kubectl. */
  readonly warnings?: readonly string[];
  /** Why the pod is denied. */
  readonly message?: string;
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Rejects only if the ApiKey cannot be read. */
export async function review({ namespace, pod }: ReviewRequest, context: ReviewContext): Promise<ReviewResult> {
  if (pod.metadata?.labels?.[INJECT_LABEL] !== 'true') return { outcome: 'unchanged' };
  const unsupported = whyUnsupported(pod);
  if (unsupported !== undefined)
    return { outcome: 'skipped', warnings: [`no Model Gateway sidecar was injected: ${unsupported}`] };
  const name = pod.metadata.annotations?.[API_KEY_ANNOTATION];
  if (name === undefined)
    return denied(
      `the label ${INJECT_LABEL} requests a sidecar, but there is no annotation ${API_KEY_ANNOTATION}. Add it ` +
        'with the name of an ApiKey of this namespace, or remove the label.',
    );
  if (!NAME.test(name))
    return denied(`the annotation ${API_KEY_ANNOTATION} must be the name of an ApiKey of this namespace.`);
  const apiKey = await context.findApiKey(namespace, name);
  if (!apiKey)
    return denied(
      `the ApiKey ${name} does not exist in the namespace ${namespace}. Create it; a Deployment or Job then ` +
        'retries by itself.',
    );
  return reviewWith(pod, apiKey, context);
}

function reviewWith(pod: Pod, apiKey: ApiKey, context: ReviewContext): ReviewResult {
  // another gateway of the cluster has its own webhook
  if (apiKey.spec.gatewayNamespace !== context.gatewayNamespace) return { outcome: 'unchanged' };
  const injection = inject(pod, { ...context, secret: { name: secretNameOf(apiKey), entry: KEY_ENTRY } });
  if ('problems' in injection) return denied(`${injection.problems.join('; ')}.`);
  return injection.patch.length === 0
    ? { outcome: 'unchanged' }
    : { outcome: 'injected', patch: injection.patch, warnings: warningsFor(apiKey) };
}

function denied(message: string): ReviewResult {
  return { outcome: 'denied', message: `Model Gateway: ${message}` };
}

/** The annotation that the kubelet adds to the mirror of a static pod. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** Why this kind of pod cannot have a sidecar. */
function whyUnsupported({ metadata, spec }: Pod): string | undefined {
  if (metadata?.annotations?.[MIRROR_ANNOTATION] !== undefined) return 'mirror pods of static pods cannot be changed';
  if (spec.hostNetwork)
    return 'the pod uses the network of the node, where every process of the node could use the key';
  if (spec.os?.name === 'windows') return 'Windows is not supported';
  return undefined;
}

/** Why the key does not work now; the pod may start nevertheless. */
function warningsFor({ metadata, spec, status }: ApiKey): string[] {
  if (!spec.enabled) return [`the ApiKey ${metadata.name} is disabled: its calls are refused until it is enabled`];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'False') return [`the ApiKey ${metadata.name} is not ready: ${ready.message}`];
  return [];
}

/** Parses an AdmissionReview; undefined if it is not one about a new pod. */
export function parseReview(body: unknown): ReviewRequest | { readonly uid: string } | undefined {
  const { apiVersion, kind, request } = isJsonObject(body) ? body : {};
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview' || !isJsonObject(request)) return undefined;
  const { uid, namespace, operation, object } = request;
  if (typeof uid !== 'string') return undefined;
  return operation === 'CREATE' && typeof namespace === 'string' && NAME.test(namespace) && isPod(object)
    ? { uid, namespace, pod: object }
    : { uid };
}

/** Only distinguishes a pod from other kinds, because the API server has validated it. */
function isPod(object: unknown): object is Pod {
  return (
    isJsonObject(object) &&
    object['kind'] === 'Pod' &&
    isJsonObject(object['spec']) &&
    Array.isArray(object['spec']['containers'])
  );
}

/** Formats the AdmissionReview response. */
export function formatReview(uid: string, { outcome, patch, warnings = [], message = '' }: ReviewResult): object {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: outcome !== 'denied',
      ...(patch ? { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') } : {}),
      ...(warnings.length > 0 ? { warnings } : {}),
      ...(outcome === 'denied' ? { status: { code: 403, reason: 'Forbidden', message } } : {}),
    },
  };
}
