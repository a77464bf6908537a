/**
 * [P] The published resources by type and name. A resource's version is a hash of its content, so that all replicas
 * agree on it; it is encoded once, and all streams send the same bytes.
 */
import { createHash } from 'node:crypto';
import { Resource } from '#snapshot/discovery.gen.ts';

interface CachedResource {
  readonly name: string;
  readonly version: string;
  /** An encoded Resource message. */
  readonly encoded: Uint8Array;
}

/** The names of changed resources. Urgent ones are sent before all others. */
export interface ResourceChanges {
  readonly typeUrl: string;
  /** The names of new, changed and removed resources. */
  readonly names: readonly string[];
  readonly urgent: ReadonlySet<string>;
}

/** 80 bits: enough to avoid accidental collisions, and short in logs. */
const VERSION_DIGITS = 20;

export class ResourceCache {
  readonly #types = new Map<string, Map<string, CachedResource>>();
  #bytes = 0;

  get(typeUrl: string, name: string): CachedResource | undefined {
    return this.#types.get(typeUrl)?.get(name);
  }

  all(typeUrl: string): ReadonlyMap<string, CachedResource> {
    return this.#types.get(typeUrl) ?? NONE;
  }

  /** The size of all resources together. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    let size = 0;
    for (const type of this.#types.values()) size += type.size;
    return size;
  }

  /** Sets a resource; undefined removes it. Returns whether it differs from before. */
  set(typeUrl: string, name: string, value: Uint8Array | undefined): boolean {
    const type = this.#typeOf(typeUrl);
    const before = type.get(name);
    if (value === undefined) {
      type.delete(name);
      this.#bytes -= before?.encoded.length ?? 0;
      return before !== undefined;
    }
    const version = createHash('sha256').update(value).digest('hex').slice(0, VERSION_DIGITS);
    if (before?.version === version) return false;
    const encoded = Resource.encode({ name, version, resource: { typeUrl, value } }).finish();
    type.set(name, { name, version, encoded });
    this.#bytes += encoded.length - (before?.encoded.length ?? 0);
    return true;
  }

  #typeOf(typeUrl: string): Map<string, CachedResource> {
    let type = this.#types.get(typeUrl);
    if (!type) this.#types.set(typeUrl, (type = new Map()));
    return type;
  }
}

const NONE: ReadonlyMap<string, CachedResource> = new Map();
