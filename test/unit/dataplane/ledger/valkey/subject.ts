/**
 * Ledgers on a real server. A crash is what the server sees of a killed process: it is silent, and its holds stay until
 * another process finds it dead.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import type { ValkeyLedgerOptions } from '../../../../../dataplane/ledger/valkey.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from '../../../../../dataplane/ledger/valkey/location.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import type { TestClock } from '../calls.ts';
import type { LedgerUnderTest } from '../contract-scenario.ts';

/** Long timeouts, since a busy machine must not fail other tests; advancing the clock by days must not end leases. */
export const LONG_TIMEOUT = { timeoutMs: 60_000, refillMs: 0, leaseMs: 1e12, generationMs: 1e15 };

type Options = Omit<ValkeyLedgerOptions, 'url'>;

/** With a key prefix of its own, so that tests can share a server. */
export async function openSubject(
  server: Pick<ValkeyServer, 'url' | 'command'>,
  clock: TestClock,
  options: Options = {},
): Promise<LedgerUnderTest> {
  const prefix = `t${randomUUID().slice(0, 8)}`;
  return openIn(
    { server, prefix, query: '' },
    { ...options, over: { ...LONG_TIMEOUT, clock: () => clock.nowMs, ...options.over } },
  );
}

export interface StoreLocation {
  readonly server: Pick<ValkeyServer, 'url' | 'command'>;
  readonly prefix: string;
  /** Additional parameters of the URL, each with its `&`. */
  readonly query: string;
}

export function urlOf({ server, prefix, query }: StoreLocation): string {
  return `${server.url}?prefix=${prefix}${query}`;
}

/** Makes this instance appear silent for long, in the buckets of these accounts. */
export async function declareDead(place: StoreLocation, instance: string, accounts = ['team-a/team-a']): Promise<void> {
  const bases = bucketBases(parseValkeyUrl(urlOf(place)));
  for (const base of new Set(accounts.map((account) => bases[bucketOf(account, bases.length)]))) {
    // a confirmation in flight would show that it is alive
    while ((await place.server.command('EXISTS', `${base}u:${instance}`)) !== 0) await sleep(5);
    await place.server.command('HSET', `${base}i`, instance, '0,0');
  }
}

async function openIn(place: StoreLocation, options: Options): Promise<LedgerUnderTest> {
  const instance = randomUUID();
  const ledger = await openValkeyLedger({ ...options, url: urlOf(place), over: { ...options.over, instance } });
  let next: LedgerUnderTest | undefined;
  return {
    ledger,
    crash: async () => {
      await ledger.close();
      await declareDead(place, instance);
      return (next = await openIn(place, options));
    },
    reopen: async () => {
      await ledger.close();
      return (next = await openIn(place, options));
    },
    close: async () => {
      await ledger.close();
      await next?.close();
    },
  };
}
