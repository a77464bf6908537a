/**
 * Four gateways on one folder of manifests and one Valkey that keeps what it acknowledges, and what is done to them:
 * each is killed, stopped and started again, and so is the server.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHome } from '../../test/support/api/process.ts';
import type { GatewayHome, GatewayProcess } from '../../test/support/api/process.ts';
import { refusingUrl } from '../../test/support/mock-provider.ts';
import { startValkey } from '../../test/support/valkey.ts';
import type { ValkeyServer } from '../../test/support/valkey.ts';
import { edited, manifestsOf, platformManifest } from './config.ts';
import type { Config } from './config.ts';
import type { Edit } from './config.ts';
import type { Span, Version } from './gateway.ts';
import { openNetwork } from './network.ts';
import type { Network, Trouble } from './network.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';

export const MEMBERS = 4;
/** A silent instance is dead to the others from then on. */
const LEASE_MS = 25_000;
const DRAIN_MS = 45_000;

export interface FleetWorld extends AsyncDisposable {
  readonly provider: ChaosProvider;
  readonly valkey: ValkeyServer;
  readonly kills: number[];
  readonly pauses: Span[];
  readonly drains: Span[];
  /** Of the configuration. An edit may be in force from when it was written, at each member at another time. */
  readonly versions: Version[];
  /** What must never happen. */
  readonly violations: string[];
  /** The address of a member's process, or of its next one. */
  url(member: number): Promise<string>;
  kill(member: number): Promise<void>;
  stop(member: number, ms: number): Promise<void>;
  killServer(ms: number): Promise<void>;
  stopServer(ms: number): Promise<void>;
  disconnect(): Promise<void>;
  /** SIGTERM, and the next process. */
  terminate(member: number): Promise<void>;
  /** Between a member and the store. */
  disturb(member: number, trouble: Trouble, ms: number): Promise<void>;
  edit(edit: Edit): Promise<void>;
  /** What all processes have written. */
  output(): string;
}

/** `forgets`: the store keeps nothing when it is killed. */
export async function openFleet(config: Config, forgets = false): Promise<FleetWorld> {
  const provider = await startProvider();
  const kept = [['appendonly', 'yes'], ['appendfsync', 'always'], ['auto-aof-rewrite-percentage', '0']] as const;
  const valkey = await startValkey({ settings: forgets ? [] : kept });
  const home = await createHome({
    'platform.yaml': platformManifest({ url: provider.url, nobody: await refusingUrl() }), ...manifestsOf(config),
  });
  const networks = await Promise.all(Array.from({ length: MEMBERS }, () => openNetwork(valkey.port)));
  const world = new World({ provider, valkey, home, networks, config });
  await world.begin();
  return world;
}

interface Parts {
  readonly provider: ChaosProvider;
  readonly valkey: ValkeyServer;
  readonly home: GatewayHome;
  /** By member. */
  readonly networks: readonly Network[];
  readonly config: Config;
}

class World implements FleetWorld {
  readonly provider: ChaosProvider;
  readonly valkey: ValkeyServer;
  readonly kills: number[] = [];
  readonly pauses: Span[] = [];
  readonly drains: Span[] = [];
  readonly versions: Version[];
  readonly violations: string[] = [];
  readonly #networks: readonly Network[];
  readonly #home: GatewayHome;
  readonly #members: Promise<GatewayProcess>[] = [];
  readonly #outputs: GatewayProcess[] = [];
  /** Members whose end is meant. */
  readonly #ending = new Set<GatewayProcess>();

  constructor({ provider, valkey, home, networks, config }: Parts) {
    this.provider = provider;
    this.valkey = valkey;
    this.#home = home;
    this.#networks = networks;
    this.versions = [{ config, writtenMs: 0, inForceMs: 0 }];
  }

  /** Starts the members one after another, because they share the machine. */
  async begin(): Promise<void> {
    for (let member = 0; member < MEMBERS; member++) await (this.#members[member] = this.#start(member));
  }

  async #start(member: number): Promise<GatewayProcess> {
    const process = await this.#home.start(
      '--data', join(this.#home.dataDir, String(member)), '--ledger',
      `valkey://127.0.0.1:${this.#networkOf(member).port}`,
    );
    this.#outputs.push(process);
    void process.exited.then((code) => {
      if (!this.#ending.has(process))
        this.violations.push(`a gateway ended by itself, with ${code}: ${process.output().slice(-2_000)}`);
    });
    return process;
  }

  #networkOf(member: number): Network {
    const network = this.#networks[member];
    if (!network) throw new Error('there is no such member');
    return network;
  }

  #member(member: number): Promise<GatewayProcess> {
    const process = this.#members[member];
    if (!process) throw new Error('there is no such member');
    return process;
  }

  async url(member: number): Promise<string> {
    return (await this.#member(member)).url;
  }

  async kill(member: number): Promise<void> {
    const process = await this.#member(member);
    this.#ending.add(process);
    await this.#during(async () => {
      await process.kill();
      this.kills.push(Date.now());
      await (this.#members[member] = this.#start(member));
    });
  }

  async stop(member: number, ms: number): Promise<void> {
    const process = await this.#member(member);
    await this.#during(async () => {
      process.signal('SIGSTOP');
      await sleep(ms);
      process.signal('SIGCONT');
    });
    // to the others it may have been dead
    this.kills.push(Date.now());
  }

  killServer(ms: number): Promise<void> {
    return this.#during(async () => {
      await this.valkey.kill();
      await sleep(ms);
      await this.valkey.start();
    });
  }

  stopServer(ms: number): Promise<void> {
    return this.#during(async () => {
      this.valkey.signal('SIGSTOP');
      await sleep(ms);
      this.valkey.signal('SIGCONT');
    });
  }

  async disconnect(): Promise<void> {
    await this.#during(async () => { await this.valkey.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'); });
  }

  async terminate(member: number): Promise<void> {
    const process = await this.#member(member);
    this.#ending.add(process);
    const drain = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.drains.push(drain);
    await this.#during(async () => {
      const code = await Promise.race([process.terminate(), sleep(DRAIN_MS, 'late' as const)]);
      if (code === 'late') await process.kill();
      if (code === 'late') this.kills.push(Date.now());
      else if (code !== 0) this.violations.push(`SIGTERM ended a gateway with ${code}`);
      await (this.#members[member] = this.#start(member));
    });
    drain.toMs = Date.now();
  }

  async disturb(member: number, trouble: Trouble, ms: number): Promise<void> {
    const network = this.#networkOf(member);
    await this.#during(async () => {
      network.trouble(trouble);
      await sleep(ms);
      network.heal();
    });
    // to the others it may have been dead
    if (ms > LEASE_MS) this.kills.push(Date.now());
  }

  async edit(edit: Edit): Promise<void> {
    const latest = this.versions.at(-1);
    if (!latest) throw new Error('there is always a version');
    const config = edited(latest.config, edit);
    const [before, after] = [manifestsOf(latest.config), manifestsOf(config)];
    this.versions.push({ config, writtenMs: Date.now(), inForceMs: Number.POSITIVE_INFINITY });
    for (const [file, yaml] of Object.entries(after)) if (before[file] !== yaml) await this.#home.write(file, yaml);
  }

  async #during(work: () => Promise<void>): Promise<void> {
    const pause = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.pauses.push(pause);
    await work();
    pause.toMs = Date.now();
  }

  output(): string {
    return this.#outputs.map((process) => process.output()).join('');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#outputs) this.#ending.add(process);
    await this.#home.remove();
    await Promise.all(this.#networks.map((network) => network.close()));
    await this.valkey[Symbol.asyncDispose]();
    await this.provider.stop();
  }
}
