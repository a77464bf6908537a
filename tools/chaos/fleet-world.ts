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
import { manifestsOf, platformManifest } from './config.ts';
import type { Config } from './config.ts';
import type { Span } from './gateway.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';

export const MEMBERS = 4;

export interface FleetWorld extends AsyncDisposable {
  readonly provider: ChaosProvider;
  readonly valkey: ValkeyServer;
  readonly kills: number[];
  readonly pauses: Span[];
  /** What must never happen. */
  readonly violations: string[];
  /** The address of a member's process, or of its next one. */
  url(member: number): Promise<string>;
  kill(member: number): Promise<void>;
  stop(member: number, ms: number): Promise<void>;
  killServer(ms: number): Promise<void>;
  stopServer(ms: number): Promise<void>;
  disconnect(): Promise<void>;
  /** What all processes have written. */
  output(): string;
}

export async function openFleet(config: Config): Promise<FleetWorld> {
  const provider = await startProvider();
  const valkey = await startValkey({ settings: [
    ['appendonly', 'yes'], ['appendfsync', 'always'], ['auto-aof-rewrite-percentage', '0'],
  ] });
  const home = await createHome({
    'platform.yaml': platformManifest({ url: provider.url, nobody: await refusingUrl() }), ...manifestsOf(config),
  });
  const world = new World(provider, valkey, home);
  await world.begin();
  return world;
}

class World implements FleetWorld {
  readonly provider: ChaosProvider;
  readonly valkey: ValkeyServer;
  readonly kills: number[] = [];
  readonly pauses: Span[] = [];
  readonly violations: string[] = [];
  readonly #home: GatewayHome;
  readonly #members: Promise<GatewayProcess>[] = [];
  readonly #outputs: GatewayProcess[] = [];
  /** Members whose end is meant. */
  readonly #ending = new Set<GatewayProcess>();

  constructor(provider: ChaosProvider, valkey: ValkeyServer, home: GatewayHome) {
    this.provider = provider;
    this.valkey = valkey;
    this.#home = home;
  }

  /** Starts the members one after another, because they share the machine. */
  async begin(): Promise<void> {
    for (let member = 0; member < MEMBERS; member++) await (this.#members[member] = this.#start(member));
  }

  async #start(member: number): Promise<GatewayProcess> {
    const process =
      await this.#home.start('--data', join(this.#home.dataDir, String(member)), '--ledger', this.valkey.url);
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
    await this.valkey[Symbol.asyncDispose]();
    await this.provider.stop();
  }
}
