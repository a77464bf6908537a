/**
 * [P] What is to be said about one object before it is known whether the proxies have it: translate writes findings,
 * and conditions.ts turns them into the conditions of a status.
 */
import type { Reason, ReasonOf } from '#crds/conditions.ts';
import type {
  AccountStatus, ApiKeyStatus, GroupStatus, Kind, ModelRouteStatus, PriceCatalogStatus, Resource,
} from '#crds/types.gen.ts';

/** One thing that is to be said, with a reason from the closed list. */
export interface Finding<R extends Reason = Reason> {
  readonly reason: R;
  readonly message: string;
}

/** The fields of a status that translate knows: counts, hashes, credit. */
export type StatusFields = Omit<ApiKeyStatus & AccountStatus & GroupStatus & ModelRouteStatus & PriceCatalogStatus,
  | 'conditions' | 'observedGeneration'>;

export interface Findings {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Why the object is not Accepted. Absent: it is. */
  readonly refused?: Finding<ReasonOf<'Accepted'>>;
  /** Accepted, but with a remark that its owner should read. */
  readonly remark?: Finding;
  /** ModelRoute: which Secrets are missing. */
  readonly unresolved?: Finding<ReasonOf<'ResolvedRefs'>>;
  /** Accepted and as far as possible in force, but not all that its spec says. */
  readonly notReady?: Finding<ReasonOf<'Ready'>>;
  /** ModelRoute: which models have no price. */
  readonly unpriced?: Finding<ReasonOf<'UnpricedModels'>>;
  readonly fields: StatusFields;
  /** Whether the proxies are given anything of it. */
  readonly published: boolean;
}

/** Findings that say nothing but whose they are. */
export function findingsOf({ kind, metadata }: Pick<Resource, 'kind' | 'metadata'>): Findings {
  const { namespace, name, uid = `${namespace}/${name}`, generation = 0 } = metadata;
  return { kind, namespace, name, uid, generation, fields: {}, published: false };
}
