/**
 * Reads the ledger on disk while another process writes it: what is spent and held at one moment, and the records of
 * calls. support/api/books.ts checks that the balances add up.
 */
import { join } from 'node:path';
import type { Hold } from '../../dataplane/ledger/balances.ts';
import { readKeySpending } from '../../dataplane/ledger/ledger-core.ts';
import type { BillLine } from '#price/bill.ts';
import { readLedgerOnDisk } from '../support/ledger-on-disk.ts';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS } from './config.ts';
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
}

/** The key's identity in the ledger. */
export function uidOf(name: KeyName): string {
  return `team/${name}`;
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
  return {
    spent: byName(
      KEY_NAMES,
      (name) => readKeySpending(balances, uidOf(name), { period: KEYS[name].period, nowMs }).spentNanoUsd,
    ),
    held: byName(KEY_NAMES, (name) => heldOf(({ key }) => key.uid === uidOf(name))),
    heldByCall: new Map(holds.map(({ origin: { callId }, grantedNanoUsd }) => [callId, grantedNanoUsd])),
    holds: byName(KEY_NAMES, (name) => holds.filter(({ key }) => key.uid === uidOf(name)).length),
    accountSpent: byName(ACCOUNT_NAMES, (name) => balances.accounts.get(`team/${name}`)?.spentNanoUsd ?? 0n),
    accountHeld: byName(ACCOUNT_NAMES, (name) => heldOf(({ account }) => account.id === `team/${name}`)),
  };
}

export function byName<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>;
}
