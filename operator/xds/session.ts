/**
 * [P] One client's stream: its subscriptions, and which response is sent next. Nothing is queued: changes are marked by
 * name, and a response is built from the current cache when the client has acknowledged the previous one and the
 * connection is writable. A slow client gets fewer and larger responses, and costs no memory.
 */
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse, Status } from '#snapshot/discovery.gen.ts';
import { ResourceFault } from '#snapshot/fleet.gen.ts';
import { FAULT_TYPE } from '#snapshot/resources.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';
import { Subscription } from './subscription.ts';
import type { Phase, SentResponse } from './subscription.ts';

/** The order of resource types. Types that are not listed follow in the order in which the client subscribed. */
export interface TypeOrder {
  readonly parentsFirst: readonly string[];
  /** Types whose removals are sent before everything else. */
  readonly revoking: readonly string[];
  /** A type that is sent only when nothing else is pending: it marks the end of a round. */
  readonly last: string;
}

export interface ResponseAnswer {
  readonly typeUrl: string;
  readonly sent: SentResponse;
  /** The faults by resource name. */
  readonly faults: ReadonlyMap<string, string>;
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map();
const UNKNOWN_REFUSAL = 'rejected without a message';

export class DiscoverySession {
  readonly #cache: ResourceCache;
  readonly #order: TypeOrder;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Types that are being sent: a long update continues before its first responses are acknowledged. */
  readonly #turn = new Set<Subscription>();
  #nonce = 0;
  #caughtUp = false;

  constructor(cache: ResourceCache, order: TypeOrder) {
    this.#cache = cache;
    this.#order = order;
  }

  /** True if the client has acknowledged a complete configuration at least once. */
  get caughtUp(): boolean {
    return this.#caughtUp;
  }

  subscription(typeUrl: string): Subscription | undefined {
    return this.#subscriptions.get(typeUrl);
  }

  subscriptions(): Iterable<Subscription> {
    return this.#subscriptions.values();
  }

  /** Handles a request; returns the response that it acknowledges or rejects, if any. */
  receive(request: DeltaDiscoveryRequest): ResponseAnswer | undefined {
    const { typeUrl, responseNonce, errorDetail } = request;
    let subscription = this.#subscriptions.get(typeUrl);
    if (!subscription) {
      subscription = new Subscription(typeUrl, this.#cache, this.#order.revoking.includes(typeUrl));
      this.#subscriptions.set(typeUrl, subscription);
    }
    const sent = subscription.inFlight(responseNonce);
    const faults = sent && errorDetail ? faultsOf(errorDetail, sent) : NO_FAULTS;
    if (sent) subscription.acknowledge(responseNonce, faults);
    subscription.subscribe(request);
    if (sent && !this.#caughtUp)
      this.#caughtUp = this.#subscriptions.has(this.#order.last) ? typeUrl === this.#order.last : this.#idle();
    return sent && { typeUrl, sent, faults };
  }

  change(changes: readonly ResourceChanges[]): void {
    for (const change of changes) if (change.names.length > 0) this.#subscriptions.get(change.typeUrl)?.change(change);
  }

  /** Returns the next response; undefined if nothing can be sent now. */
  next(nowMs: number): DeltaDiscoveryResponse | undefined {
    const all = this.#ordered();
    return (
      this.#nextOf(all, 'urgent', nowMs) ??
      this.#nextOf(all, 'upserts', nowMs) ??
      this.#nextOf(all.toReversed(), 'removals', nowMs) ??
      this.#owed(all, nowMs) ??
      this.#closing(nowMs)
    );
  }

  /** Ends a batch: the next responses of a type wait for acknowledgements of these. */
  endTurn(): void {
    this.#turn.clear();
  }

  #nextOf(subscriptions: readonly Subscription[], phase: Phase, nowMs: number): DeltaDiscoveryResponse | undefined {
    for (const subscription of subscriptions) {
      if (subscription.pendingIn(phase) === 0 || !this.#mayGo(subscription)) continue;
      const chunk = subscription.take(phase);
      if (chunk) return this.#send(subscription, { ...chunk, atMs: nowMs });
    }
    return undefined;
  }

  #owed(subscriptions: readonly Subscription[], nowMs: number): DeltaDiscoveryResponse | undefined {
    const owing = subscriptions.find((each) => each.owesAnswer);
    return owing && this.#send(owing, { resources: [], removed: [], versions: new Map(), atMs: nowMs });
  }

  #closing(nowMs: number): DeltaDiscoveryResponse | undefined {
    const last = this.#subscriptions.get(this.#order.last);
    if (!last) return undefined;
    for (const each of this.#subscriptions.values()) if (each !== last && each.pending > 0) return undefined;
    return this.#nextOf([last], 'urgent', nowMs) ?? this.#nextOf([last], 'upserts', nowMs) ?? this.#owed([last], nowMs);
  }

  /**
   * Proxies acknowledge at the checkpoint that ends an update, so nothing may wait for an acknowledgement before the
   * checkpoint is sent. Other clients acknowledge each response, so each type waits for its own.
   */
  #mayGo(subscription: Subscription): boolean {
    const awaited = this.#subscriptions.get(this.#order.last) ?? subscription;
    if (awaited.outstanding > 0 && !subscription.asked && !this.#turn.has(subscription)) return false;
    this.#turn.add(subscription);
    return true;
  }

  #send(
    subscription: Subscription,
    {
      resources,
      removed,
      versions,
      atMs,
    }: { resources: readonly Uint8Array[]; removed: readonly string[] } & SentResponse,
  ): DeltaDiscoveryResponse {
    const nonce = String((this.#nonce += 1));
    subscription.sent(nonce, { versions, atMs });
    if (subscription.typeUrl === this.#order.last) this.#turn.clear();
    return { systemVersionInfo: '', typeUrl: subscription.typeUrl, nonce, resources, removedResources: removed };
  }

  /** All types but the last one. */
  #ordered(): Subscription[] {
    const { parentsFirst, last } = this.#order;
    const known = parentsFirst.flatMap((typeUrl) => this.#subscriptions.get(typeUrl) ?? []);
    if (known.length + Number(this.#subscriptions.has(last)) < this.#subscriptions.size) {
      for (const each of this.#subscriptions.values())
        if (each.typeUrl !== last && !parentsFirst.includes(each.typeUrl)) known.push(each);
    }
    return known;
  }

  #idle(): boolean {
    for (const each of this.#subscriptions.values()) if (!each.idle) return false;
    return true;
  }
}

/** The resources that a NACK names. All of its response if it names none, as other vendors' proxies do. */
function faultsOf({ details, message }: Status, { versions }: SentResponse): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const { typeUrl, value } of details) {
    const fault = typeUrl === FAULT_TYPE ? readFault(value) : undefined;
    if (fault && versions.has(fault.name)) faults.set(fault.name, fault.message || UNKNOWN_REFUSAL);
  }
  if (faults.size > 0) return faults;
  const words = message || UNKNOWN_REFUSAL;
  for (const name of versions.keys()) faults.set(name, words);
  return faults;
}

function readFault(bytes: Uint8Array): ResourceFault | undefined {
  try {
    return ResourceFault.decode(bytes);
  } catch {
    return undefined; // if it cannot be decoded, the NACK's own message is used
  }
}
