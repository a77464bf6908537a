/**
 * Marks in the statuses of a gateway's objects that it was removed: Ready and Programmed become Unknown, and everything
 * else keeps its last value. It runs when no operator writes these statuses any more: by hand or as a Job after the
 * gateway was removed, and in the leading operator whose own namespace is being deleted.
 */
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import { isTenantKind } from '#crds/kinds.ts';
import type { Condition, Kind } from '#crds/types.gen.ts';
import type { KubeClient } from '#kube/client.ts';
import { pathOfKind } from '#kube/parse-object.ts';
import { createStatusClient } from '#kube/status-client.ts';
import { formatTime } from '../status/conditions.ts';
import { partOf } from '../status/differences.ts';
import type { StatusBody } from '#objects/live-object.ts';

export interface RetireOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  /** The namespaces to search; absent: all. */
  readonly namespaces?: readonly string[];
  readonly nowMs: number;
  /** Absent: all. */
  readonly kinds?: readonly Kind[];
}

/** The fields of an object that may have a status. */
interface ListedObject {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly gatewayNamespace?: string };
  readonly status?: StatusBody;
}

interface ObjectPage {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly ListedObject[];
}

const PAGE = 500;
const WRITES_AT_ONCE = 16;
const GATEWAY_REMOVED = { reason: 'GatewayRemoved', message: REASONS.GatewayRemoved } as const;
const RETIRED_CONDITIONS: ReadonlySet<string> = new Set(['Ready', 'Programmed']);

/**
 * Resolves with the number of updated objects; those that are being deleted stay as they are. An object that cannot be
 * written does not keep the others from being updated. Rejects with the first problem, a KubeError or KubeUnreachable.
 */
export async function retireObjects(options: RetireOptions): Promise<number> {
  const statuses = createStatusClient({ ...options, leading: () => true, onWritten: () => undefined });
  const problems: unknown[] = [];
  let written = 0;
  const retire = async (kind: Kind, { metadata, status }: ListedObject): Promise<void> => {
    if (!status || metadata.deletionTimestamp !== undefined) return;
    const retired = retiredStatus(status, options.nowMs);
    if (!retired) return;
    const outcome = await statuses.apply({ kind, ...metadata }, 'operator', partOf(retired, 'operator'));
    if (outcome === 'Written') written += 1;
  };
  for (const kind of options.kinds ?? CONDITIONS.Ready.kinds) {
    for await (const objects of ownObjects(kind, options)) {
      for (let at = 0; at < objects.length; at += WRITES_AT_ONCE)
        await Promise.all(
          objects.slice(at, at + WRITES_AT_ONCE).map((object) =>
            retire(kind, object).catch((error: unknown) => {
              problems.push(error);
            }),
          ),
        );
    }
  }
  if (problems.length > 0) throw problems[0];
  return written;
}

/** The status with Ready and Programmed as Unknown; undefined if they are already. */
function retiredStatus(status: StatusBody, nowMs: number): StatusBody | undefined {
  const { conditions = [] } = status;
  const isUntrue = ({ type, status: state }: Condition): boolean => RETIRED_CONDITIONS.has(type) && state !== 'Unknown';
  if (!conditions.some(isUntrue)) return undefined;
  const lastTransitionTime = formatTime(nowMs);
  return {
    ...status,
    conditions: conditions.map((condition) =>
      isUntrue(condition) ? { ...condition, ...GATEWAY_REMOVED, status: 'Unknown', lastTransitionTime } : condition,
    ),
  };
}

/** The gateway's objects, in pages: those in its namespace, and ApiKeys and Accounts in any namespace that name it. */
async function* ownObjects(
  kind: Kind,
  { client, gatewayNamespace, namespaces }: RetireOptions,
): AsyncGenerator<readonly ListedObject[]> {
  const anywhere = isTenantKind(kind);
  const places = anywhere ? (namespaces ?? [undefined]) : [gatewayNamespace];
  for (const place of places) {
    for await (const page of pagesOf(client, pathOfKind(kind, place)))
      yield page.filter(({ spec }) => !anywhere || spec.gatewayNamespace === gatewayNamespace);
  }
}

async function* pagesOf(client: Pick<KubeClient, 'request'>, path: string): AsyncGenerator<readonly ListedObject[]> {
  let next = '';
  do {
    const query = new URLSearchParams({ limit: String(PAGE), ...(next !== '' && { continue: next }) });
    const page: ObjectPage = await client.request({ method: 'GET', path: `${path}?${query.toString()}` });
    yield page.items;
    next = page.metadata.continue ?? '';
  } while (next !== '');
}
