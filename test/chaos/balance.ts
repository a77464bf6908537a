/** Checks the books as a whole: records add up to what is spent, and keys are told the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ANSWER_MS } from './admin.ts';
import { ACCOUNT_NAMES, KEY_NAMES, KEYS, keyString } from './config.ts';
import type { KeyName } from './config.ts';
import { sumOfCosts, uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import { spentUnder, windowOfKey } from './windows.ts';
import type { World } from './world.ts';

const POLL_MS = 250;

/** `records`: all that there are. Keys whose spending is that of a window are left out (windows.ts). */
export function balance({ accountSpent, spent }: Tally, records: readonly LedgerRecord[]): string[] {
  return [
    ...ACCOUNT_NAMES.map((name) => ({
      name: `account ${name}`,
      said: accountSpent[name],
      total: sumOfCosts(records.filter(({ account }) => account === `team/${name}`)),
    })),
    ...KEY_NAMES.filter((name) => !windowOfKey(name)).map((name) => ({
      name: `key ${name}`,
      said: spent[name],
      total: sumOfCosts(records.filter(({ key }) => key === uidOf(name))),
    })),
  ]
    .filter(({ said, total }) => said !== total)
    .map(({ name, said, total }) => `${name} has spent ${said}, and its records add up to ${total}`);
}

/** What a member tells keys of their money is what is in the books. */
export async function keysTell(world: World, member: number): Promise<string[]> {
  await untilStoreReached(world, member);
  const found = await askKeys(world, member);
  // a window may have ended between the two
  return found.length === 0 ? [] : askKeys(world, member);
}

/** On a busy machine, a member may lose a connection that it had when the round came to rest. */
async function untilStoreReached(world: World, member: number): Promise<void> {
  const { keys } = world.config;
  const name = KEY_NAMES.find((each) => keys[each].enabled);
  if (!name) return;
  const untilMs = Date.now() + ANSWER_MS;
  while (Date.now() < untilMs) {
    const { status } = await askKey(await world.url(member), keyString(name, keys[name].rotation));
    if (status !== 503) return;
    await sleep(POLL_MS);
  }
}

async function askKeys(world: World, member: number): Promise<string[]> {
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
  const { status, body } = await askKey(url, keyString(name, config.keys[name].rotation));
  const limits = config.accountLimits[KEYS[name].account];
  const left = config.creditsNanoUsd[KEYS[name].account] - tally.accountSpent[KEYS[name].account];
  const expected = [tally.spent[name], 0n, left, ...limits.map((limit) => spentUnder(tally, KEYS[name].account, limit))]
    .map(String)
    .join(', ');
  const saidOfLimits = body.account_limits?.map(({ spent_usd: spent }) => spent) ?? [];
  const said = [body.spent_usd, body.held_usd, body.balance_usd, ...saidOfLimits]
    .map((each) => String(nano(each ?? '')))
    .join(', ');
  return status === 200 && said === expected
    ? []
    : [
        `${uidOf(name)} is told ${status} ${body.error?.message ?? ''}: spent, held, balance, spent under limits ${said}; the books say ${expected}`,
      ];
}

/** What the key with this string is told that it has spent, in nano-USD. */
export async function spentOf(url: string, key: string): Promise<bigint> {
  const { body } = await askKey(url, key);
  return nano(body.spent_usd ?? '');
}

interface ToldKey {
  readonly spent_usd?: string;
  readonly held_usd?: string;
  readonly balance_usd?: string;
  readonly account_limits?: readonly { readonly spent_usd: string }[];
  readonly error?: { readonly message?: string };
}

async function askKey(url: string, key: string): Promise<{ readonly status: number; readonly body: ToldKey }> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/key`, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  return { status: response.status, body: (await response.json()) as ToldKey };
}

/** A decimal of USD in nano-USD. */
function nano(decimalUsd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimalUsd) ?? [];
  const amount = BigInt(whole + fraction.padEnd(9, '0'));
  return sign === '-' ? -amount : amount;
}
