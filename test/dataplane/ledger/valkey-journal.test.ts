/** The journal of a process: what it still has to deliver, and what it can put back. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openJournal } from '#ledger/valkey/journal.ts';
import type { Journal, PendingSettlement } from '#ledger/valkey/journal.ts';

let folder: string;
let nowMs: number;
const faults: unknown[] = [];

const open = (): Promise<Journal> => openJournal({ folder, onFault: (error) => faults.push(error), monotonicMs: () => nowMs });
const pending = (callId: string): PendingSettlement => ({ callId, account: 'team/a', adopt: { name: 'adopt', args: [callId] }, settle: { name: 'settle', args: [callId] } });
/** As the script tells it. */
const reply = (callId: string, account = 'team/a'): string[] => ['settled', account, callId, 'key-1', 'rest'];
const refill = (callId: string, account = 'team/a') => ({ name: 'refill', args: [callId, 'key-1', account, 'rest', 'job', '5', 'route/channel'] });
const JOB = ['job', '5', 'route/channel'];
const all = (): boolean => true;

describe('the journal', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mgw-journal-'));
    nowMs = 0;
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
    assert.deepEqual(faults, []);
  });

  test('has for the next process what was not delivered, and only that', async () => {
    const first = await open();
    for (const id of ['a', 'b', 'c']) first.pending(pending(id));
    first.settled('a', reply('a'), JOB);
    first.dropped('b');
    await first.close();
    const second = await open();
    assert.deepEqual(second.left, [pending('c')]);
    assert.deepEqual(await second.recent(all), [refill('a')]);
    await second.close();
    assert.equal(statSync(join(folder, 'current.jsonl')).mode & 0o077, 0);
  });

  test('tells of one part of the accounts', async () => {
    const journal = await open();
    journal.settled('a', reply('a'), JOB);
    journal.settled('b', reply('b', 'team/b'), JOB);
    assert.deepEqual(await journal.recent((account) => account === 'team/b'), [refill('b', 'team/b')]);
    await journal.close();
  });

  test('forgets what is older than two of its turns, but not what waits', async () => {
    const journal = await open();
    journal.pending(pending('waiting'));
    for (const id of ['a', 'b', 'c']) {
      journal.settled(id, reply(id), JOB);
      await journal.recent(all);
      nowMs += 5 * 60_000 + 1;
    }
    journal.settled('d', reply('d'), JOB);
    const kept = (await journal.recent(all)).map(({ args: [id] }) => id);
    assert.ok(kept.includes('d') && !kept.includes('b') && !kept.includes('a'), kept.join());
    await journal.close();
    assert.deepEqual((await open().then(async (next) => (await next.close(), next))).left, [pending('waiting')]);
  });

  test('a line that was not written to its end is none, and does not take the next one with it', async () => {
    const first = await open();
    first.pending(pending('a'));
    await first.close();
    appendFileSync(join(folder, 'current.jsonl'), '["C","a",["settl');
    const second = await open();
    assert.deepEqual(second.left, [pending('a')]);
    second.settled('a', reply('a'), JOB);
    await second.close();
    const third = await open();
    assert.deepEqual(third.left, []);
    assert.deepEqual(await third.recent(all), [refill('a')]);
    await third.close();
    assert.ok(readFileSync(join(folder, 'current.jsonl'), 'utf8').endsWith('\n'));
  });
});
