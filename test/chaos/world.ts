/**
 * Gateways on one folder of manifests and one store, which outlive the rounds that are played on them, and their
 * faults: gateways and the store's servers are killed, stopped and restarted, networks lose and delay packets, and
 * disks are full.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHome } from '../support/api/process.ts';
import type { GatewayHome, GatewayProcess } from '../support/api/process.ts';
import { fillDisk, freeDisk } from '../support/full-disk.ts';
import { refusingUrl } from '../support/mock-provider.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { ANSWER_MS, failingChecks, generationOf, metricsOf, sumOfMetric } from './admin.ts';
import type { Books } from './books.ts';
import type { CallLog } from './client.ts';
import { edited, manifestsOf, platformManifest } from './config.ts';
import type { AccountName, Config, Edit, KeyName } from './config.ts';
import { nothingSince } from './happened.ts';
import type { Happened } from './happened.ts';
import type { Trouble } from './network.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';
import { batchManifests } from './batches/config.ts';
import { startBatchProviders } from './batches/provider.ts';
import type { BatchProviders } from './batches/provider.ts';
import { sessionManifests } from './sessions/config.ts';
import { startSessionProvider } from './sessions/provider.ts';
import type { SessionProvider } from './sessions/provider.ts';
import { openStore } from './store.ts';
import type { LedgerKind, LostBalance, Store } from './store.ts';

/** A silent instance is dead to the others from then on. */
const LEASE_MS = 25_000;
/** Longer than any call may take, and than the longest pause of a process. */
const DRAIN_MS = 60_000;
/** A process that runs answers sooner, and an edit does not wait for one that stands still. */
const PROBE_MS = 500;
const POLL_MS = 20;
/** Nothing stands still between two rounds. */
const ADOPTED_MS = 20_000;
/** Longer than a process stands still. An edit that is later than this is told of at the end of the round. */
const EDIT_MS = 40_000;
/** Time for any number of files to be noticed and read. */
const SETTLED_MS = 1_500;
const GAUGES = ['modelgateway_holds', 'modelgateway_held_usd', 'modelgateway_slots_in_use'] as const;

const FAST_ZONE_URL = new URL('fast-zone.ts', import.meta.url).href;
const KEEPING = ['--store-responses-days', '1'];

export interface World extends AsyncDisposable {
  readonly ledger: LedgerKind;
  readonly provider: ChaosProvider;
  /** The provider of realtime sessions. */
  readonly sessions: SessionProvider;
  readonly batches: BatchProviders;
  readonly members: number;
  readonly books: Books;
  /** The ids of the records of earlier rounds. */
  readonly seen: Set<string>;
  /** The calls of the last minute. */
  recent: readonly CallLog[];
  /** Rounds so far: each has key strings of its own. */
  rounds: number;
  /** The configuration as written, whether or not it is in force yet. */
  readonly config: Config;
  /** Starts the members, or puts the configuration in force; forgets what has happened before. */
  startRound(config: Config): Promise<void>;
  /** What has happened since the round's start. */
  readonly happened: Happened;
  /** The address of a member's process, or of its next one. */
  url(member: number): Promise<string>;
  kill(member: number): Promise<void>;
  stop(member: number, how: { readonly ms: number; readonly thenKill: boolean }): Promise<void>;
  /** The disk takes nothing that makes a file of the member longer than so many bytes. */
  fillDisk(member: number, bytes: number, ms: number): Promise<void>;
  killServer(server: number, ms: number): Promise<void>;
  stopServer(server: number, ms: number): Promise<void>;
  disconnect(): Promise<void>;
  /** The store loses something of a key's or an account's balance, and nothing else. */
  loseBalance(owner: KeyName | AccountName, what: LostBalance): Promise<void>;
  /** SIGTERM, and the next process. `clients`: new calls wait for it, or meet the one that ends. */
  terminate(member: number, clients: 'wait' | 'go on'): Promise<void>;
  /** Between a member and the store. */
  disturb(member: number, trouble: Trouble, ms: number): Promise<void>;
  /** Resolves when it is in force at every member that does not stand still. */
  edit(edit: Edit): Promise<void>;
  /** Holds and slots that processes count as theirs, and checks of theirs that fail. */
  unrest(): Promise<string[]>;
  /** What the processes have written since it was asked last. */
  takeOutput(): string;
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

export async function openWorld(ledger: LedgerKind): Promise<World> {
  const provider = await startProvider();
  const store = await openStore(ledger);
  const sessions = await startSessionProvider();
  const places = { url: provider.url, nobody: await refusingUrl() };
  const batches = await startBatchProviders();
  const files = {
    'platform.yaml': platformManifest(places),
    'sessions.yaml': sessionManifests(sessions.url),
    'batches.yaml': batchManifests(batches.urls),
  };
  const home = await createHome(files, ['--import', FAST_ZONE_URL]);
  return new ChaosWorld({ provider, sessions, batches, store, home });
}

interface Parts {
  readonly provider: ChaosProvider;
  readonly sessions: SessionProvider;
  readonly batches: BatchProviders;
  readonly store: Store;
  readonly home: GatewayHome;
}

class ChaosWorld implements World {
  readonly provider: ChaosProvider;
  readonly sessions: SessionProvider;
  readonly batches: BatchProviders;
  readonly books: Books;
  readonly seen = new Set<string>();
  recent: readonly CallLog[] = [];
  rounds = 0;
  readonly #store: Store;
  readonly #home: GatewayHome;
  readonly #members: Promise<GatewayProcess>[] = [];
  #happened: Happened | undefined;
  #outputs: { readonly process: GatewayProcess; read: number }[] = [];
  readonly #turns = new Map<string, Promise<void>>();
  /** Processes whose end is meant. */
  readonly #ending = new Set<GatewayProcess>();

  constructor({ provider, sessions, batches, store, home }: Parts) {
    this.provider = provider;
    this.sessions = sessions;
    this.batches = batches;
    this.#store = store;
    this.#home = home;
    this.books = store.openBooks(this.#dataDir(0));
  }

  get ledger(): LedgerKind {
    return this.#store.kind;
  }

  get members(): number {
    return this.#store.members;
  }

  get happened(): Happened {
    if (!this.#happened) throw new Error('no round has begun');
    return this.#happened;
  }

  get config(): Config {
    const latest = this.happened.versions.at(-1);
    if (!latest) throw new Error('there is always a version');
    return latest.config;
  }

  #dataDir(member: number): string {
    return join(this.#home.dataDir, String(member));
  }

  async startRound(config: Config): Promise<void> {
    if (this.#happened) await this.#adopt(config);
    else await this.#begin(config);
    this.#happened = nothingSince({ config, writtenMs: 0, inForceMs: 0 });
  }

  /** Starts the members one after another, because they share the machine. */
  async #begin(config: Config): Promise<void> {
    this.#happened = nothingSince({ config, writtenMs: 0, inForceMs: 0 });
    for (const [file, yaml] of Object.entries(manifestsOf(config))) await this.#home.write(file, yaml);
    for (let member = 0; member < this.members; member++) await (this.#members[member] = this.#start(member));
  }

  async #start(member: number): Promise<GatewayProcess> {
    const process = await this.#home.start('--data', this.#dataDir(member), ...KEEPING, ...this.#store.flags(member));
    this.#outputs.push({ process, read: 0 });
    void process.exited.then((code) => this.#exited(member, process, code));
    return process;
  }

  /** A process that nobody ended is followed by another, so that the round can go on. */
  #exited(member: number, process: GatewayProcess, code: number | null): void {
    if (this.#ending.has(process)) return;
    this.happened.violations.push(`a gateway ended by itself, with ${code}: ${process.output().slice(-2_000)}`);
    const next = (this.#members[member] = this.#start(member));
    next.catch((error: unknown) => this.happened.violations.push(`a gateway does not start: ${String(error)}`));
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
    return this.#inTurn(`member ${member}`, () =>
      this.#replace(member, 'wait', async (process) => {
        await process.kill();
        this.happened.kills.push(Date.now());
      }),
    );
  }

  terminate(member: number, clients: 'wait' | 'go on'): Promise<void> {
    return this.#inTurn(`member ${member}`, async () => {
      const drain = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      this.happened.drains.push(drain);
      await this.#replace(member, clients, (process) => this.#drain(process));
      drain.toMs = Date.now();
    });
  }

  async #drain(process: GatewayProcess): Promise<void> {
    const code = await Promise.race([process.terminate(), sleep(DRAIN_MS, 'late' as const, { ref: false })]);
    if (code === 0) return;
    this.happened.violations.push(
      code === 'late' ? `SIGTERM did not end a gateway in ${DRAIN_MS} ms` : `SIGTERM ended a gateway with ${code}`,
    );
    await process.kill();
    this.happened.kills.push(Date.now());
  }

  /** Ends a process and starts the next one. */
  async #replace(
    member: number,
    clients: 'wait' | 'go on',
    end: (process: GatewayProcess) => Promise<void>,
  ): Promise<void> {
    const process = await this.#member(member);
    this.#ending.add(process);
    const next = Promise.withResolvers<GatewayProcess>();
    if (clients === 'wait') this.#members[member] = next.promise;
    await this.#during(member, async () => {
      await end(process);
      this.#members[member] = next.promise;
      next.resolve(this.#start(member));
      await next.promise;
    });
  }

  async stop(member: number, { ms, thenKill }: { readonly ms: number; readonly thenKill: boolean }): Promise<void> {
    const process = await this.#member(member);
    await this.#during(member, async () => {
      process.signal('SIGSTOP');
      await sleep(ms);
      if (thenKill) await this.kill(member);
      process.signal('SIGCONT');
    });
    // the others may have taken it for dead
    if (this.members > 1) this.happened.kills.push(Date.now());
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

  loseBalance(owner: KeyName | AccountName, what: LostBalance): Promise<void> {
    return this.#store.loseBalance(owner, what);
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
    if (ms > LEASE_MS) this.happened.kills.push(Date.now());
  }

  edit(edit: Edit): Promise<void> {
    return this.#inTurn('edits', async () => {
      const { awake } = await this.#write(edited(this.config, edit));
      await Promise.race([awake, sleep(EDIT_MS, undefined, { ref: false })]);
    });
  }

  /** Rejects if it is not in force in time. */
  async #adopt(config: Config): Promise<void> {
    const { all } = await this.#write(config);
    if ((await Promise.race([all, sleep(ADOPTED_MS, 'late' as const, { ref: false })])) === 'late')
      throw new Error(`the round's configuration is not in force after ${ADOPTED_MS} ms`);
  }

  /** Writes what differs. `awake`, `all`: resolves when members that do not stand still have it, and when all have. */
  async #write(config: Config): Promise<{ readonly awake: Promise<unknown>; readonly all: Promise<unknown> }> {
    const [before, after] = [manifestsOf(this.config), manifestsOf(config)];
    const changed = Object.entries(after).filter(([file, yaml]) => before[file] !== yaml);
    if (changed.length === 0) return { awake: Promise.resolve(), all: Promise.resolve() };
    const members = await Promise.all(this.#members.map((starting) => readGeneration(starting)));
    const { versions, violations } = this.happened;
    const version = { config, writtenMs: Date.now(), inForceMs: Number.POSITIVE_INFINITY };
    versions.push(version);
    for (const [file, yaml] of changed) await this.#home.write(file, yaml);
    const adoptions = members.map((member) => ({ member, done: adopted(member) }));
    const all = Promise.all(adoptions.map(({ done }) => done)).then(
      async () => {
        // several files may have been read at different times
        if (changed.length > 1) await sleep(SETTLED_MS);
        version.inForceMs = Date.now();
      },
      (error: unknown) => violations.push(`an edit could not be followed: ${String(error)}`),
    );
    const isStill = adoptions.some(({ member }) => member.generation === undefined);
    const awake = isStill
      ? Promise.all(adoptions.filter(({ member }) => member.generation !== undefined).map(({ done }) => done))
      : all;
    return { awake, all };
  }

  async #during(member: number | undefined, work: () => Promise<void>): Promise<void> {
    const pause = { member, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.happened.pauses.push(pause);
    await work();
    pause.toMs = Date.now();
  }

  async unrest(): Promise<string[]> {
    const found = await Promise.all(
      this.#members.map(async (starting, member) => {
        const process = await starting;
        const page = await metricsOf(process);
        const inUse = GAUGES.map((name) => ({ name, value: sumOfMetric(page, name) }));
        return [
          ...inUse.filter(({ value }) => value !== 0).map(({ name, value }) => `${name} ${value} at member ${member}`),
          ...(await failingChecks(process)).map((check) => `${check} at member ${member}`),
        ];
      }),
    );
    const late = this.happened.versions.filter(({ inForceMs }) => inForceMs === Number.POSITIVE_INFINITY);
    return [
      ...found.flat(),
      ...late.map(({ writtenMs }) => `an edit of ${Date.now() - writtenMs} ms ago is not in force`),
    ];
  }

  takeOutput(): string {
    return this.#outputs
      .map((each) => {
        const output = each.process.output();
        const fresh = output.slice(each.read);
        each.read = output.length;
        return fresh;
      })
      .join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#outputs) this.#ending.add(process);
    this.books.close();
    await this.#home.remove();
    await this.#store[Symbol.asyncDispose]();
    await this.sessions.stop();
    await this.batches.stop();
    await this.provider.stop();
  }
}
