/** Objects as an API server has them now. */
import type { Condition, Kind, Resource } from '#crds/types.gen.ts';

/** Identifies one object, which another one of the same name does not have. */
export interface ObjectRef<K extends string = string> {
  readonly kind: K;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** One version of an object of the five kinds. */
export interface ObjectVersion extends ObjectRef<Kind> {
  readonly resourceVersion: string;
}

/** An object's status, and the version it belongs to. */
export interface LiveObject<Status = NonNullable<Resource['status']>> extends ObjectVersion {
  readonly status: Status;
}

/** The status of any kind. */
export interface StatusBody {
  readonly conditions?: readonly Condition[];
  readonly [field: string]: unknown;
}
