/**
 * Support: a fleet in one process and in any order of events. Operator replicas of which one leads, proxies that connect
 * to them, and the reports between replicas, each of which is delivered, late or lost when a test says so. Timers are
 * those of the test.
 */
import type { Condition } from '#crds/types.gen.ts';
import { Resource } from '#snapshot/discovery.gen.ts';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import type { AcknowledgementDigest } from '#snapshot/fleet.gen.ts';
import { CHECKPOINT_TYPE, RESOURCE_TYPES } from '#snapshot/resources.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { ProgrammedEvaluator } from '../../../../operator/reconcile/programmed-evaluator.ts';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import type { ObjectStatus } from '../../../../operator/reconcile/status-tracker.ts';
import { DigestQueue } from '../../../../operator/xds/digest-queue.ts';
import { Distribution } from '../../../../operator/xds/distribution.ts';
import type { ClientStream } from '../../../../operator/xds/server.ts';
import { configOf, numberedKey } from '../../dataplane/xds/support.ts';
import { NO_LOG } from '../fake-clock.ts';

const TYPES = [...RESOURCE_TYPES.map(({ typeUrl }) => typeUrl), CHECKPOINT_TYPE];
/** How long a new leader waits for proxies that reconnect. */
export const SETTLE_MS = 10_000;

/** What the API server has: the edits, the statuses that leaders have written, and who leads. */
export class World {
  readonly generations: number[];
  readonly statuses = new Map<string, ObjectStatus['status']>();
  leader = 0;

  constructor(objects: number) {
    this.generations = Array.from({ length: objects }, () => 1);
  }

  get ids(): string[] {
    return this.generations.map((_generation, n) => `ApiKey team-a/key-${n}`);
  }

  edit(n: number): void {
    this.generations[n] = (this.generations[n] ?? 0) + 1;
  }

  get snapshot(): Snapshot {
    const keys = this.generations.map((generation, n) => numberedKey(n, { generation: BigInt(generation) }));
    return configOf([], { keys });
  }

  programmed(id: string): Condition | undefined {
    return this.statuses.get(id)?.conditions.find(({ type }) => type === 'Programmed');
  }
}

/** A follower's stream to the leader. */
export class Link {
  readonly sent: AcknowledgementDigest[] = [];
  /** False once either side has ended it. */
  open = true;
  readonly #leader: ReturnType<Distribution['acceptReplica']>;
  #heard = true;

  constructor(to: Replica) {
    this.#leader = to.state.acceptReplica(() => this.noticed());
  }

  /** The leader gets what was sent, also by a stream that its follower has given up. */
  deliver(count: number): void {
    for (const digest of this.sent.splice(0, count)) if (this.#heard) this.#leader.heard(digest);
  }

  /** What was sent and has not arrived is lost. */
  cut(): void {
    this.sent.length = 0;
    this.open = false;
  }

  /** The leader sees the end of the stream. */
  noticed(): void {
    this.open = false;
    if (this.#heard) this.#leader.ended();
    this.#heard = false;
  }
}

export class Replica {
  readonly state = new Distribution({
    log: NO_LOG,
    reportTo: (_leader, acknowledgements) => {
      this.#queue = new DigestQueue(String(this.#name), acknowledgements);
      return {
        changed: (ids) => {
          this.#queue?.changed(ids);
          this.#flush();
        },
        refused: () => undefined,
        stop: () => this.links.at(-1)?.cut(),
      };
    },
  });
  /** All of this replica's streams to leaders, the last one in use. */
  readonly links: Link[] = [];
  readonly #world: World;
  readonly #name: number;
  readonly #changed = new Set<string>();
  readonly #tracker = createStatusTracker((id) => this.#changed.add(id));
  readonly #evaluator: ProgrammedEvaluator;
  #queue: DigestQueue | undefined;
  #leader: number | undefined;
  #leadsSinceMs = -Infinity;

  constructor(name: number, world: World) {
    this.#name = name;
    this.#world = world;
    this.#evaluator = new ProgrammedEvaluator({
      clock: {
        nowMs: () => Date.now(),
        after(ms, run) {
          const timer = setTimeout(run, ms);
          return () => clearTimeout(timer);
        },
      },
      tracker: this.#tracker,
      progress: (id) => this.state.progress(id),
      fault: () => undefined,
      onEvaluated: () => this.#write(),
    });
    this.state.onProgress((ids) => this.#evaluator.evaluateInSlices(ids));
    this.state.onNames(() => this.#evaluator.proxiesChanged());
  }

  get isNewLeader(): boolean {
    return Date.now() - this.#leadsSinceMs <= SETTLE_MS;
  }

  /** The watch brings all edits so far. */
  see(): void {
    this.state.publish(this.#world.snapshot);
    const findings = this.#world.generations.map((generation, n) => ({
      kind: 'ApiKey' as const,
      namespace: 'team-a',
      name: `key-${n}`,
      uid: `key-${n}`,
      generation,
      published: true,
      fields: {},
    }));
    this.#tracker.observe(findings, Date.now(), (id) => this.#world.statuses.get(id));
    this.#evaluator.evaluate([...this.#changed]);
    this.#write();
  }

  /** The Lease's watch tells who leads. */
  learnLeader(replicas: readonly Replica[]): void {
    const { leader } = this.#world;
    if (leader === this.#leader) return;
    this.#leader = leader;
    this.state.leaderAt(undefined);
    if (leader !== this.#name) return this.#follow(replicas);
    this.#leadsSinceMs = Date.now();
    this.#tracker.clear();
    this.#evaluator.settle(SETTLE_MS);
    this.#evaluator.recheck();
    this.see();
  }

  /** Connects again to the leader, if the stream has ended. */
  reconnect(replicas: readonly Replica[]): void {
    const to = this.#leader === undefined ? undefined : replicas[this.#leader];
    if (!to || to === this || this.links.at(-1)?.open) return;
    this.#queue?.begin();
    this.links.push(new Link(to));
    this.#flush();
  }

  stop(): void {
    void this.state.stop();
    this.#evaluator.stop();
  }

  #follow(replicas: readonly Replica[]): void {
    this.state.leaderAt(String(this.#leader));
    this.reconnect(replicas);
  }

  #flush(): void {
    const link = this.links.at(-1);
    if (!link?.open) return;
    for (let digest = this.#queue?.next(); digest; digest = this.#queue?.next()) link.sent.push(digest);
  }

  /** Only the leader writes statuses. */
  #write(): void {
    this.#changed.clear();
    if (this.#leader !== this.#name || this.#world.leader !== this.#name) return;
    for (const id of this.#world.ids) {
      const status = this.#tracker.get(id)?.status;
      if (status) this.#world.statuses.set(id, status);
    }
  }
}

export class Proxy {
  readonly #name: string;
  readonly #holds = new Map(TYPES.map((typeUrl) => [typeUrl, new Map<string, string>()]));
  #inbox: DeltaDiscoveryResponse[] = [];
  #stream: ClientStream | undefined;
  /** Streams whose end their replicas have not noticed. */
  readonly #dead = new Set<ClientStream>();

  constructor(name: string) {
    this.#name = name;
  }

  get connected(): boolean {
    return this.#stream !== undefined;
  }

  connect(to: Replica): void {
    this.vanish();
    const inbox: DeltaDiscoveryResponse[] = [];
    this.#inbox = inbox;
    this.#stream = to.state.connect(
      { identity: undefined, peer: this.#name },
      { write: (response) => inbox.push(response) > 0, refuse: (message) => assertNever(message) },
    );
    for (const typeUrl of TYPES)
      this.#send({
        typeUrl,
        resourceNamesSubscribe: ['*'],
        initialResourceVersions: Object.fromEntries(this.#holds.get(typeUrl) ?? []),
      });
  }

  /** The connection is gone, which the replica does not see yet. */
  vanish(): void {
    if (this.#stream) this.#dead.add(this.#stream);
    this.#stream = undefined;
  }

  /** The replicas see the end of all connections that are gone. */
  noticed(): void {
    for (const stream of this.#dead) stream.closed();
    this.#dead.clear();
  }

  /** Takes and acknowledges what has come up to the end of a round. */
  take(): void {
    const complete = this.#inbox.findLastIndex(({ typeUrl }) => typeUrl === CHECKPOINT_TYPE) + 1;
    for (const { typeUrl, nonce, resources, removedResources } of this.#inbox.splice(0, complete)) {
      const held = this.#holds.get(typeUrl);
      for (const name of removedResources) held?.delete(name);
      for (const { name, version } of resources.map((bytes) => Resource.decode(bytes))) held?.set(name, version);
      this.#send({ typeUrl, responseNonce: nonce });
    }
  }

  #send(request: Partial<DeltaDiscoveryRequest>): void {
    this.#stream?.receive({
      node: { id: this.#name, cluster: '', userAgentName: '' },
      typeUrl: '',
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: {},
      responseNonce: '',
      errorDetail: undefined,
      ...request,
    });
  }
}

function assertNever(message: string): never {
  throw new Error(`a proxy was refused: ${message}`);
}
