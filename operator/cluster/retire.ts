/**
 * Marks in the statuses of a gateway's objects that it was uninstalled: Ready and Programmed become Unknown, and
 * everything else keeps its last value. It runs after the operators have ended, because nothing else would correct the
 * statuses.
 */
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import type { Condition, Kind } from '#crds/types.gen.ts';
import type { KubeClient } from '../kube/client.ts';
import { pathOfKind } from '../kube/parse-object.ts';
import { createStatusClient } from '../kube/status-client.ts';
import { formatTime } from '../status/conditions.ts';
import { partOf } from '../status/differences.ts';
import type { StatusBody } from '../status/differences.ts';

export interface RetireOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  /** The namespaces to search; absent: all. */
  readonly namespaces?: readonly string[];
  readonly nowMs: number;
}

/** The fields of an object that may have a status. */
interface LiveObject {
  readonly metadata: {
    readonly namespace: string; readonly name: string; readonly uid: string; readonly resourceVersion: string;
  };
  readonly spec: { readonly gatewayNamespace?: string };
  readonly status?: StatusBody;
}

interface ObjectPage {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly LiveObject[];
}

const PAGE = 500;
const RETIRED: ReadonlySet<string> = new Set(['Ready', 'Programmed']);

/** Resolves with the number of updated objects. Rejects with KubeError or KubeUnreachable. */
export async function retireObjects(options: RetireOptions): Promise<number> {
  const statuses = createStatusClient({ ...options, leading: () => true, onWritten: () => undefined });
  let written = 0;
  for (const kind of CONDITIONS.Ready.kinds) {
    for await (const { metadata, status } of ownObjects(kind, options)) {
      const retired = status && retiredStatus(status, options.nowMs);
      if (!retired) continue;
      const outcome = await statuses.apply({ kind, ...metadata }, 'operator', partOf(retired, 'operator'));
      if (outcome === 'Written') written += 1;
    }
  }
  return written;
}

/** The status after the uninstall; undefined if the present one stays true. */
function retiredStatus(status: StatusBody, nowMs: number): StatusBody | undefined {
  const { conditions = [] } = status;
  const isUntrue = ({ type, status: state }: Condition): boolean => RETIRED.has(type) && state !== 'Unknown';
  if (!conditions.some(isUntrue)) return undefined;
  return {
    ...status,
    conditions: conditions.map((condition) => (isUntrue(condition)
      ? {
        ...condition, status: 'Unknown', reason: 'GatewayRemoved', message: REASONS.GatewayRemoved,
        lastTransitionTime: formatTime(nowMs),
      }
      : condition)),
  };
}

/** The gateway's objects: those in its namespace, and ApiKeys and Accounts in any namespace that name it. */
async function* ownObjects(
  kind: Kind, { client, gatewayNamespace, namespaces }: RetireOptions,
): AsyncGenerator<LiveObject> {
  const anywhere = kind === 'ApiKey' || kind === 'Account';
  const places = anywhere ? namespaces ?? [undefined] : [gatewayNamespace];
  for (const place of places) {
    for await (const object of listed(client, pathOfKind(kind, place)))
      if (!anywhere || object.spec.gatewayNamespace === gatewayNamespace) yield object;
  }
}

async function* listed(client: Pick<KubeClient, 'request'>, path: string): AsyncGenerator<LiveObject> {
  let next = '';
  do {
    const query = new URLSearchParams({ limit: String(PAGE), ...next !== '' && { continue: next } });
    const page: ObjectPage = await client.request({ method: 'GET', path: `${path}?${query.toString()}` });
    yield* page.items;
    next = page.metadata.continue ?? '';
  } while (next !== '');
}
