/**
 * A process is killed in the middle of its work, again and again, on one file. What it was told is in the balances, and
 * every nano-USD in the balances is in somebody's record.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { Line } from './crash-child.ts';
import { LONG_TIMEOUT, tempFolder } from './subject.ts';

interface Said {
  /** What its hold said, and each progress after it. */
  readonly progress: bigint[];
  held: boolean;
  settling: bigint | undefined;
  settled: bigint | undefined;
  refunding: bigint | undefined;
  refunded: bigint | undefined;
}

/** Runs the child until it has begun to settle, and a random while longer, then kills it. */
async function runAndKill(path: string, sync: string, round: number): Promise<Map<string, Said>> {
  const said = `${path}.said-${round}`;
  writeFileSync(said, '');
  const program = fileURLToPath(new URL('crash-child.ts', import.meta.url));
  const child = spawn(process.execPath, [program, path, sync, String(round), said], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  while (!readFileSync(said, 'utf8').includes('settled') && child.exitCode === null) await sleep(5);
  await sleep(Math.random() * 120);
  child.kill('SIGKILL');
  await closed;
  assert.equal(child.signalCode, 'SIGKILL', errors);
  return readLines(readFileSync(said, 'utf8'));
}

function readLines(output: string): Map<string, Said> {
  const calls = new Map<string, Said>();
  for (const text of output.split('\n').slice(0, -1)) {
    const [what, id, amount] = text.split(' ') as unknown as Line;
    const said = calls.get(id) ?? {
      progress: [],
      held: false,
      settling: undefined,
      settled: undefined,
      refunding: undefined,
      refunded: undefined,
    };
    calls.set(id, said);
    if (what === 'try' || what === 'progress') said.progress.push(BigInt(amount));
    else if (what === 'held') said.held = true;
    else said[what] = BigInt(amount);
  }
  return calls;
}

async function findRecord(ledger: Ledger, id: string): Promise<UsageRecord | undefined> {
  for (const key of ['key-0', 'key-1', 'key-2']) {
    const record = await ledger.readUsage(key, id);
    if (record) return record;
  }
  return undefined;
}

function assertKept(id: string, said: Said, record: UsageRecord | undefined): void {
  if (said.refunded !== undefined || (said.refunding !== undefined && record?.status === 'Refunded')) {
    assert.deepEqual([record?.status, record?.costNanoUsd], ['Refunded', 0n], `${id}: an acknowledged refund`);
    return;
  }
  if (said.settled !== undefined) {
    assert.deepEqual(
      [record?.status, record?.costNanoUsd],
      ['Succeeded', said.settled],
      `${id}: an acknowledged settlement`,
    );
    return;
  }
  if (said.held) assert.ok(record, `${id}: an acknowledged hold`);
  if (!record) return;
  const due = record.costNanoUsd + record.unbilledNanoUsd;
  if (record.status === 'Succeeded')
    assert.equal(due, said.settling, `${id}: committed, and killed before it was told`);
  else
    assert.ok(
      record.status === 'Abandoned' && said.progress.slice(-2).includes(due),
      `${id}: its last progress, or the one before if that was not acknowledged`,
    );
}

/** A call that was settled in the ordinary way has made a job; it failed exactly where its cost was given back. */
async function assertJob(ledger: Ledger, id: string, record: UsageRecord | undefined): Promise<void> {
  const state = record?.status === 'Refunded' ? 'Failed' : record?.status === 'Succeeded' ? 'Running' : undefined;
  assert.equal(record && (await ledger.readJob(record.keyUid, id))?.state, state, `${id}: its job`);
}

async function assertBalances(ledger: Ledger, everyone: ReadonlyMap<string, Said>): Promise<void> {
  let billed = 0n;
  for (const [id, said] of everyone) {
    const record = await findRecord(ledger, id);
    assertKept(id, said, record);
    await assertJob(ledger, id, record);
    billed += record?.costNanoUsd ?? 0n;
  }
  assert.deepEqual(await ledger.readAccount('team-a/team-a'), { spentNanoUsd: billed, heldNanoUsd: 0n });
  assert.ok(billed <= 3_500_000n);
  let ofKeys = 0n;
  for (const key of ['key-0', 'key-1', 'key-2']) ofKeys += (await ledger.readKey(key, 'Never')).spentNanoUsd;
  assert.equal(ofKeys, billed);
}

for (const sync of ['normal', 'full']) {
  test(`loses nothing acknowledged when killed at random moments, ${sync}`, async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'ledger.db');
    const everyone = new Map<string, Said>();
    try {
      for (let round = 0; round < 3; round++) {
        for (const [id, said] of await runAndKill(path, sync, round)) everyone.set(id, said);
        const ledger = await openEmbeddedLedger({ path, ...LONG_TIMEOUT });
        try {
          await assertBalances(ledger, everyone);
        } finally {
          await ledger.close();
        }
      }
      assert.ok(
        [...everyone.values()].some(({ held, settled }) => held && settled === undefined),
        'something was running when it was killed',
      );
    } finally {
      folder.remove();
    }
  });
}
