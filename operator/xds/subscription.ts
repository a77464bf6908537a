/**
 * [P] One type on one stream: what the client subscribes to, what it has still to get, what it has not answered yet and what it
 * refused. Nothing is kept of what it holds: that is all of the cache that it subscribes to and that is in none of these lists.
 */
import type { DeltaDiscoveryRequest } from '#snapshot/discovery.gen.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';

/** Urgent ones first, of all types; then new and changed ones, parents first; then gone ones, children first. */
export type Phase = 'urgent' | 'upserts' | 'removals';

/** A response on its way: the version of each resource, '' for a removal. */
export interface Sent {
  readonly versions: ReadonlyMap<string, string>;
  readonly atMs: number;
}

/** A part of what is pending, of a size that fits one message. */
interface Chunk {
  readonly resources: readonly Uint8Array[];
  readonly removed: readonly string[];
  readonly versions: ReadonlyMap<string, string>;
}

export interface Refused {
  readonly version: string;
  readonly message: string;
}

const WILDCARD = '*';
/** Of one response; gRPC clients take 4 MiB by default, and a single object may be large by itself. */
const CHUNK_BYTES = 1024 * 1024;
const GONE = { encoded: new Uint8Array(), version: '' };

export class Subscription {
  readonly typeUrl: string;
  readonly #cache: ResourceCache;
  readonly #names = new Set<string>();
  /** Whether a removal takes something away from callers. */
  readonly #revokes: boolean;
  #wildcard = false;
  #first = true;
  readonly #pending = { urgent: new Set<string>(), upserts: new Set<string>(), removals: new Set<string>() };
  readonly #inFlight = new Map<string, Sent>();
  readonly #refused = new Map<string, Refused>();
  /** A wildcard's first answer is due even where it is empty: the client waits for it. */
  owesAnswer = false;
  /** The client asked for something, which is answered without waiting for its word on earlier responses. */
  asked = false;

  constructor(typeUrl: string, cache: ResourceCache, revokes: boolean) {
    this.typeUrl = typeUrl;
    this.#cache = cache;
    this.#revokes = revokes;
  }

  has(name: string): boolean {
    return this.#wildcard || this.#names.has(name);
  }

  get outstanding(): number { return this.#inFlight.size; }

  get pending(): number {
    return this.#pending.urgent.size + this.#pending.upserts.size + this.#pending.removals.size;
  }

  pendingIn(phase: Phase): number {
    return this.#pending[phase].size;
  }

  /** Whether everything has been sent and answered, refused or not. */
  get quiet(): boolean {
    return this.pending === 0 && this.#inFlight.size === 0 && !this.owesAnswer;
  }

  /** The refusal of the version that is given out now. */
  refusal(name: string): string | undefined {
    const refused = this.#refused.get(name);
    return refused && refused.version === this.#cache.get(this.typeUrl, name)?.version ? refused.message : undefined;
  }

  refusals(): Iterable<string> {
    return this.#refused.keys();
  }

  waiting(name: string): boolean {
    if (this.pending > 0 && (this.#pending.urgent.has(name) || this.#pending.upserts.has(name) || this.#pending.removals.has(name))) return true;
    for (const { versions } of this.#inFlight.values()) if (versions.has(name)) return true;
    return false;
  }

  /** All names that the client does not hold in the version of now. */
  *unsettled(): Iterable<string> {
    for (const names of Object.values(this.#pending)) yield* names;
    for (const { versions } of this.#inFlight.values()) yield* versions.keys();
    yield* this.#refused.keys();
  }

  /** What the client says about its subscription. Counts whatever nonce comes with it. */
  subscribe(request: DeltaDiscoveryRequest): void {
    if (this.#first) return this.#begin(request);
    for (const name of request.resourceNamesSubscribe) this.#add(name);
    for (const name of request.resourceNamesUnsubscribe) this.#remove(name);
    if (request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length > 0 && this.pending > 0) this.asked = true;
  }

  /** Takes note of changes in the cache. */
  change({ names, urgent }: ResourceChanges): void {
    for (const name of names) if (this.has(name)) this.#mark(name, urgent.has(name));
  }

  /** The next part of a phase; undefined: nothing is pending in it. */
  take(phase: Phase): Chunk | undefined {
    const pending = this.#pending[phase];
    if (pending.size === 0) return undefined;
    const resources: Uint8Array[] = [];
    const removed: string[] = [];
    const versions = new Map<string, string>();
    let room = CHUNK_BYTES;
    for (const name of pending) {
      const { encoded, version } = this.#cache.get(this.typeUrl, name) ?? GONE;
      room -= encoded.length + name.length;
      if (versions.size > 0 && room < 0) break;
      pending.delete(name);
      versions.set(name, version);
      if (version === GONE.version) removed.push(name);
      else resources.push(encoded);
    }
    return { resources, removed, versions };
  }

  sent(nonce: string, sent: Sent): void {
    this.#inFlight.set(nonce, sent);
    this.owesAnswer = false;
    if (this.pending === 0) this.asked = false;
  }

  /** The response with this nonce, unless it has been answered or never was. */
  inFlight(nonce: string): Sent | undefined {
    return this.#inFlight.get(nonce);
  }

  /** The client's word on a response: its faults by name; what has none is in force there. */
  settle(nonce: string, faults: ReadonlyMap<string, string>): void {
    const versions = this.#inFlight.get(nonce)?.versions ?? new Map<string, string>();
    this.#inFlight.delete(nonce);
    for (const [name, version] of versions) {
      const message = faults.get(name);
      if (message === undefined) this.#refused.delete(name);
      else this.#refused.set(name, { version, message });
    }
  }

  /** A stream's first request of this type: what the client still holds is compared, and what is gone since then is removed. */
  #begin({ resourceNamesSubscribe: names, initialResourceVersions: known }: DeltaDiscoveryRequest): void {
    this.#first = false;
    this.#wildcard = names.length === 0 || names.includes(WILDCARD);
    for (const name of names) if (name !== WILDCARD) this.#names.add(name);
    this.#compare(new Map(Object.entries(known)));
    this.owesAnswer = this.#wildcard && this.pending === 0;
    this.asked = this.pending > 0;
  }

  #compare(holds: ReadonlyMap<string, string>): void {
    const all = this.#cache.all(this.typeUrl);
    if (this.#wildcard) for (const { name, version } of all.values()) if (holds.get(name) !== version) this.#mark(name, false);
    for (const name of this.#names) if (!all.has(name) || holds.get(name) !== all.get(name)?.version) this.#mark(name, false);
    for (const name of holds.keys()) if (!all.has(name)) this.#mark(name, this.#revokes);
  }

  /** What a client subscribes to is sent even if it has been: it may have forgotten it. */
  #add(name: string): void {
    if (name !== WILDCARD) {
      this.#names.add(name);
      return this.#mark(name, false);
    }
    this.#wildcard = true;
    for (const each of this.#cache.all(this.typeUrl).keys()) this.#mark(each, false);
  }

  #remove(name: string): void {
    if (name === WILDCARD) {
      this.#wildcard = false;
      for (const names of Object.values(this.#pending)) for (const each of names) if (!this.#names.has(each)) names.delete(each);
      return;
    }
    if (!this.#names.delete(name)) return; // it never subscribed to that
    // by the wildcard it still has a right to it, and asks with this whether it exists
    if (this.#wildcard) this.#mark(name, false);
    else for (const names of Object.values(this.#pending)) names.delete(name);
    if (!this.#wildcard) this.#refused.delete(name);
  }

  #mark(name: string, urgent: boolean): void {
    const { urgent: first, upserts, removals } = this.#pending;
    if (urgent || first.has(name)) first.add(name);
    const exists = this.#cache.get(this.typeUrl, name) !== undefined;
    if (first.has(name) || !exists) upserts.delete(name);
    if (first.has(name) || exists) removals.delete(name);
    if (!first.has(name)) (exists ? upserts : removals).add(name);
  }
}
