/** The journal of a process: what it must still deliver, and what it can restore. */
import assert from 'node:assert/strict';
import fs, { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test, vi } from 'vitest';
import { openJournal } from '../../../../../dataplane/ledger/valkey/journal.ts';
import { textOf } from '../../../../../dataplane/ledger/valkey/operations.ts';
import type { SettlementJournal, BucketScope } from '../../../../../dataplane/ledger/valkey/journal.ts';
import type { PendingSettlement, Settled } from '../../../../../dataplane/ledger/valkey/journal-line.ts';

let folder: string;
let nowMs: number;
const faults: unknown[] = [];

const open = (): Promise<SettlementJournal> =>
  openJournal({ folder, onFault: (error) => faults.push(error), monotonicMs: () => nowMs });
const pending = (callId: string): PendingSettlement => ({
  callId,
  account: 'team/a',
  adopt: { op: 'adopt', call: callId },
  settle: { op: 'settle', call: callId },
});
const JOB = { id: 'job', pollMs: 5, channel: 'route/channel' };
/** As the script reports it. */
const settled = (callId: string, account = 'team/a'): Settled => ({
  record: { account, call: callId, key: 'key-1', cost: '5' },
  job: JOB,
});
const refill = (callId: string, account = 'team/a') => ({
  op: 'refill',
  account,
  call: callId,
  key: 'key-1',
  cost: '5',
  job: JOB,
  since: '',
});
const part = (over: Partial<BucketScope> = {}): BucketScope => ({
  base: '{mgw0}:',
  epoch: 'epoch-1',
  missed: false,
  accepts: () => true,
  ...over,
});
const all = part();

describe('the journal', () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mgw-journal-'));
    nowMs = 0;
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
    assert.deepEqual(faults, []);
  });

  test('gives the next process what was not delivered, and only that', async () => {
    const first = await open();
    for (const id of ['a', 'b', 'c']) void first.addPending(pending(id));
    void first.addSettled(settled('a'));
    first.addDropped('b');
    await first.close();
    const second = await open();
    assert.deepEqual(second.undelivered, [pending('c')]);
    assert.deepEqual(await second.refills(all), [refill('a')]);
    await second.close();
    assert.equal(statSync(join(folder, 'current.jsonl')).mode & 0o077, 0);
  });

  test('can be read for one bucket of accounts', async () => {
    const journal = await open();
    void journal.addSettled(settled('a'));
    void journal.addSettled(settled('b', 'team/b'));
    assert.deepEqual(await journal.refills(part({ accepts: (account) => account === 'team/b' })), [
      refill('b', 'team/b'),
    ]);
    await journal.close();
  });

  test('drops what is older than two rotations, but not what is undelivered', async () => {
    const journal = await open();
    void journal.addPending(pending('waiting'));
    for (const id of ['a', 'b', 'c']) {
      void journal.addSettled(settled(id));
      await journal.refills(all);
      nowMs += 5 * 60_000 + 1;
    }
    void journal.addSettled(settled('d'));
    const kept = (await journal.refills(all)).map(({ call }) => textOf(call));
    assert.ok(kept.includes('d') && !kept.includes('b') && !kept.includes('a'), kept.join());
    await journal.close();
    assert.deepEqual((await open().then(async (next) => (await next.close(), next))).undelivered, [pending('waiting')]);
  });

  test('writes entries that arrive during a write, and more than its buffer', async () => {
    const journal = await open();
    const ids = Array.from({ length: 3_000 }, (_none, n) => `${n}-${'ü€😀'.repeat(n % 9)}`);
    for (const id of ids.slice(0, 2_000)) void journal.addSettled(settled(id));
    const reading = journal.refills(all);
    for (const id of ids.slice(2_000)) void journal.addSettled(settled(id));
    await reading;
    assert.deepEqual(
      await journal.refills(all),
      ids.map((id) => refill(id)),
    );
    await journal.close();
  });

  test('reads the format of an older version', async () => {
    const [account, route, tokens] = ['team-a/team-a', '["auto-a","m","r/c","ns/p@1"]', '[10,1,2,3,30,"Provider"]'];
    const reply = (call: string): string[] => {
      const record = [
        account,
        call,
        'key-1',
        '1795176000000',
        route,
        tokens,
        '30',
        '0',
        'Succeeded',
        '1234',
        '30',
        '70',
      ];
      return ['settled', ...record, '1', '31', '32', '33', '34', '20777', '24322'];
    };
    const write = (name: string, lines: readonly unknown[]): void =>
      writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    write('previous.jsonl', [
      ['E', '{mgw0}:', 'epoch-1', 7],
      ['C', 'req_1', reply('req_1'), ['', '0', 'r/c']],
      ['C', 'req_job', reply('req_job'), ['job', '5', 'r/c'], '9'],
      ['F', 'req_end', reply('req_end'), ['job', '60', '1795176000001', 'r/c']],
    ]);
    const adopt = {
      name: 'adopt',
      args: ['req_2', 'key-1', account, '1', route, '-', 'M', '9', '8', '5', tokens, '20777', '24322'],
    };
    const settle = {
      name: 'settle',
      args: ['req_2', '5', tokens, route, 'Running', '1234', 'job', '5', 'r/c', 'key/x', 'channel/y'],
    };
    const other = { name: 'settle', args: ['req_3', '5', tokens, route, 'Succeeded', '1', '', '0', ''] };
    write('current.jsonl', [
      ['P', { callId: 'req_2', account, adopt, settle }],
      ['P', { callId: 'req_3', account, settle: other }],
      ['P', { callId: 'req_4', account, settle: { name: 'withdraw', args: ['req_4'] } }],
      ['P', { callId: 'req_5', account, settle: other }],
      ['D', 'req_5'],
    ]);
    const journal = await open();
    const origin = { call: 'req_2', key: 'key-1', account, createdMs: 1, route, period: 'M', credit: '9' };
    const spent = { cost: '5', tokens, route };
    assert.deepEqual(JSON.parse(JSON.stringify(journal.undelivered)), [
      {
        callId: 'req_2',
        account,
        settle: {
          op: 'settle',
          call: 'req_2',
          ...spent,
          status: 'Running',
          durationMs: 1234,
          job: { id: 'job', pollMs: 5, channel: 'r/c' },
          slots: ['key/x', 'channel/y'],
        },
        adopt: { op: 'adopt', ...origin, amount: '8', cost: '5', tokens, day: '20777', month: '24322' },
      },
      {
        callId: 'req_3',
        account,
        settle: { op: 'settle', call: 'req_3', ...spent, status: 'Succeeded', durationMs: 1, slots: [] },
      },
      { callId: 'req_4', account, settle: { op: 'withdraw', call: 'req_4' } },
    ]);
    const record = (call: string) => ({
      account,
      call,
      key: 'key-1',
      createdMs: '1795176000000',
      route,
      tokens,
      cost: '30',
      unbilled: '0',
      status: 'Succeeded',
      durationMs: '1234',
      keySpent: '30',
      keyRemaining: '70',
      change: '1',
      accountSpent: '31',
      totalSpent: '32',
      daySpent: '33',
      monthSpent: '34',
      day: '20777',
      month: '24322',
    });
    assert.equal(journal.latestStart('{mgw0}:'), 7);
    assert.deepEqual(await journal.refills(all), [
      { op: 'refill', ...record('req_1'), since: '1' },
      {
        op: 'refill',
        ...record('req_job'),
        billedBy: '9',
        job: { id: 'job', pollMs: 5, channel: 'r/c' },
        since: '1',
      },
      {
        op: 'refillEnd',
        ...record('req_end'),
        job: { id: 'job', channel: 'r/c' },
        charged: '60',
        endedMs: '1795176000001',
        since: '1',
      },
    ]);
    await journal.close();
  });

  test('drops damaged lines that are valid JSON', async () => {
    const first = await open();
    void first.addSettled(settled('a'));
    await first.close();
    const damaged = [
      ['Settled', 'x', {}],
      ['Ended', 'x', { record: null }],
      ['Pending', {}],
      ['Pending', { callId: 'x', account: 'team/a', settle: {} }],
      ['P', { callId: 'x' }],
      ['Nothing'],
      [],
    ];
    appendFileSync(join(folder, 'current.jsonl'), damaged.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const second = await open();
    assert.deepEqual(second.undelivered, []);
    assert.deepEqual(await second.refills(all), [refill('a')]);
    await second.close();
  });

  test('drops an incomplete line, and keeps the next one', async () => {
    const first = await open();
    void first.addPending(pending('a'));
    await first.close();
    appendFileSync(join(folder, 'current.jsonl'), '["Settled","a",{"rec');
    const second = await open();
    assert.deepEqual(second.undelivered, [pending('a')]);
    void second.addSettled(settled('a'));
    await second.close();
    const third = await open();
    assert.deepEqual(third.undelivered, []);
    assert.deepEqual(await third.refills(all), [refill('a')]);
    await third.close();
    assert.ok(readFileSync(join(folder, 'current.jsonl'), 'utf8').endsWith('\n'));
  });

  test('knows which settlements are as new as an epoch, also after a rotation and a restart', async () => {
    const since = async (journal: SettlementJournal, over: Partial<BucketScope>): Promise<string[]> =>
      (await journal.refills(part(over))).filter(({ since: of }) => of === '1').map(({ call }) => textOf(call));
    const journal = await open();
    void journal.addSettled(settled('a'));
    journal.beginEpoch('{mgw0}:', { id: 'epoch-1', start: 1 });
    journal.beginEpoch('{mgw1}:', { id: 'another', start: 1 });
    void journal.addSettled(settled('b'));
    journal.beginEpoch('{mgw0}:', { id: 'epoch-2', start: 1 });
    void journal.addSettled(settled('c'));
    assert.deepEqual(await since(journal, {}), ['b', 'c']);
    // a restored store continues with an earlier epoch
    journal.beginEpoch('{mgw0}:', { id: 'epoch-1', start: 1 });
    nowMs += 5 * 60_000 + 1;
    void journal.addSettled(settled('d'));
    assert.deepEqual(await since(journal, { epoch: 'epoch-2' }), ['c', 'd']);
    await journal.close();
    const next = await open();
    void next.addSettled(settled('e'));
    nowMs += 5 * 60_000 + 1;
    void next.addSettled(settled('f'));
    assert.deepEqual(await since(next, { epoch: 'epoch-1' }).then((ids) => ids.slice(-2)), ['e', 'f']);
    assert.deepEqual(await since(next, { epoch: 'epoch-3' }), []);
    assert.deepEqual(await since(next, { base: '{mgw1}:' }), []);
    await next.close();
  });

  test('reads identifiers with any characters', async () => {
    const ids = ['a\u2028b', 'c\u2029', 'd\u0085', 'e\rf', 'g\nh', 'ü"'.repeat(40_000)];
    const journal = await open();
    for (const id of ids) void journal.addSettled(settled(id));
    assert.deepEqual(
      await journal.refills(all),
      ids.map((id) => refill(id)),
    );
    await journal.close();
  });

  test('has undelivered entries in the newest file as soon as it exists', async () => {
    const first = await open();
    void first.addPending(pending('waiting'));
    await first.close();
    renameSync(join(folder, 'current.jsonl'), join(folder, 'previous.jsonl'));
    const second = await open();
    await second.refills(all);
    assert.match(readFileSync(join(folder, 'current.jsonl'), 'utf8'), /waiting/);
    await second.close();
  });

  test('does not rotate files while they are read', async () => {
    const journal = await open();
    for (let n = 0; n < 500; n++) void journal.addSettled(settled(`before-${n}`));
    await journal.refills(all);
    const reading = journal.refills(all);
    nowMs += 5 * 60_000 + 1;
    void journal.addPending(pending('a'));
    assert.equal((await reading).length, 500);
    await journal.close();
  });

  test('keeps waiting entries after a failed write', async () => {
    const probe = await openFile(join(folder, 'probe'), 'w');
    const proto: unknown = Object.getPrototypeOf(probe);
    await probe.close();
    assert.ok(isWriter(proto));
    const journal = await open();
    void journal.addSettled(settled('a'));
    await journal.refills(all);
    const write = vi.spyOn(proto, 'appendFile').mockImplementation(async function half(
      this: { write(bytes: Uint8Array): Promise<unknown> },
      bytes: Uint8Array,
    ) {
      await this.write(bytes.subarray(0, bytes.length / 2));
      throw new Error('the disk is full');
    });
    void journal.addPending(pending('b'));
    await journal.refills(all);
    write.mockRestore();
    assert.deepEqual([...new Set(faults.splice(0).map(String))], ['Error: the disk is full']);
    void journal.addSettled(settled('c'));
    assert.deepEqual(await journal.refills(all), [refill('a'), refill('c')]);
    await journal.close();
    const next = await open();
    await next.close();
    assert.deepEqual(next.undelivered, [pending('b')]);
  });

  test('keeps settlements in memory while the disk is full', async () => {
    const probe = await openFile(join(folder, 'probe'), 'w');
    const proto: unknown = Object.getPrototypeOf(probe);
    await probe.close();
    assert.ok(isWriter(proto));
    const journal = await open();
    await journal.addSettled(settled('a'));
    const write = vi.spyOn(proto, 'appendFile').mockRejectedValue(new Error('the disk is full'));
    await journal.addSettled(settled('b'));
    assert.deepEqual(await journal.refills(all), [refill('a'), refill('b')]);
    write.mockRestore();
    await journal.addSettled(settled('c'));
    await journal.close();
    assert.deepEqual([...new Set(faults.splice(0).map(String))], ['Error: the disk is full']);
    const next = await open();
    assert.deepEqual(await next.refills(all), [refill('a'), refill('b'), refill('c')]);
    await next.close();
  });

  test('loses nothing when a rotation fails between its two steps, and completes it', async () => {
    const journal = await open();
    const settle = async (...ids: string[]): Promise<void> => {
      for (const id of ids) void journal.addSettled(settled(id));
      await journal.refills(all);
    };
    void journal.addPending(pending('waiting'));
    await settle('a');
    const { renameSync: rename } = fs;
    const failing = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
      if (String(to).endsWith('current.jsonl')) throw new Error('the disk is full');
      rename(from, to);
    });
    syncBuiltinESMExports();
    nowMs += 5 * 60_000 + 1;
    for (const id of ['b', 'c']) await settle(id);
    failing.mockRestore();
    syncBuiltinESMExports();
    assert.ok(faults.splice(0).every((fault) => String(fault) === 'Error: the disk is full'));
    assert.deepEqual(
      await journal.refills(all),
      ['a', 'b', 'c'].map((id) => refill(id)),
    );
    // the due rotation, and the writes after it
    await settle('d');
    await settle('e');
    assert.deepEqual(faults, []);
    assert.deepEqual(
      await journal.refills(all),
      ['a', 'b', 'c', 'd', 'e'].map((id) => refill(id)),
    );
    assert.doesNotMatch(readFileSync(join(folder, 'current.jsonl'), 'utf8'), /"a"/);
    // each later rotation drops a file as usual
    nowMs += 5 * 60_000 + 1;
    await settle('f');
    assert.deepEqual((await journal.refills(all)).at(-1), refill('f'));
    assert.ok(!(await journal.refills(all)).some(({ call }) => call === 'a'));
    await journal.close();
    assert.deepEqual((await open().then(async (next) => (await next.close(), next))).undelivered, [pending('waiting')]);
  });

  test('reports an entry that arrives after close', async () => {
    const journal = await open();
    await journal.close();
    void journal.addPending(pending('late'));
    assert.deepEqual(faults.splice(0).map(String), ['Error: the journal is closed']);
  });
});

function isWriter(value: unknown): value is { appendFile(bytes: Uint8Array): Promise<void> } {
  return typeof value === 'object' && value !== null && 'appendFile' in value;
}
