/**
 * Reads the books on Valkey or a Valkey Cluster while gateways write them: for samples while calls run, and for the
 * reconciliation.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openValkeyReader } from '../../dataplane/ledger/valkey-reader.ts';
import type { ValkeyReader } from '#ledger/shared-reader.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { ACCOUNT_NAMES, ACCOUNT_WINDOWS, KEY_NAMES, KEYS } from './config.ts';
import { byName, uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import type { Sample, Watch } from './watch.ts';

const PAUSE_MS = 60;

export interface Books {
  tally(): Promise<Tally>;
  records(): Promise<LedgerRecord[]>;
  /** The names of leftover keys in the store. */
  leaks(): Promise<string[]>;
  /** What contradicts itself in the store. */
  contradictions(): Promise<string[]>;
  watch(): Watch;
  close(): void;
}

/** `nodes`: the servers at `url`. */
export function openBooks(url: string, nodes: readonly ValkeyServer[]): Books {
  const reader = openValkeyReader(url);
  const tally = (): Promise<Tally> => readTally(reader);
  return {
    tally,
    async records() {
      const records = await Array.fromAsync(reader.records({}));
      return records.map(({ callId, keyUid, ...record }, seq) => ({ ...record, seq, id: callId, key: keyUid }));
    },
    leaks: async () => (await Promise.all(nodes.map(leaksOf))).flat(),
    contradictions: async () => [],
    watch() {
      const samples: Sample[] = [];
      const stopping = new AbortController();
      const watching = (async () => {
        while (!stopping.signal.aborted) {
          const fromMs = Date.now();
          // nothing can be read while the server is away
          const seen = await tally().catch(() => undefined);
          if (seen) samples.push({ fromMs, toMs: Date.now(), tally: seen });
          await sleep(PAUSE_MS);
        }
      })();
      return {
        async stop() {
          stopping.abort();
          await watching;
          return samples;
        },
      };
    },
    close: () => reader.close(),
  };
}

async function leaksOf(node: ValkeyServer): Promise<string[]> {
  // a dead process's slot is removed when another call wants it; until then its lease has expired
  const slots = asNames(await node.command('KEYS', '{mgw*}:z:*'));
  const taken = await Promise.all(
    slots.map(async (name) => [name, Number(await node.command('ZCOUNT', name, String(Date.now()), '+inf'))] as const),
  );
  return [
    ...asNames(await node.command('KEYS', '{mgw*}:[ou]:*')),
    ...taken.filter(([, count]) => count > 0).map(([name]) => name),
  ];
}

/** The figures of each key and account are of one moment. Concurrent calls are not counted. */
async function readTally(reader: ValkeyReader): Promise<Tally> {
  const [keys, accounts] = await Promise.all([
    Promise.all(
      KEY_NAMES.map(
        async (name) => [name, await reader.readKey(uidOf(name), KEYS[name], `team/${KEYS[name].account}`)] as const,
      ),
    ),
    Promise.all(
      ACCOUNT_NAMES.map(async (name) => [name, await reader.readAccount(`team/${name}`, ACCOUNT_WINDOWS)] as const),
    ),
  ]);
  const [key, account] = [new Map(keys), new Map(accounts)];
  return {
    spent: byName(KEY_NAMES, (name) => key.get(name)?.spentNanoUsd ?? 0n),
    held: byName(KEY_NAMES, (name) => key.get(name)?.heldNanoUsd ?? 0n),
    holds: byName(KEY_NAMES, () => 0),
    accountSpent: byName(ACCOUNT_NAMES, (name) => account.get(name)?.spentNanoUsd ?? 0n),
    accountHeld: byName(ACCOUNT_NAMES, (name) => account.get(name)?.heldNanoUsd ?? 0n),
    startMs: byName(KEY_NAMES, (name) => key.get(name)?.periodStartMs ?? null),
    accountWindows: byName(ACCOUNT_NAMES, (name) => account.get(name)?.windows ?? []),
  };
}

function asNames(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
