/**
 * Writes statuses by server-side apply. Each owner has a field manager that names the gateway, so that two gateways of
 * one cluster do not overwrite each other's fields.
 */
import { isTenantKind } from '#crds/kinds.ts';
import type { Kind } from '#crds/types.gen.ts';
import { API_VERSION } from '#crds/types.gen.ts';
import type { ObjectVersion } from '#objects/live-object.ts';
import { APPLY_PATCH, JSON_PATCH } from './client.ts';
import type { KubeClient, KubeJson } from './client.ts';
import { hasStatus } from './errors.ts';
import { pathOfKind } from './parse-object.ts';

/** Who owns a part of a status. The field manager's name has it, and then the gateway's namespace. */
export type StatusOwner = 'operator' | 'spending';

/** Gone: the object was deleted. Taken: another gateway's operator owns this status. */
export type WriteOutcome = 'Written' | 'Gone' | 'Taken';

interface StatusClient {
  apply(target: ObjectVersion, owner: StatusOwner, status: object): Promise<WriteOutcome>;
  /** Applies a JSON Patch to exactly the version that was read. */
  remove(target: ObjectVersion, operations: readonly object[]): Promise<WriteOutcome>;
}

interface StatusClientOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  /** Called before each write, because only the leader may write. */
  readonly leading: () => boolean;
  /** Called with the object after the write. */
  readonly onWritten: (kind: Kind, object: KubeJson) => void;
}

export function createStatusClient({
  client,
  gatewayNamespace,
  leading,
  onWritten,
}: StatusClientOptions): StatusClient {
  const pathOf = ({ kind, namespace, name }: ObjectVersion): string => `${pathOfKind(kind, namespace)}/${name}/status`;
  /**
   * True if the gateway owns the object's status. A platform object in another namespace may belong to another gateway,
   * whose fields are not taken over.
   */
  const isOurs = ({ kind, namespace }: ObjectVersion): boolean => isTenantKind(kind) || namespace === gatewayNamespace;

  async function write(
    target: ObjectVersion,
    request: Omit<Parameters<KubeClient['request']>[0], 'method'>,
  ): Promise<WriteOutcome> {
    if (!leading()) throw new Error('this replica is no longer the leader');
    try {
      onWritten(target.kind, await client.request({ method: 'PATCH', ...request }));
      return 'Written';
    } catch (error) {
      if (hasStatus(error, 404)) return 'Gone';
      if (hasStatus(error, 409) && !isOurs(target)) return 'Taken';
      throw error;
    }
  }

  return {
    apply(target, owner, status) {
      const { kind, namespace, name, uid } = target;
      const query = new URLSearchParams({
        fieldManager: `modelgateway-${owner}.${gatewayNamespace}`,
        ...(isOurs(target) && { force: 'true' }),
      });
      return write(target, {
        path: `${pathOf(target)}?${query.toString()}`,
        contentType: APPLY_PATCH,
        // with the uid, so that no other object of this name is written
        body: { apiVersion: API_VERSION, kind, metadata: { name, namespace, uid }, status },
      });
    },
    remove(target, operations) {
      const version = { op: 'test', path: '/metadata/resourceVersion', value: target.resourceVersion };
      return write(target, { path: pathOf(target), contentType: JSON_PATCH, body: [version, ...operations] });
    },
  };
}
