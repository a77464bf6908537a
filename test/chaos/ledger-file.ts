/**
 * Reads the ledger on disk while another process writes it: what is spent and held at one moment, and the records of
 * calls. support/api/books.ts checks that the balances add up.
 */
import { join } from 'node:path';
import type { Hold } from '../../dataplane/ledger/balances.ts';
import { readAccountSpending, readKeySpending } from '../../dataplane/ledger/ledger-core.ts';
import type { BillLine } from '#price/bill.ts';
import { readLedgerOnDisk } from '../support/ledger-on-disk.ts';
import type { WindowSpending } from '#ledger/spending.ts';
import { ACCOUNT_NAMES, ACCOUNT_WINDOWS, KEY_NAMES, KEYS } from './config.ts';
import type { AccountName, KeyName } from './config.ts';

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly output: number;
}

export interface LedgerRecord {
  readonly seq: number;
  readonly id: string;
  readonly key: string;
  readonly account: string;
  readonly group: string;
  readonly model: string;
  readonly channel: string;
  /** When the call was admitted. */
  readonly createdMs: number;
  readonly status: string;
  readonly usageSource: string;
  readonly tokens: Tokens;
  readonly costNanoUsd: bigint;
  readonly unbilledNanoUsd: bigint;
  /** Undefined: unknown. */
  readonly upstreamCostNanoUsd?: bigint;
  /** The lines of its bill; undefined: none. */
  readonly lines?: readonly BillLine[];
  /** Time from the call's arrival to its settlement, by its process's clock. */
  readonly durationMs: number;
}

/** Spending and holds at one moment. */
export interface Tally {
  /** Spending of a key in its period. */
  readonly spent: Readonly<Record<KeyName, bigint>>;
  readonly held: Readonly<Record<KeyName, bigint>>;
  readonly holds: Readonly<Record<KeyName, number>>;
  /** What each call holds, by its id. A store of several gateways is not asked for it. */
  readonly heldByCall?: ReadonlyMap<string, bigint>;
  readonly accountSpent: Readonly<Record<AccountName, bigint>>;
  readonly accountHeld: Readonly<Record<AccountName, bigint>>;
  /** When a key's current period began; null: it has none. */
  readonly startMs: Readonly<Record<KeyName, number | null>>;
  /** In the current ones of ACCOUNT_WINDOWS. */
  readonly accountWindows: Readonly<Record<AccountName, readonly WindowSpending[]>>;
}

/** The key's identity in the ledger. */
export function uidOf(name: KeyName): string {
  return `team/${name}`;
}

export function sumOfCosts(records: readonly LedgerRecord[]): bigint {
  return records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n);
}

/** Records after `afterSeq`, in the order of settlement. */
export function readRecords(dataDir: string, afterSeq: number): LedgerRecord[] {
  const ledger = readLedgerOnDisk(join(dataDir, 'ledger.db'), afterSeq);
  return ledger?.records.map(({ callId, keyUid, ...record }) => ({ ...record, id: callId, key: keyUid })) ?? [];
}

/** Undefined: there is no ledger yet. */
export function readTally(dataDir: string, nowMs = Date.now()): Tally | undefined {
  const ledger = readLedgerOnDisk(join(dataDir, 'ledger.db'), undefined);
  if (!ledger) return undefined;
  const { balances } = ledger;
  const holds = [...balances.holds.values()];
  const heldOf = (of: (hold: Hold) => boolean): bigint =>
    holds.reduce((sum, hold) => (of(hold) ? sum + hold.grantedNanoUsd : sum), 0n);
  const keys = byName(KEY_NAMES, (name) => readKeySpending(balances, uidOf(name), { ...KEYS[name], nowMs }));
  return {
    spent: byName(KEY_NAMES, (name) => keys[name].spentNanoUsd),
    startMs: byName(KEY_NAMES, (name) => keys[name].periodStartMs),
    held: byName(KEY_NAMES, (name) => keys[name].heldNanoUsd),
    heldByCall: new Map(holds.map(({ origin: { callId }, grantedNanoUsd }) => [callId, grantedNanoUsd])),
    holds: byName(KEY_NAMES, (name) => holds.filter(({ key }) => key.uid === uidOf(name)).length),
    accountSpent: byName(ACCOUNT_NAMES, (name) => balances.accounts.get(`team/${name}`)?.spentNanoUsd ?? 0n),
    accountHeld: byName(ACCOUNT_NAMES, (name) => heldOf(({ account }) => account.id === `team/${name}`)),
    accountWindows: byName(
      ACCOUNT_NAMES,
      (name) => readAccountSpending(balances.accounts.get(`team/${name}`), ACCOUNT_WINDOWS, nowMs).windows ?? [],
    ),
  };
}

export function byName<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>;
}
