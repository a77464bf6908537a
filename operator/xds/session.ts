/**
 * [P] One client's stream: its subscriptions, and which response goes out next. Nothing is ever queued: what has
 * changed is noted by name, and a response is made, from what holds then, when the client has answered the one before
 * and the connection takes more. So a slow client gets fewer and larger steps, and costs no memory.
 */
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse, Status } from '#snapshot/discovery.gen.ts';
import { ResourceFault } from '#snapshot/fleet.gen.ts';
import { FAULT_TYPE } from '#snapshot/resources.ts';
import type { ResourceCache, ResourceChanges } from './resource-cache.ts';
import { Subscription } from './subscription.ts';
import type { Phase, Sent } from './subscription.ts';

/** How types follow each other; those that are not named come after, in the order in which they were asked for. */
export interface TypeOrder {
  readonly parentsFirst: readonly string[];
  /** Types whose removals overtake everything else. */
  readonly revoking: readonly string[];
  /** Sent only when nothing else is pending: it says that a round is complete. */
  readonly last: string;
}

export interface Settled {
  readonly typeUrl: string;
  readonly sent: Sent;
  /** By resource name. */
  readonly faults: ReadonlyMap<string, string>;
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map();
const UNKNOWN_REFUSAL = 'refused, without words';

export class Session {
  readonly #cache: ResourceCache;
  readonly #order: TypeOrder;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Types whose turn it is: a long answer of many responses goes on although its first ones are not answered yet. */
  readonly #turn = new Set<Subscription>();
  #nonce = 0;
  #caughtUp = false;

  constructor(cache: ResourceCache, order: TypeOrder) {
    this.#cache = cache;
    this.#order = order;
  }

  /** Whether it has once been given, and has answered, all that it asked for: a whole round, where it knows rounds. */
  get caughtUp(): boolean { return this.#caughtUp; }

  subscription(typeUrl: string): Subscription | undefined {
    return this.#subscriptions.get(typeUrl);
  }

  subscriptions(): Iterable<Subscription> {
    return this.#subscriptions.values();
  }

  /** Takes a request; returns what it answers, if it does. */
  receive(request: DeltaDiscoveryRequest): Settled | undefined {
    const { typeUrl, responseNonce, errorDetail } = request;
    let subscription = this.#subscriptions.get(typeUrl);
    if (!subscription) {
      subscription = new Subscription(typeUrl, this.#cache, this.#order.revoking.includes(typeUrl));
      this.#subscriptions.set(typeUrl, subscription);
    }
    const sent = subscription.inFlight(responseNonce);
    const faults = sent && errorDetail ? faultsOf(errorDetail, sent) : NO_FAULTS;
    if (sent) subscription.settle(responseNonce, faults);
    subscription.subscribe(request);
    if (sent && !this.#caughtUp)
      this.#caughtUp = this.#subscriptions.has(this.#order.last) ? typeUrl === this.#order.last : this.#quiet();
    return sent && { typeUrl, sent, faults };
  }

  change(changes: readonly ResourceChanges[]): void {
    for (const change of changes) if (change.names.length > 0) this.#subscriptions.get(change.typeUrl)?.change(change);
  }

  /** The next response; undefined: nothing can be sent now. */
  next(nowMs: number): DeltaDiscoveryResponse | undefined {
    const all = this.#ordered();
    return this.#nextOf(all, 'urgent', nowMs) ?? this.#nextOf(all, 'upserts', nowMs)
      ?? this.#nextOf(all.toReversed(), 'removals', nowMs) ?? this.#owed(all, nowMs) ?? this.#closing(nowMs);
  }

  /** Everything that could be sent has been: the next responses of a type wait for answers to these. */
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
   * A client that knows rounds answers at their end: until that is sent nothing may wait for an answer, or both would
   * wait for each other; after it, everything does. Another client answers each response, so each type waits for its
   * own.
   */
  #mayGo(subscription: Subscription): boolean {
    const awaited = this.#subscriptions.get(this.#order.last) ?? subscription;
    if (awaited.outstanding > 0 && !subscription.asked && !this.#turn.has(subscription)) return false;
    this.#turn.add(subscription);
    return true;
  }

  #send(subscription: Subscription, {
    resources, removed, versions, atMs,
  }: { resources: readonly Uint8Array[]; removed: readonly string[] } & Sent): DeltaDiscoveryResponse {
    const nonce = String(this.#nonce += 1);
    subscription.sent(nonce, { versions, atMs });
    if (subscription.typeUrl === this.#order.last) this.#turn.clear();
    return { systemVersionInfo: '', typeUrl: subscription.typeUrl, nonce, resources, removedResources: removed };
  }

  /** All but the closing type. */
  #ordered(): Subscription[] {
    const { parentsFirst, last } = this.#order;
    const known = parentsFirst.flatMap((typeUrl) => this.#subscriptions.get(typeUrl) ?? []);
    if (known.length + Number(this.#subscriptions.has(last)) < this.#subscriptions.size) {
      for (const each of this.#subscriptions.values())
        if (each.typeUrl !== last && !parentsFirst.includes(each.typeUrl)) known.push(each);
    }
    return known;
  }

  #quiet(): boolean {
    for (const each of this.#subscriptions.values()) if (!each.quiet) return false;
    return true;
  }
}

/** Which resources a refusal names; all of the response where it names none, as proxies of other makes do. */
function faultsOf({ details, message }: Status, { versions }: Sent): ReadonlyMap<string, string> {
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
    return undefined; // a message of this type by name only: the refusal's own words serve
  }
}
