/**
 * Polls the ledger on disk while calls run: spent and held of each key and account at one moment. A limit is never
 * exceeded; after a limit is lowered below what is spent and held, nothing may be added. No call costs more than it
 * holds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS } from './config.ts';
import type { ChannelName, Config, ModelName } from './config.ts';
import { readTally, uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import { CHANNEL_PRICES } from './price-extras.ts';

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
  ...KEY_NAMES.map((key): Limited => ({
    name: `key ${key}`,
    limit: ({ keys }) => keys[key].limitNanoUsd,
    used: ({ spent, held }) => spent[key] + held[key],
  })),
  ...ACCOUNT_NAMES.map((account): Limited => ({
    name: `account ${account}`,
    limit: ({ creditsNanoUsd }) => creditsNanoUsd[account],
    used: ({ accountSpent, accountHeld }) => accountSpent[account] + accountHeld[account],
  })),
];

/** A hold that was granted under an older limit is in the file a little later. */
const COMMIT_MS = 500;

/** The limits that were exceeded. `inForce`: the configurations that may have been in force between two moments. */
export function overspent(
  samples: readonly Sample[],
  inForce: (fromMs: number, toMs: number) => readonly Config[],
): string[] {
  return LIMITED.flatMap((limited) =>
    samples.flatMap((sample, index) => {
      const before = samples[index - 1];
      const limits = inForce((before?.fromMs ?? sample.fromMs) - COMMIT_MS, sample.toMs).map((config) =>
        limited.limit(config),
      );
      if (limits.includes(null)) return [];
      const used = limited.used(sample.tally);
      const most = limits.reduce<bigint>(
        (largest, limit) => (limit !== null && limit > largest ? limit : largest),
        before ? limited.used(before.tally) : 0n,
      );
      return used > most ? [`${limited.name} has spent and holds ${used}, of ${most}`] : [];
    }),
  );
}

/** Keys with more concurrent calls than allowed. */
export function overcrowded(
  samples: readonly Sample[],
  inForce: (fromMs: number, toMs: number) => readonly Config[],
): string[] {
  return KEY_NAMES.flatMap((key) =>
    samples.flatMap((sample, index) => {
      const before = samples[index - 1];
      const most = inForce((before?.fromMs ?? sample.fromMs) - COMMIT_MS, sample.toMs).map(
        ({ keys }) => keys[key].maxConcurrency,
      );
      if (most.includes(null)) return [];
      const count = sample.tally.holds[key];
      return count > Math.max(...most.map(Number), before?.tally.holds[key] ?? 0)
        ? [`key ${key} has ${count} calls at once, of ${most.join(' or ')}`]
        : [];
    }),
  );
}

/** A record, and the most that its call was seen to hold. */
interface Seen {
  readonly record: LedgerRecord;
  readonly heldNanoUsd: bigint;
}

/**
 * The calls whose hold was seen in a sample. Those that may have had another one afterwards are left out: after a retry
 * on a channel with its own price, and in another group.
 */
export function seenHolds(samples: readonly Sample[], records: readonly LedgerRecord[]): readonly Seen[] {
  const most = new Map<string, bigint>();
  for (const {
    tally: { heldByCall = [] },
  } of samples)
    for (const [id, held] of heldByCall) if (held > (most.get(id) ?? -1n)) most.set(id, held);
  const automatic = new Set(KEY_NAMES.filter((name) => KEYS[name].group === 'smart').map(uidOf));
  return records.flatMap((record) => {
    const { id, key, model, channel } = record;
    const heldNanoUsd = most.get(id);
    const hasOwnPrice = CHANNEL_PRICES[model as ModelName]?.[channel as ChannelName] !== undefined;
    return heldNanoUsd === undefined || hasOwnPrice || automatic.has(key) ? [] : [{ record, heldNanoUsd }];
  });
}

/** The calls that cost more than was held for them, whether or not there was money for it. */
export function beyondHolds(samples: readonly Sample[], records: readonly LedgerRecord[]): string[] {
  return seenHolds(samples, records).flatMap(({ record, heldNanoUsd }) => {
    const { id, model, channel, status, costNanoUsd, unbilledNanoUsd } = record;
    const cost = costNanoUsd + unbilledNanoUsd;
    if (cost <= heldNanoUsd) return [];
    return [`${id} (${model} on ${channel}, ${status}) held ${heldNanoUsd}, and costs ${cost}`];
  });
}
