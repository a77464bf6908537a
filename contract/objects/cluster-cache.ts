/**
 * The operator's cache of the cluster for the console: objects with their latest statuses. It does not check who may
 * see them.
 */
import type { Kind, Resource } from '#crds/types.gen.ts';

export interface ClusterCache {
  /** True once everything has been read at least once. */
  readonly isComplete: boolean;
  /** Returns the same list as long as nothing has changed. */
  list<K extends Kind>(kind: K): readonly Extract<Resource, { kind: K }>[];
  /** The namespaces that are known. */
  namespaces(): ReadonlySet<string>;
  /** Waits until a watch has reported this version of an object, or its deletion, but at most two seconds. */
  waitFor(id: string, write: { readonly uid: string; readonly resourceVersion: string | undefined }): Promise<void>;
}
