/**
 * Whatever the order of edits, connections, reports between replicas and changes of the leader: once everything has
 * arrived, each status says that all connected proxies have its object in force.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, it, vi } from 'vitest';
import { Proxy, Replica, SETTLE_MS, World } from './fleet-model.ts';
import type { Link } from './fleet-model.ts';

/** Each with the numbers of an object, a replica and a proxy. */
const EVENTS = [
  'edit',
  'see',
  'allSee',
  'arrive',
  'connect',
  'vanish',
  'notice',
  'take',
  'wait',
  'lead',
  'learn',
  'deliver',
  'cut',
  'noticeCut',
  'reconnect',
] as const;
type Event = (typeof EVENTS)[number];
type Step = readonly [Event, number?];

const [OBJECTS, REPLICAS, PROXIES] = [2, 3, 3];
const WAITS_MS = [10, 500, 2_500];

class Fleet {
  readonly world = new World(OBJECTS);
  readonly replicas = Array.from({ length: REPLICAS }, (_, n) => new Replica(n, this.world));
  readonly proxies = Array.from({ length: PROXIES }, (_, n) => new Proxy(`proxy-${n}`));

  constructor() {
    for (const replica of this.replicas) {
      replica.learnLeader(this.replicas);
      replica.see();
    }
    vi.advanceTimersByTime(SETTLE_MS + 1);
    this.arrive();
  }

  get links(): Link[] {
    return this.replicas.flatMap(({ links }) => links);
  }

  play([event, n = 0]: Step): void {
    const [replica, proxy] = [this.replicas[n % REPLICAS], this.proxies[n % PROXIES]];
    const links = this.links;
    const link = links[n % Math.max(links.length, 1)];
    const to = this.replicas[Math.floor(n / PROXIES) % REPLICAS];
    const play: Readonly<Record<Event, () => void>> = {
      edit: () => this.world.edit(n % OBJECTS),
      see: () => replica?.see(),
      allSee: () => this.replicas.forEach((each) => each.see()),
      arrive: () => this.arrive(),
      connect: () => to && proxy?.connect(to),
      vanish: () => proxy?.vanish(),
      notice: () => proxy?.noticed(),
      take: () => proxy?.take(),
      wait: () => void vi.advanceTimersByTime(WAITS_MS[n % WAITS_MS.length] ?? 0),
      lead: () => {
        this.world.leader = n % REPLICAS;
      },
      learn: () => replica?.learnLeader(this.replicas),
      deliver: () => link?.deliver(1 + (n % 2)),
      cut: () => link?.cut(),
      noticeCut: () => link?.noticed(),
      reconnect: () => replica?.reconnect(this.replicas),
    };
    play[event]();
  }

  /** What is under way arrives. */
  arrive(): void {
    for (const proxy of this.proxies) proxy.take();
    for (const link of this.links) link.deliver(Infinity);
    vi.advanceTimersByTime(10);
  }

  /** Connections that are gone are noticed, and everything arrives. */
  settle(): void {
    this.play(['allSee']);
    for (let round = 0; round < 6; round++) {
      for (const replica of this.replicas) replica.learnLeader(this.replicas);
      for (const link of this.links) if (!link.open) link.noticed();
      for (const replica of this.replicas) replica.reconnect(this.replicas);
      for (const proxy of this.proxies) proxy.noticed();
      this.arrive();
    }
    vi.advanceTimersByTime(5_000);
    // a new leader waits for proxies that reconnect
    if (this.replicas.some(({ isNewLeader }) => isNewLeader)) vi.advanceTimersByTime(SETTLE_MS);
  }

  /** What all statuses should say. */
  check(): void {
    const connected = this.proxies.filter((proxy) => proxy.connected).length;
    for (const id of this.world.ids) {
      const { status = '', message = '' } = this.world.programmed(id) ?? {};
      if (connected === 0) assert.match(message, /No proxy is connected/);
      else assert.deepEqual([status, namedIn(message) >= connected], ['True', true], `${connected}: ${message}`);
      const leader = this.replicas[this.world.leader]?.state;
      const { connected: all, acknowledged } = leader?.progress(id) ?? {};
      assert.deepEqual([all, acknowledged], [connected, connected]);
    }
  }

  stop(): void {
    for (const replica of this.replicas) replica.stop();
  }
}

/** A proxy that has left since may still be counted. */
function namedIn(message: string): number {
  const [, acknowledged = '', all = ''] = /^Acknowledged by (\d+) of (\d+) /.exec(message) ?? [];
  return acknowledged === all ? Number(all) : NaN;
}

function play(steps: readonly Step[]): void {
  const fleet = new Fleet();
  try {
    for (const step of steps) fleet.play(step);
    fleet.settle();
    fleet.check();
  } finally {
    fleet.stop();
  }
}

describe('a fleet', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  it('ends with statuses that count all connected proxies, after any events', () => {
    // each run has a few of the events only, since a new leader or stream mends much
    const steps = fc
      .subarray([...EVENTS], { maxLength: 5 })
      .map((some) => [...some, 'connect', 'arrive'] as const)
      .chain((some) => fc.array(fc.tuple(fc.constantFrom(...some), fc.nat({ max: 17 })), { maxLength: 40 }));
    fc.assert(
      fc.property(steps, (some) => play(some)),
      { numRuns: 400 },
    );
  });

  it('counts a proxy of the leader that connects after an edit is in force at another replica', () => {
    play([
      ['connect', 3], // proxy-0 to the follower 1
      ['take', 0],
      ['wait'],
      ['deliver', 1],
      ['edit', 0],
      ['allSee'],
      ['take', 0],
      ['wait'],
      ['deliver', 2],
      ['deliver', 0],
      ['wait'],
      ['connect', 1], // proxy-1 to the leader, with the edit
      ['take', 1],
    ]);
  });

  it('counts a second proxy of one replica that connects with everything', () => {
    play([['connect', 0], ['take', 0], ['edit', 0], ['allSee'], ['take', 0], ['wait'], ['connect', 1], ['take', 1]]);
  });

  it('counts proxies of which a former leader had not heard when it told of an edit', () => {
    play([
      ['connect', 0], // proxy-0 to the leader 0
      ['take', 0],
      ['edit', 0],
      ['allSee'],
      ['take', 0],
      ['wait'],
      ['connect', 4], // proxy-1 to the follower 1, whose reports are late
      ['take', 1],
      ['wait'],
      ['lead', 1],
      ['learn', 1],
      ['learn', 0],
    ]);
  });
});
