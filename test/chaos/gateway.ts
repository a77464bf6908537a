/**
 * The gateway's life over all rounds: one process after the other on the same data, each with its end; and the
 * configuration's versions, each with the time from which it can be in force and from which it is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createHome } from '../support/api/process.ts';
import type { GatewayHome, GatewayProcess } from '../support/api/process.ts';
import { manifestsOf, platformManifest } from './config.ts';
import type { Config, Places } from './config.ts';

/** Milliseconds since the epoch throughout. */
export interface Version {
  readonly config: Config;
  readonly writtenMs: number;
  /** Infinity: not yet. */
  inForceMs: number;
}

export interface Span {
  readonly fromMs: number;
  toMs: number;
}

export interface Happened {
  readonly versions: Version[];
  /** When the process was killed. */
  readonly kills: number[];
  /** When it stood still, or was not there. */
  readonly pauses: Span[];
  /** When it was told to end, until it had. */
  readonly drains: Span[];
  /** What must never happen. */
  readonly violations: string[];
}

export interface Gateway {
  readonly dataDir: string;
  /** The configuration as written, whether or not it is in force yet. */
  readonly config: Config;
  /** The address of the running process, or of the next one. */
  url(): Promise<string>;
  /** What has happened since it was asked last. */
  happened(): Happened;
  /** The page of metrics. */
  metrics(): Promise<string>;
  /** Writes what differs. Resolves when it is in force. */
  apply(config: Config): Promise<void>;
  kill(): Promise<void>;
  stop(ms: number, thenKill: boolean): Promise<void>;
  terminate(): Promise<void>;
  /** What the processes have written since it was asked last. */
  takeOutput(): string;
  close(): Promise<void>;
}

const IN_FORCE_DEADLINE_MS = 10_000;
/** A process that is not stopped answers sooner. */
export const ANSWER_MS = 10_000;
/** Longer than any call may take. */
const DRAIN_DEADLINE_MS = 20_000;
/** Time for any number of files to be noticed and read. */
export const SETTLED_MS = 1_500;

export async function startChaosGateway(places: Places, config: Config): Promise<Gateway> {
  const home = await createHome({ 'platform.yaml': platformManifest(places), ...manifestsOf(config) });
  const life = new Life(home, config);
  await life.begin();
  return life;
}

class Life implements Gateway {
  readonly #home: GatewayHome;
  #config: Config;
  #process: GatewayProcess | undefined;
  #running = Promise.withResolvers<GatewayProcess>();
  /** The end that is on its way is meant. */
  #ending = false;
  #happened: Happened;
  #outputs: { readonly process: GatewayProcess; read: number }[] = [];

  constructor(home: GatewayHome, config: Config) {
    this.#home = home;
    this.#config = config;
    this.#happened = nothing({ config, writtenMs: 0, inForceMs: 0 });
  }

  get dataDir(): string {
    return this.#home.dataDir;
  }

  get config(): Config {
    return this.#config;
  }

  async url(): Promise<string> {
    return (await this.#running.promise).url;
  }

  async begin(): Promise<void> {
    const startedMs = Date.now();
    const process = await this.#home.start();
    this.#process = process;
    this.#outputs.push({ process, read: 0 });
    for (const version of this.#happened.versions)
      if (version.writtenMs <= startedMs) version.inForceMs = Math.min(version.inForceMs, Date.now());
    void process.exited.then((code) => this.#exited(process, code));
    this.#ending = false;
    this.#running.resolve(process);
  }

  /** A process that nobody ended is followed by another, so that the round can go on. */
  #exited(process: GatewayProcess, code: number | null): void {
    if (this.#ending || process !== this.#process) return;
    this.#happened.violations.push(`the gateway ended by itself, with ${code}: ${process.output().slice(-2_000)}`);
    const next = (this.#running = Promise.withResolvers());
    this.#ending = true;
    this.begin().catch(next.reject);
  }

  happened(): Happened {
    const { versions, ...rest } = this.#happened;
    const latest = versions.at(-1);
    if (!latest) throw new Error('there is always a version');
    this.#happened = nothing(latest);
    return { versions, ...rest };
  }

  async metrics(): Promise<string> {
    const { adminUrl } = await this.#running.promise;
    return (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) })).text();
  }

  async apply(config: Config): Promise<void> {
    const [before, after] = [manifestsOf(this.#config), manifestsOf(config)];
    const changed = Object.entries(after).filter(([file, yaml]) => before[file] !== yaml);
    this.#config = config;
    if (changed.length === 0) return;
    const process = await this.#running.promise;
    const generation = await generationOf(process, ANSWER_MS);
    const version: Version = { config, writtenMs: Date.now(), inForceMs: Number.POSITIVE_INFINITY };
    this.#happened.versions.push(version);
    for (const [file, yaml] of changed) await this.#home.write(file, yaml);
    const untilMs = Date.now() + IN_FORCE_DEADLINE_MS + this.#pausedMs();
    while (version.inForceMs === Number.POSITIVE_INFINITY) {
      if (Date.now() > untilMs)
        return void this.#happened.violations.push(
          `an edit of ${changed.map(([file]) => file).join()} is not in force after ${IN_FORCE_DEADLINE_MS} ms`,
        );
      await this.#look(version, process, generation);
    }
    // several files may have been read at different times
    if (changed.length > 1) await sleep(SETTLED_MS);
  }

  /**
   * Notes that this version is in force once the process says so. A process that has started since then has read the
   * files already.
   */
  async #look(version: Version, process: GatewayProcess, generation: string | undefined): Promise<void> {
    if (process !== this.#process || generation === undefined) {
      await this.#running.promise;
      await sleep(SETTLED_MS);
      version.inForceMs = Math.min(version.inForceMs, Date.now());
      return;
    }
    const now = await generationOf(process, ANSWER_MS);
    if (now !== undefined && now !== generation) version.inForceMs = Math.min(version.inForceMs, Date.now());
    else await sleep(20);
  }

  #pausedMs(): number {
    return this.#happened.pauses.length * 3_000;
  }

  async kill(): Promise<void> {
    const process = await this.#down();
    const pause = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.#happened.pauses.push(pause);
    await process.kill();
    this.#happened.kills.push(Date.now());
    await this.begin();
    pause.toMs = Date.now();
  }

  async stop(ms: number, thenKill: boolean): Promise<void> {
    const process = await this.#running.promise;
    const pause = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.#happened.pauses.push(pause);
    process.signal('SIGSTOP');
    await sleep(ms);
    if (thenKill) {
      await this.kill();
    } else {
      process.signal('SIGCONT');
    }
    pause.toMs = Date.now();
  }

  async terminate(): Promise<void> {
    const process = await this.#down();
    const drain = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    this.#happened.drains.push(drain);
    const code = await Promise.race([process.terminate(), sleep(DRAIN_DEADLINE_MS, 'late' as const)]);
    if (code === 'late') await process.kill();
    drain.toMs = Date.now();
    if (code === 'late') this.#happened.kills.push(drain.toMs);
    if (code !== 0)
      this.#happened.violations.push(
        code === 'late'
          ? `SIGTERM did not end the gateway in ${DRAIN_DEADLINE_MS} ms`
          : `SIGTERM ended the gateway with ${code}`,
      );
    await this.begin();
  }

  /** Takes the process down; clients now wait for the next one. */
  async #down(): Promise<GatewayProcess> {
    const process = await this.#running.promise;
    this.#ending = true;
    this.#running = Promise.withResolvers();
    return process;
  }

  takeOutput(): string {
    const text = this.#outputs
      .map((each) => {
        const output = each.process.output();
        const fresh = output.slice(each.read);
        each.read = output.length;
        return fresh;
      })
      .join('');
    this.#outputs = this.#outputs.filter(({ process }) => process === this.#process);
    return text;
  }

  async close(): Promise<void> {
    this.#ending = true;
    await this.#home.remove();
  }
}

function nothing(version: Version): Happened {
  return { versions: [version], kills: [], pauses: [], drains: [], violations: [] };
}

/** The generation of the configuration in force; undefined if the process does not answer in so many milliseconds. */
export async function generationOf({ adminUrl }: GatewayProcess, timeoutMs: number): Promise<string | undefined> {
  try {
    const page = await (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(timeoutMs) })).text();
    return /^modelgateway_config_generation (\S+)/m.exec(page)?.[1];
  } catch {
    return undefined;
  }
}

/** Sums a metric over all its label sets. */
export function sumOfMetric(page: string, name: string): number {
  const lines = [...page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  if (lines.length === 0) throw new Error(`there is no metric ${name}`);
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}
