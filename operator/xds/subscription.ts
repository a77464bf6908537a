/**
 * [P] One resource type on one stream: the client's subscription, the pending changes, the responses that it has not
 * acknowledged and the resources that it rejected. What the client has is not stored: it is every subscribed resource
 * of the cache that is in none of these lists.
 */
import type { DeltaDiscoveryRequest } from '#snapshot/discovery.gen.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';

/** Revocations of all types go first, then additions and changes (parents first), then removals (children first). */
export type Phase = 'urgent' | 'upserts' | 'removals';

/** A response that the client has not acknowledged yet: the version of each resource, '' for a removal. */
export interface SentResponse {
  readonly versions: ReadonlyMap<string, string>;
  readonly atMs: number;
}

/** Pending resources that fit into one message. */
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
/** The size of one response. gRPC clients accept 4 MiB by default, and a single object may exceed a chunk. */
const CHUNK_BYTES = 1024 * 1024;
const GONE = { encoded: new Uint8Array(), version: '' };

export class Subscription {
  readonly typeUrl: string;
  readonly #cache: ResourceCache;
  readonly #names = new Set<string>();
  /** True if a removal restricts callers. */
  readonly #revokes: boolean;
  #wildcard = false;
  #first = true;
  readonly #pending = { urgent: new Set<string>(), upserts: new Set<string>(), removals: new Set<string>() };
  readonly #inFlight = new Map<string, SentResponse>();
  readonly #refused = new Map<string, Refused>();
  /**
   * True if a response must be sent even if it is empty, because the client waits for the first response to a wildcard
   * subscription.
   */
  owesAnswer = false;
  /** True if the subscription has changed, so that the next response need not wait for acknowledgements. */
  asked = false;

  constructor(typeUrl: string, cache: ResourceCache, revokes: boolean) {
    this.typeUrl = typeUrl;
    this.#cache = cache;
    this.#revokes = revokes;
  }

  has(name: string): boolean {
    return this.#wildcard || this.#names.has(name);
  }

  get outstanding(): number {
    return this.#inFlight.size;
  }

  get pending(): number {
    return this.#pending.urgent.size + this.#pending.upserts.size + this.#pending.removals.size;
  }

  pendingIn(phase: Phase): number {
    return this.#pending[phase].size;
  }

  /** True if everything has been sent and acknowledged or rejected. */
  get idle(): boolean {
    return this.pending === 0 && this.#inFlight.size === 0 && !this.owesAnswer;
  }

  /** Why the client rejected the current version; undefined if it did not. */
  refusal(name: string): string | undefined {
    const refused = this.#refused.get(name);
    return refused && refused.version === this.#cache.get(this.typeUrl, name)?.version ? refused.message : undefined;
  }

  refusals(): Iterable<string> {
    return this.#refused.keys();
  }

  waiting(name: string): boolean {
    if (this.pending > 0 && Object.values(this.#pending).some((names) => names.has(name))) return true;
    for (const { versions } of this.#inFlight.values()) if (versions.has(name)) return true;
    return false;
  }

  /** The names of all resources whose current version the client does not have. */
  *unacknowledged(): Iterable<string> {
    for (const names of Object.values(this.#pending)) yield* names;
    for (const { versions } of this.#inFlight.values()) yield* versions.keys();
    yield* this.#refused.keys();
  }

  /** Applies the request's change of the subscription, which is valid even with a stale nonce. */
  subscribe(request: DeltaDiscoveryRequest): void {
    if (this.#first) return this.#begin(request);
    for (const name of request.resourceNamesSubscribe) this.#add(name);
    for (const name of request.resourceNamesUnsubscribe) this.#remove(name);
    const changed = request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length > 0;
    if (changed && this.pending > 0) this.asked = true;
  }

  /** Marks changed resources of the cache as pending. */
  change({ names, urgent }: ResourceChanges): void {
    for (const name of names) if (this.has(name)) this.#mark(name, urgent.has(name));
  }

  /** Takes the next chunk of a phase; undefined if nothing is pending in it. */
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

  sent(nonce: string, sent: SentResponse): void {
    this.#inFlight.set(nonce, sent);
    this.owesAnswer = false;
    if (this.pending === 0) this.asked = false;
  }

  /** The unacknowledged response with this nonce. */
  inFlight(nonce: string): SentResponse | undefined {
    return this.#inFlight.get(nonce);
  }

  /** Records a response's acknowledgement: `faults` holds the rejected resources by name. */
  acknowledge(nonce: string, faults: ReadonlyMap<string, string>): void {
    const versions = this.#inFlight.get(nonce)?.versions ?? new Map<string, string>();
    this.#inFlight.delete(nonce);
    for (const [name, version] of versions) {
      const message = faults.get(name);
      if (message === undefined) this.#refused.delete(name);
      else this.#refused.set(name, { version, message });
    }
  }

  /** The first request of this type lists what the client has, so that only differences and removals are sent. */
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
    const names = this.#wildcard ? [...all.keys(), ...this.#names] : this.#names;
    for (const name of names) if (!all.has(name) || holds.get(name) !== all.get(name)?.version) this.#mark(name, false);
    for (const name of holds.keys()) if (!all.has(name)) this.#mark(name, this.#revokes);
  }

  /** A resource is sent again for each new subscription to it, because the client may have dropped it. */
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
      for (const names of Object.values(this.#pending))
        for (const each of names) if (!this.#names.has(each)) names.delete(each);
      return;
    }
    if (!this.#names.delete(name)) return; // it was never subscribed to
    // under a wildcard the client stays subscribed, and expects a response about this resource
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
