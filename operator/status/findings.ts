/**
 * [P] What translate finds about one object, independent of the proxies; conditions.ts turns findings into conditions.
 */
import type { Reason, ReasonOf } from '#crds/conditions.ts';
import type { Kind, Resource } from '#crds/types.gen.ts';
import { compareNamed, compareText } from '#snapshot/sorted.ts';

/** A reason from the closed list with a message. */
export interface Finding<R extends Reason = Reason> {
  readonly reason: R;
  readonly message: string;
}

/** The fields of a status that translate knows: counts, hashes, credit. */
export type StatusFields = Omit<AllOf<NonNullable<Resource['status']>>, 'conditions' | 'observedGeneration'>;

/** The intersection of a union's members. */
type AllOf<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void ? I : never;

export interface Findings {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Why the object is not Accepted; absent if it is. */
  readonly refused?: Finding<ReasonOf<'Accepted'>>;
  /** A message for the owner of an accepted object. */
  readonly remark?: Finding;
  /** ModelRoute: which Secrets are missing. */
  readonly unresolved?: Finding<ReasonOf<'ResolvedRefs'>>;
  /** Accepted, but only partly in force. */
  readonly notReady?: Finding<ReasonOf<'Ready'>>;
  /** ModelRoute: which models have no price. */
  readonly unpriced?: Finding<ReasonOf<'UnpricedModels'>>;
  /** ModelRoute: which drained channels are all that could serve. */
  readonly allDrained?: Finding<ReasonOf<'AllChannelsDrained'>>;
  /** ModelRoute: which models have other limits in another route. */
  readonly limitsDiffer?: Finding<ReasonOf<'LimitsDiffer'>>;
  /** ModelRoute: the names of the channels that have a credential and are not drained. */
  readonly usableChannels?: readonly string[];
  /** ModelRoute: a channel signs in at a cloud. Absent: no channel does. */
  readonly signsIn?: boolean;
  /** ApiKey: the name of its Account, which is in the same namespace. */
  readonly account?: string;
  readonly fields: StatusFields;
  /** True if any part of it is published to the proxies. */
  readonly published: boolean;
}

/** Orders findings by kind, namespace and name. */
export function compareFindings(a: Findings, b: Findings): number {
  return compareText(a.kind, b.kind) || compareNamed(a, b);
}

/** Empty findings of an object. */
export function findingsOf({ kind, metadata }: Pick<Resource, 'kind' | 'metadata'>): Findings {
  const { namespace, name, uid = `${namespace}/${name}`, generation = 0 } = metadata;
  return { kind, namespace, name, uid, generation, fields: {}, published: false };
}
