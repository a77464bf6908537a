/**
 * Loss of power, as far as processes can play it. With `appendfsync always` a server answers when what it did is on the
 * disk. So a disk that keeps its word has what was acknowledged, and of what the server wrote after that any part, also
 * half a command. Here the server is killed under load, with steps written and not answered, and goes on from its file
 * cut at such places. The ledger has no journal: what is there afterwards is the server's.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, test } from 'vitest';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { valkey } from '../../../../support/valkey.ts';
import type { ValkeyServer } from '../../../../support/valkey.ts';
import { holdRequest, settlement } from '../calls.ts';
import { cutAppended, muteable, readAppended } from './append-only-file.ts';
import type { Muted, Written } from './append-only-file.ts';
import { endScene, eventually, isReady, open, start } from './scene.ts';
import type { Event } from './scene.ts';

/** No rewrite in between, so that all of it is in one file. */
const KEPT = {
  settings: [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['aof-load-truncated', 'yes'],
    ['auto-aof-rewrite-percentage', '0'],
  ],
} as const;
const LANES = 24;
const HELD = 10n;
const CREDIT = 6_000n;
const BEFORE = 200;
const LONG_TIMEOUT = { timeoutMs: 60_000 };
const SETTLING_MS = 20;

let between: Muted | undefined;

/** The remaining file: acknowledged data is before `acknowledged`, followed by `rest`. */
type Cut = (acknowledged: number, rest: readonly Written[]) => number;

const CUTS: readonly (readonly [string, Cut])[] = [
  ['nothing but what was acknowledged', (acknowledged) => acknowledged],
  ['half a command more', (acknowledged, rest) => acknowledged + Math.floor(firstOf(rest).length / 2)],
  ['some commands of a batch more', (_acknowledged, rest) => firstOf(rest).within],
  ['all but the last byte', (_acknowledged, rest) => lastOf(rest) - 1],
  ['all that was written', (_acknowledged, rest) => lastOf(rest)],
];

describe.skipIf(valkey.skip)('the ledger on Valkey, when its machine loses power', () => {
  afterEach(async () => {
    await endScene();
    await between?.close();
  });

  for (const [name, cut] of CUTS) {
    test(`loses, doubles and overspends nothing acknowledged if the disk has ${name}`, async () => {
      const { settled, ledger, events } = await losePower(cut);
      await eventually(
        'what was not answered is withdrawn',
        async () => isReady(ledger)() && (await ledger.readAccount('team-a/team-a')).heldNanoUsd === 0n,
      );
      const costs = [...settled.values()];
      const spent = costs.reduce((sum, cost) => sum + cost, 0n);
      assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: spent, heldNanoUsd: 0n });
      assert.equal((await ledger.readKey('key-1', 'Never')).totalSpentNanoUsd, spent);
      assert.ok(spent <= CREDIT && spent > CREDIT - 2n * HELD, `${spent} spent`);
      const known = await Promise.all([...settled.keys()].map((id) => ledger.readUsage('key-1', id)));
      assert.deepEqual(
        known.map((record) => record?.costNanoUsd),
        costs,
      );
      assert.deepEqual(
        events.filter(({ kind }) => kind === 'LostWrites' || kind === 'Emptied'),
        [],
      );
    });
  }

  test('detects a disk with less than was acknowledged', async () => {
    const { events } = await losePower((acknowledged) => acknowledged - 1);
    assert.ok(events.some(({ kind }) => kind === 'LostWrites'));
  });
});

interface Survived {
  /** The acknowledged calls with their costs. */
  readonly settled: ReadonlyMap<string, bigint>;
  readonly ledger: Ledger;
  readonly events: readonly Event[];
}

/** Makes calls until the account's credit is used up; meanwhile the server loses the data after the cut. */
async function losePower(cut: Cut): Promise<Survived> {
  const server = await start(KEPT);
  between = await muteable(server);
  const { ledger, events } = await open(server, { url: between.url, over: LONG_TIMEOUT });
  const { held, settled, ended } = load(ledger);
  await eventually('there were some calls', () => settled.size >= BEFORE);
  between.mute();
  // replies that had arrived count as acknowledged, and nothing later
  await sleep(SETTLING_MS);
  const end = await endOf(server, { answered: between.answered(), holds: [...held], calls: [...settled.keys()] });
  await eventually('more was written', async () => restOf(await readAppended(server), end).length > 0);
  await server.kill();
  await cutAppended(server, cut(end, restOf(await readAppended(server), end)));
  between.speak();
  await server.start();
  await ended;
  return { settled, ledger, events };
}

/** Each lane continues until the credit is used up. Acknowledgements are recorded at once. */
function load(ledger: Ledger): {
  held: ReadonlySet<string>;
  settled: ReadonlyMap<string, bigint>;
  ended: Promise<unknown>;
} {
  const held = new Set<string>();
  const settled = new Map<string, bigint>();
  let calls = 0;
  const call = async (restMs: number): Promise<boolean> => {
    const id = `call-${calls++}`;
    try {
      const { outcome } = await ledger.admit(holdRequest(id, HELD, { limits: { accountCreditNanoUsd: CREDIT } }));
      if (outcome !== 'Held') return false;
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error;
      await sleep(5);
      return true;
    }
    held.add(id);
    await sleep(restMs);
    const { record } = await ledger.settle(settlement(id, BigInt(5 + (calls % 6))));
    settled.set(id, record.costNanoUsd);
    return true;
  };
  // at different speeds, so that holds and settlements are in flight together
  const ended = Promise.all(
    Array.from({ length: LANES }, async (_none, lane) => {
      while (await call(lane % 4));
    }),
  );
  return { held, settled, ended };
}

interface Acknowledged {
  /** The number of batches with a reply. */
  readonly answered: number;
  readonly holds: readonly string[];
  readonly calls: readonly string[];
}

/** The end of the last batch with a reply; everything that callers know is before it. */
async function endOf(server: ValkeyServer, { answered, holds, calls }: Acknowledged): Promise<number> {
  const batches = (await readAppended(server)).filter(({ commands }) => commands.some(isBatch)).slice(0, answered);
  const missing = new Set([...holds.map((id) => `hold ${id}`), ...calls.map((id) => `record ${id}`)]);
  for (const { commands } of batches)
    for (const { words } of commands) for (const what of saidBy(words)) missing.delete(what);
  assert.deepEqual([...missing], [], 'acknowledged, and not written');
  assert.equal(batches.length, answered);
  return batches.at(-1)?.to ?? 0;
}

/** Each batch notes when its instance was heard of. */
function isBatch({ words: [name = '', key = ''] }: Written['commands'][number]): boolean {
  return name.toUpperCase() === 'HSET' && key.endsWith('}:i');
}

/**
 * What a command of the script says has happened: a hold is noted with its instance, a settlement in its account's
 * stream.
 */
function saidBy([name = '', key = '', ...rest]: readonly string[]): string[] {
  if (name.toUpperCase() === 'SADD' && key.includes('}:u:')) return rest.map((id) => `hold ${id}`);
  if (name.toUpperCase() === 'XADD') return [`record ${rest[rest.indexOf('r') + 1]?.split('\t')[0]}`];
  return [];
}

function restOf(all: readonly Written[], end: number): Written[] {
  return all.filter(({ from, commands }) => from >= end && commands.length > 2);
}

/**
 * Of the first that came after it: how long its first command with words is, and where a command in the middle ends.
 */
function firstOf(rest: readonly Written[]): { length: number; within: number } {
  const [first] = rest;
  assert.ok(first);
  const middle = first.commands[Math.floor(first.commands.length / 2)];
  assert.ok(middle && middle.to < first.to);
  return { length: middle.to - first.from, within: middle.to };
}

function lastOf(rest: readonly Written[]): number {
  const last = rest.at(-1);
  assert.ok(last);
  return last.to;
}
