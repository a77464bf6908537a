/**
 * Gateways on one folder of manifests and one store, and their faults: gateways and the store's servers are killed,
 * stopped and restarted, networks lose and delay packets, and disks are full.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHome } from '../support/api/process.ts';
import type { GatewayHome, GatewayProcess } from '../support/api/process.ts';
import { fillDisk, freeDisk } from '../support/full-disk.ts';
import { refusingUrl } from '../support/mock-provider.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { edited, manifestsOf, platformManifest } from './config.ts';
import type { Config } from './config.ts';
import type { Edit } from './config.ts';
import type { FleetBooks } from './fleet-books.ts';
import { openStore } from './fleet-store.ts';
import type { FleetStore, LedgerKind } from './fleet-store.ts';
import { ANSWER_MS, generationOf, SETTLED_MS, sumOfMetric } from './gateway.ts';
import type { Span, Version } from './gateway.ts';
import type { Trouble } from './network.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';

/** A silent instance is dead to the others from then on. */
const LEASE_MS = 25_000;
const DRAIN_MS = 45_000;
/** A process that runs answers sooner, and an edit does not wait for one that stands still. */
const PROBE_MS = 500;
const POLL_MS = 20;
const GAUGES = ['modelgateway_holds', 'modelgateway_held_usd', 'modelgateway_slots_in_use'] as const;

/** A fault of one member, or of the store where it has no member. */
export interface Disturbance extends Span {
  readonly member: number | undefined;
}

export interface FleetWorld extends AsyncDisposable {
  readonly provider: ChaosProvider;
  readonly members: number;
  readonly kills: number[];
  readonly pauses: Disturbance[];
  readonly drains: Span[];
  /** Of the configuration. An edit is in force once every member has it, also those that stood still. */
  readonly versions: Version[];
  /** Violations that a member or an edit has caused. */
  readonly violations: string[];
  openBooks(): FleetBooks;
  /** The address of a member's process, or of its next one. */
  url(member: number): Promise<string>;
  kill(member: number): Promise<void>;
  stop(member: number, ms: number): Promise<void>;
  /** The disk takes nothing that makes a file of the member longer than so many bytes. */
  fillDisk(member: number, bytes: number, ms: number): Promise<void>;
  killServer(server: number, ms: number): Promise<void>;
  stopServer(server: number, ms: number): Promise<void>;
  disconnect(): Promise<void>;
  /** SIGTERM, and the next process. */
  terminate(member: number): Promise<void>;
  /** Between a member and the store. */
  disturb(member: number, trouble: Trouble, ms: number): Promise<void>;
  edit(edit: Edit): Promise<void>;
  /** Holds and slots that processes count as theirs. */
  inUse(): Promise<string[]>;
  /** What all processes have written. */
  output(): string;
}

/** A member's process, and the generation of its configuration; undefined if it does not answer. */
interface Adopting {
  readonly starting: Promise<GatewayProcess>;
  readonly generation: string | undefined;
}

/** Asks only a process that is up; one that is starting or standing still is given no time. */
async function readGeneration(starting: Promise<GatewayProcess>): Promise<Adopting> {
  const process = await Promise.race([starting, sleep(0, undefined)]);
  return { starting, generation: process && (await generationOf(process, PROBE_MS)) };
}

/** Resolves once the process has a later configuration, or has ended. One that did not answer reads files once up. */
async function adopted({ starting, generation }: Adopting): Promise<void> {
  const process = await starting;
  const ended = new AbortController();
  void process.exited.then(() => ended.abort());
  while (!ended.signal.aborted) {
    const now = await generationOf(process, ANSWER_MS);
    if (now !== undefined && generation === undefined) return sleep(SETTLED_MS);
    if (now !== undefined && now !== generation) return;
    await sleep(POLL_MS);
  }
}

export async function openFleet(config: Config, ledger: LedgerKind): Promise<FleetWorld> {
  const provider = await startProvider();
  const store = await openStore(ledger);
  const home = await createHome({
    'platform.yaml': platformManifest({ url: provider.url, nobody: await refusingUrl() }),
    ...manifestsOf(config),
  });
  const world = new World({ provider, store, home, config });
  await world.begin();
  return world;
}

interface Parts {
  readonly provider: ChaosProvider;
  readonly store: FleetStore;
  readonly home: GatewayHome;
  readonly config: Config;
}

class World implements FleetWorld {
  readonly provider: ChaosProvider;
  readonly kills: number[] = [];
  readonly pauses: Disturbance[] = [];
  readonly drains: Span[] = [];
  readonly versions: Version[];
  readonly violations: string[] = [];
  readonly #store: FleetStore;
  readonly #home: GatewayHome;
  readonly #members: Promise<GatewayProcess>[] = [];
  readonly #outputs: GatewayProcess[] = [];
  readonly #turns = new Map<string, Promise<void>>();
  /** Members whose end is meant. */
  readonly #ending = new Set<GatewayProcess>();

  constructor({ provider, store, home, config }: Parts) {
    this.provider = provider;
    this.#store = store;
    this.#home = home;
    this.versions = [{ config, writtenMs: 0, inForceMs: 0 }];
  }

  get members(): number {
    return this.#store.members;
  }

  openBooks(): FleetBooks {
    return this.#store.openBooks(this.#dataDir(0));
  }

  #dataDir(member: number): string {
    return join(this.#home.dataDir, String(member));
  }

  /** Starts the members one after another, because they share the machine. */
  async begin(): Promise<void> {
    for (let member = 0; member < this.members; member++) await (this.#members[member] = this.#start(member));
  }

  async #start(member: number): Promise<GatewayProcess> {
    const process = await this.#home.start('--data', this.#dataDir(member), ...this.#store.flags(member));
    this.#outputs.push(process);
    void process.exited.then((code) => {
      if (!this.#ending.has(process))
        this.violations.push(`a gateway ended by itself, with ${code}: ${process.output().slice(-2_000)}`);
    });
    return process;
  }

  #member(member: number): Promise<GatewayProcess> {
    const process = this.#members[member];
    if (!process) throw new Error('there is no such member');
    return process;
  }

  async url(member: number): Promise<string> {
    return (await this.#member(member)).url;
  }

  /** What may not happen to one target twice at a time. */
  #inTurn(target: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(target) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#turns.set(target, mine);
    return mine;
  }

  kill(member: number): Promise<void> {
    return this.#inTurn(`member ${member}`, () => this.#kill(member));
  }

  async #kill(member: number): Promise<void> {
    const process = await this.#member(member);
    this.#ending.add(process);
    await this.#during(member, async () => {
      await process.kill();
      this.kills.push(Date.now());
      await (this.#members[member] = this.#start(member));
    });
  }

  async stop(member: number, ms: number): Promise<void> {
    const process = await this.#member(member);
    await this.#during(member, async () => {
      process.signal('SIGSTOP');
      await sleep(ms);
      process.signal('SIGCONT');
    });
    // the others may have taken it for dead
    this.kills.push(Date.now());
  }

  fillDisk(member: number, bytes: number, ms: number): Promise<void> {
    return this.#inTurn(`disk ${member}`, () => this.#fillDisk(member, bytes, ms));
  }

  async #fillDisk(member: number, bytes: number, ms: number): Promise<void> {
    const process = await this.#member(member);
    // it may be killed at any time
    const unlessGone = (error: unknown): void => {
      if (!this.#ending.has(process)) throw error;
    };
    await this.#during(member, async () => {
      await fillDisk(process.pid, bytes).catch(unlessGone);
      await Promise.race([sleep(ms), process.exited]);
      await freeDisk(process.pid).catch(unlessGone);
    });
  }

  killServer(server: number, ms: number): Promise<void> {
    const node = this.#node(server);
    return this.#inTurn(`server ${node.port}`, () =>
      this.#during(undefined, async () => {
        await node.kill();
        await sleep(ms);
        await this.#store.restart(node);
      }),
    );
  }

  stopServer(server: number, ms: number): Promise<void> {
    const node = this.#node(server);
    return this.#inTurn(`server ${node.port}`, () =>
      this.#during(undefined, async () => {
        node.signal('SIGSTOP');
        await sleep(ms);
        node.signal('SIGCONT');
      }),
    );
  }

  #node(server: number): ValkeyServer {
    const { nodes } = this.#store;
    const node = nodes[server % nodes.length];
    if (!node) throw new Error('a file has no server');
    return node;
  }

  async disconnect(): Promise<void> {
    await this.#during(undefined, async () => {
      for (const node of this.#store.nodes) await node.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
  }

  terminate(member: number): Promise<void> {
    return this.#inTurn(`member ${member}`, () => this.#terminate(member));
  }

  async #terminate(member: number): Promise<void> {
    const process = await this.#member(member);
    this.#ending.add(process);
    const drain = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.drains.push(drain);
    await this.#during(member, async () => {
      const code = await Promise.race([process.terminate(), sleep(DRAIN_MS, 'late' as const)]);
      if (code === 'late') await process.kill();
      if (code === 'late') this.kills.push(Date.now());
      else if (code !== 0) this.violations.push(`SIGTERM ended a gateway with ${code}`);
      await (this.#members[member] = this.#start(member));
    });
    drain.toMs = Date.now();
  }

  async disturb(member: number, trouble: Trouble, ms: number): Promise<void> {
    const network = this.#store.network(member);
    // members share the networks of a Cluster
    const struck = this.#store.kind === 'cluster' ? undefined : member;
    await this.#inTurn(`network ${network.port}`, () =>
      this.#during(struck, async () => {
        network.trouble(trouble);
        await sleep(ms);
        network.heal();
      }),
    );
    // the others may have taken it for dead
    if (ms > LEASE_MS) this.kills.push(Date.now());
  }

  async edit(edit: Edit): Promise<void> {
    const latest = this.versions.at(-1);
    if (!latest) throw new Error('there is always a version');
    const config = edited(latest.config, edit);
    const [before, after] = [manifestsOf(latest.config), manifestsOf(config)];
    const changed = Object.entries(after).filter(([file, yaml]) => before[file] !== yaml);
    if (changed.length === 0) return;
    const members = await Promise.all(this.#members.map(async (starting) => readGeneration(starting)));
    const version = { config, writtenMs: Date.now(), inForceMs: Number.POSITIVE_INFINITY };
    this.versions.push(version);
    for (const [file, yaml] of changed) await this.#home.write(file, yaml);
    void Promise.all(members.map((member) => adopted(member)))
      .then(async () => {
        // several files may have been read at different times
        if (changed.length > 1) await sleep(SETTLED_MS);
        version.inForceMs = Date.now();
      })
      .catch((error: unknown) => {
        this.violations.push(`an edit could not be followed: ${String(error)}`);
      });
  }

  async #during(member: number | undefined, work: () => Promise<void>): Promise<void> {
    const pause = { member, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.pauses.push(pause);
    await work();
    pause.toMs = Date.now();
  }

  async inUse(): Promise<string[]> {
    const found = await Promise.all(
      this.#members.map(async (starting, member) => {
        const { adminUrl } = await starting;
        const page = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) })).text();
        return GAUGES.map((name) => ({ name, member, value: sumOfMetric(page, name) }));
      }),
    );
    return found
      .flat()
      .filter(({ value }) => value !== 0)
      .map(({ name, member, value }) => `${name} ${value} at member ${member}`);
  }

  output(): string {
    return this.#outputs.map((process) => process.output()).join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#outputs) this.#ending.add(process);
    await this.#home.remove();
    await this.#store[Symbol.asyncDispose]();
    await this.provider.stop();
  }
}
