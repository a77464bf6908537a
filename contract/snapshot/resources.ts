/**
 * [P] How a snapshot is transmitted: each object is one xDS resource of its kind's type, named "namespace/name". Each
 * round of updates ends with a Checkpoint, which describes the complete configuration. So a proxy knows that it has all
 * of it, and detects if the two sides differ.
 */
import { createHash } from 'node:crypto';
import { MESSAGE_NAMES, MESSAGES, SNAPSHOT_KINDS } from './kinds.gen.ts';
import type { SnapshotKind } from './kinds.gen.ts';
import type { Snapshot } from './snapshot.gen.ts';

export type SnapshotField = keyof Snapshot;
export type SnapshotObject = Snapshot[SnapshotField][number];

/** A kind of object as an xDS resource type. */
export interface ResourceType {
  readonly kind: SnapshotKind;
  readonly field: SnapshotField;
  readonly typeUrl: string;
}

const PREFIX = 'type.googleapis.com/modelgateway.snapshot.v1alpha1.';

/** Parents first, which is the order of transmission; removals are sent in the opposite order. */
export const RESOURCE_TYPES: readonly ResourceType[] = SNAPSHOT_KINDS.map(({ kind, field }) => ({
  kind,
  field,
  typeUrl: typeUrlOf(field),
}));

/** The type of a kind of object. */
export function typeUrlOf(field: SnapshotField): string {
  return `${PREFIX}${MESSAGE_NAMES[field]}`;
}

export const CHECKPOINT_TYPE = 'type.googleapis.com/modelgateway.fleet.v1alpha1.Checkpoint';
export const CHECKPOINT_NAME = 'checkpoint';
/** The type of the details of an error_detail. */
export const FAULT_TYPE = 'type.googleapis.com/modelgateway.fleet.v1alpha1.ResourceFault';

interface Codec<M> {
  encode(message: M): { finish(): Uint8Array };
  decode(bytes: Uint8Array): M;
}

const CODECS: { readonly [F in SnapshotField]: Codec<Snapshot[F][number]> } = MESSAGES;

/** Encodes an object; equal objects have equal bytes. */
export function encodeObject<F extends SnapshotField>(field: F, object: Snapshot[F][number]): Uint8Array {
  return CODECS[field].encode(object).finish();
}

/** Throws if the bytes are not an object of this kind. */
export function decodeObject<F extends SnapshotField>(field: F, bytes: Uint8Array): Snapshot[F][number] {
  return CODECS[field].decode(bytes);
}

/** The name of an object's xDS resource. */
export function resourceName({ namespace, name }: Pick<SnapshotObject, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/**
 * A digest of a set of resources that does not depend on their order, updated one resource at a time. It detects
 * accidents, not forgeries, which the connection's TLS prevents.
 */
export class SetDigest {
  #hash = 0n;
  #count = 0;

  add(typeUrl: string, name: string, version: string): void {
    this.#mix(typeUrl, name, version);
    this.#count += 1;
  }

  remove(typeUrl: string, name: string, version: string): void {
    this.#mix(typeUrl, name, version);
    this.#count -= 1;
  }

  get count(): number {
    return this.#count;
  }

  /** 16 hex digits. */
  get text(): string {
    return this.#hash.toString(16).padStart(16, '0');
  }

  #mix(typeUrl: string, name: string, version: string): void {
    const hash = createHash('sha256').update(`${typeUrl}\n${name}\n${version}`).digest();
    this.#hash ^= hash.readBigUInt64BE();
  }
}
