/** Kubernetes' own kinds as JSON: client-node's models, with times as strings. */
import type {
  EventsV1Event,
  V1ConfigMap,
  V1EndpointSlice,
  V1Lease,
  V1ObjectMeta,
  V1Secret,
} from '@kubernetes/client-node';

type Serialized<T> = T extends Date ? string : T extends object ? { readonly [Key in keyof T]: Serialized<T[Key]> } : T;

/** The metadata of an object from the API server, which always has a name. */
export type ObjectMeta = Serialized<V1ObjectMeta> & { readonly name: string };
/** An object of any kind. */
export interface KubeObject {
  readonly metadata: ObjectMeta;
}
export type Lease = Serialized<V1Lease> & KubeObject;
export type Secret = Serialized<V1Secret>;
export type ConfigMap = Serialized<V1ConfigMap>;
export type Event = Serialized<EventsV1Event>;
type Slice = Serialized<V1EndpointSlice>;
/** Go writes a list without entries as null. */
export interface EndpointSlice extends KubeObject {
  readonly endpoints?: Slice['endpoints'] | null;
  readonly ports?: Slice['ports'] | null;
}
