/** Checks the books as a whole: records add up to what is spent, and keys are told the same. */
import { ANSWER_MS } from './admin.ts';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS, keyString } from './config.ts';
import type { KeyName } from './config.ts';
import { uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import type { World } from './world.ts';

/** `records`: all that there are. A key's spending is that of its period. */
export function balance(
  { accountSpent, spent }: Tally,
  records: readonly LedgerRecord[],
  nowMs = Date.now(),
): string[] {
  const sum = (mine: readonly LedgerRecord[]): bigint =>
    mine.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
  return [
    ...ACCOUNT_NAMES.map((name) => ({
      name: `account ${name}`,
      said: accountSpent[name],
      total: sum(records.filter(({ account }) => account === `team/${name}`)),
    })),
    ...KEY_NAMES.map((name) => ({
      name: `key ${name}`,
      said: spent[name],
      total: sum(
        records.filter(({ key, createdMs }) => key === uidOf(name) && createdMs >= periodStartMs(name, nowMs)),
      ),
    })),
  ]
    .filter(({ said, total }) => said !== total)
    .map(({ name, said, total }) => `${name} has spent ${said}, and its records add up to ${total}`);
}

function periodStartMs(name: KeyName, nowMs: number): number {
  const now = new Date(nowMs);
  switch (KEYS[name].period) {
    case 'Never':
      return 0;
    case 'Daily':
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
    case 'Monthly':
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  }
}

/** What a member tells keys of their money is what is in the books. */
export async function keysTell(world: World, member: number): Promise<string[]> {
  const [tally, url] = [await world.books.tally(), await world.url(member)];
  const { keys } = world.config;
  const told = KEY_NAMES.filter((name) => keys[name].enabled).map((name) => keyTells({ world, tally, url }, name));
  return (await Promise.all(told)).flat();
}

interface Asking {
  readonly world: World;
  readonly tally: Tally;
  readonly url: string;
}

async function keyTells({ world: { config }, tally, url }: Asking, name: KeyName): Promise<string[]> {
  const response = await fetch(`${url}/v1/key`, {
    headers: { authorization: `Bearer ${keyString(name, config.keys[name].rotation)}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const body = (await response.json()) as {
    spent_usd?: string;
    held_usd?: string;
    balance_usd?: string;
    error?: { code?: string };
  };
  const left = config.creditsNanoUsd[KEYS[name].account] - tally.accountSpent[KEYS[name].account];
  const expected = [tally.spent[name], 0n, left].map(String).join(', ');
  const said = [body.spent_usd, body.held_usd, body.balance_usd].map((each) => String(nano(each ?? ''))).join(', ');
  return response.status === 200 && said === expected
    ? []
    : [
        `${uidOf(name)} is told ${response.status} ${body.error?.code ?? ''}: spent, held, balance ${said}; the books say ${expected}`,
      ];
}

/** A decimal of USD in nano-USD. */
export function nano(decimalUsd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimalUsd) ?? [];
  const amount = BigInt(whole + fraction.padEnd(9, '0'));
  return sign === '-' ? -amount : amount;
}
