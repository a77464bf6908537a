/**
 * Polls the ledger on disk while calls run: spent and held of each key and account at one moment. A limit is never
 * exceeded; after a limit is lowered below what is spent and held, nothing may be added.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES } from './config.ts';
import type { Config } from './config.ts';
import { readTally } from './ledger-file.ts';
import type { Tally } from './ledger-file.ts';

export interface Sample {
  /** Between these, in milliseconds since the epoch, the file was as it is here. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly tally: Tally;
}

const PAUSE_MS = 40;

export interface Watch {
  stop(): Promise<readonly Sample[]>;
}

export function watchLedger(dataDir: string): Watch {
  const samples: Sample[] = [];
  const stopping = new AbortController();
  const look = (): void => {
    const fromMs = Date.now();
    const tally = readTally(dataDir);
    if (tally) samples.push({ fromMs, toMs: Date.now(), tally });
  };
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      look();
      await sleep(PAUSE_MS);
    }
    look();
  })();
  return {
    async stop() {
      stopping.abort();
      await watching;
      return samples;
    },
  };
}

/** A key or an account with a limit. */
interface Limited {
  readonly name: string;
  /** null: no limit. */
  limit(config: Config): bigint | null;
  used(tally: Tally): bigint;
}

const LIMITED: readonly Limited[] = [
  ...KEY_NAMES.map((key): Limited => ({ name: `key ${key}`, limit: ({ keys }) =>
    keys[key].limitNanoUsd, used: ({ spent, held }) => spent[key] + held[key] })),
  ...ACCOUNT_NAMES.map((account): Limited => ({
    name: `account ${account}`, limit: ({ creditsNanoUsd }) =>
      creditsNanoUsd[account], used: ({ accountSpent, accountHeld }) => accountSpent[account] + accountHeld[account],
  })),
];

/** A hold that was granted under an older limit is in the file a little later. */
const COMMIT_MS = 500;

/** The limits that were exceeded. `inForce`: the configurations that may have been in force between two moments. */
export function overspent(
  samples: readonly Sample[], inForce: (fromMs: number, toMs: number) => readonly Config[],
): string[] {
  return LIMITED.flatMap((limited) => samples.flatMap((sample, index) => {
    const before = samples[index - 1];
    const limits =
      inForce((before?.fromMs ?? sample.fromMs) - COMMIT_MS, sample.toMs).map((config) => limited.limit(config));
    if (limits.includes(null)) return [];
    const used = limited.used(sample.tally);
    const most = limits.reduce<bigint>((largest, limit) =>
      limit !== null && limit > largest ? limit : largest, before ? limited.used(before.tally) : 0n);
    return used > most ? [`${limited.name} has spent and holds ${used}, of ${most}`] : [];
  }));
}

/** Keys with more concurrent calls than allowed. */
export function overcrowded(
  samples: readonly Sample[], inForce: (fromMs: number, toMs: number) => readonly Config[],
): string[] {
  return KEY_NAMES.flatMap((key) => samples.flatMap((sample, index) => {
    const before = samples[index - 1];
    const most =
      inForce((before?.fromMs ?? sample.fromMs) - COMMIT_MS, sample.toMs).map(({ keys }) => keys[key].maxConcurrency);
    if (most.includes(null)) return [];
    const count = sample.tally.holds[key];
    return count > Math.max(...most.map(Number), before?.tally.holds[key] ?? 0)
      ? [`key ${key} has ${count} calls at once, of ${most.join(' or ')}`]
      : [];
  }));
}
