/**
 * Polls the ledger on disk while calls run: spent and held of each key and account at one moment. A limit is never
 * exceeded; after a limit is lowered below what is spent and held, nothing may be added. No call costs more than it
 * holds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS } from './config.ts';
import type { AccountName, ChannelName, Config, ModelName } from './config.ts';
import { readTally, uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import { CHANNEL_PRICES } from './price-extras.ts';
import { WINDOWED, windowOfKey } from './windows.ts';

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
  readonly limit: (config: Config) => bigint | null;
  readonly used: (tally: Tally) => Used;
}

/** What is spent and held, in the window that began at `startMs`; without it, in total. */
interface Used {
  readonly nanoUsd: bigint;
  readonly startMs?: number;
}

const LIMITED: readonly Limited[] = [
  ...KEY_NAMES.filter((key) => !windowOfKey(key)).map((key): Limited => ({
    name: `key ${key}`,
    limit: ({ keys }) => keys[key].limitNanoUsd,
    used: ({ spent, held }) => ({ nanoUsd: spent[key] + held[key] }),
  })),
  ...ACCOUNT_NAMES.map((account): Limited => ({
    name: `account ${account}`,
    limit: (config) => totalOf(config, account),
    used: ({ accountSpent, accountHeld }) => ({ nanoUsd: accountSpent[account] + accountHeld[account] }),
  })),
  ...WINDOWED.map(({ name, limit, told }): Limited => ({
    name,
    limit,
    used(tally) {
      const { startMs, spentNanoUsd, heldNanoUsd } = told(tally);
      return { nanoUsd: spentNanoUsd + heldNanoUsd, startMs };
    },
  })),
];

/** An account's credit, or a limit of its total that is lower. */
function totalOf({ creditsNanoUsd, accountLimits }: Config, account: AccountName): bigint {
  const totals = accountLimits[account].filter(({ window }) => window === 'Total').map(({ nanoUsd }) => nanoUsd);
  return totals.reduce((low, each) => (each < low ? each : low), creditsNanoUsd[account]);
}

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
        usedBefore(used, before && limited.used(before.tally)),
      );
      return used.nanoUsd > most ? [`${limited.name} has spent and holds ${used.nanoUsd}, of ${most}`] : [];
    }),
  );
}

/** What was used in the same window, or in total, at the sample before. */
function usedBefore(used: Used, before: Used | undefined): bigint {
  // an earlier round may have used more of the window than this one's limits allow
  if (!before) return used.startMs === undefined ? 0n : used.nanoUsd;
  return before.startMs === used.startMs ? before.nanoUsd : 0n;
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
