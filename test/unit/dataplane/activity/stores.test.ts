/** Both stores of activity have the same guarantees: the latest by key, counts by day and reason, bounds. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { ActivityTables, openActivityFile } from '../../../../dataplane/activity/activity-table.ts';
import { parseEntry } from '#activity/activity.ts';
import type { ActivityQuery, ActivityReader, ActivityWriter, RefusalCount } from '#activity/activity.ts';
import { openActivityFileWriter } from '../../../../dataplane/activity/file-writer.ts';
import { openValkeyActivityReader, openValkeyActivityWriter } from '../../../../dataplane/activity/valkey-activity.ts';
import { startValkey, valkey } from '../../../support/valkey.ts';
import { NOON_MS, refusedEntry, servedEntry } from './entries.ts';

const TODAY = Math.floor(NOON_MS / 86_400_000);
const ACCOUNT = 'team-a/main';

interface Opened {
  readonly writer: ActivityWriter;
  readonly reader: ActivityReader;
  /** Of one key. */
  readonly bound: number;
}

const folder = await mkdtemp(join(tmpdir(), 'mgw-activity-'));
afterAll(() => rm(folder, { recursive: true }));

function openFile(): Opened {
  const path = join(folder, `${randomUUID()}.db`);
  return { writer: openActivityFileWriter(path, () => NOON_MS), reader: openActivityFile(path), bound: 100 };
}

const count = (more: Partial<RefusalCount>): RefusalCount => ({
  account: ACCOUNT,
  day: TODAY,
  keyUid: 'u1',
  errorCode: 'insufficient_quota',
  calls: 1,
  ...more,
});

function promises(name: string, open: () => Opened | Promise<Opened>): void {
  describe(name, () => {
    it('returns entries to their owner, newest first', async () => {
      const { writer, reader } = await open();
      assert.deepEqual(await reader.refused({ account: ACCOUNT, most: 10 }), []);
      assert.deepEqual(await reader.refusals({ account: ACCOUNT, fromDay: 0, toDay: TODAY }), []);
      const [a, b] = [refusedEntry('a'), refusedEntry('b', { keyUid: 'u2', atMs: NOON_MS + 1 })];
      const [served, theirs] = [servedEntry('c'), refusedEntry('d', { account: 'team-b/main', keyUid: 'u3' })];
      await writer.write({
        entries: [a, served, theirs],
        refusals: [count({}), count({ account: 'team-b/main', keyUid: 'u3' })],
      });
      await writer.write({ entries: [b], refusals: [count({ keyUid: 'u2' }), count({ calls: 3 })] });
      assert.deepEqual(await reader.refused({ account: ACCOUNT, most: 10 }), [b, a]);
      assert.deepEqual(await reader.refused({ account: ACCOUNT, most: 1 }), [b]);
      assert.deepEqual(await reader.refused({ account: ACCOUNT, keyUid: 'u1', most: 10 }), [a]);
      assert.deepEqual(await reader.refused({ account: ACCOUNT, keyUid: 'u3', most: 10 }), []);
      assert.deepEqual(await reader.find({ account: ACCOUNT, keyUid: 'u1', callId: 'c' }), served);
      assert.deepEqual(await reader.find({ account: ACCOUNT, keyUid: 'u1', callId: 'a' }), a);
      assert.equal(await reader.find({ account: ACCOUNT, keyUid: 'u3', callId: 'd' }), undefined);
      assert.equal(await reader.find({ account: ACCOUNT, keyUid: 'u2', callId: 'c' }), undefined);
      const counts = await reader.refusals({ account: ACCOUNT, fromDay: TODAY - 6, toDay: TODAY });
      assert.deepEqual(
        counts.toSorted((x, y) => y.calls - x.calls),
        [count({ calls: 4 }), count({ keyUid: 'u2' })],
      );
      assert.deepEqual(await reader.refusals({ account: ACCOUNT, keyUid: 'u2', fromDay: TODAY, toDay: TODAY }), [
        count({ keyUid: 'u2' }),
      ]);
      assert.deepEqual(await reader.refusals({ account: ACCOUNT, fromDay: TODAY - 3, toDay: TODAY - 1 }), []);
      await writer.close();
      reader.close();
    });

    it('lists keys whose last call was refused for lack of money', async () => {
      const { writer, reader } = await open();
      assert.deepEqual(await reader.shortages([{ account: ACCOUNT }]), []);
      const short = refusedEntry('short', { exceededLimitNanoUsd: '25000000000' });
      const broke = refusedEntry('broke', { keyUid: 'u2', errorCode: 'credit_balance_exhausted', atMs: NOON_MS + 5 });
      await writer.write({
        entries: [
          refusedEntry('earlier', { atMs: NOON_MS - 9 }),
          short,
          refusedEntry('too long', { errorCode: 'context_length_exceeded', atMs: NOON_MS + 9 }),
          broke,
          refusedEntry('other', { keyUid: 'u3', errorCode: 'rate_limit_exceeded' }),
          refusedEntry('theirs', { account: 'team-b/main', keyUid: 'u4' }),
          // it arrived before the refused one, and ended later
          servedEntry('long', { atMs: NOON_MS - 1 }),
        ],
        refusals: [
          count({ calls: 2 }),
          count({ errorCode: 'context_length_exceeded' }),
          count({ keyUid: 'u2', errorCode: 'credit_balance_exhausted' }),
          count({ keyUid: 'u3', errorCode: 'rate_limit_exceeded' }),
          count({ account: 'team-b/main', keyUid: 'u4' }),
        ],
      });
      const idsOf = async (...queries: ActivityQuery[]) =>
        (await reader.shortages(queries)).map(({ callId }) => callId).sort();
      assert.deepEqual(await idsOf({ account: ACCOUNT }), ['broke', 'short']);
      assert.deepEqual(await reader.shortages([{ account: ACCOUNT, keyUid: 'u1' }]), [short]);
      const four = ['u1', 'u2', 'u3', 'u4'].map((keyUid) => ({ account: ACCOUNT, keyUid }));
      assert.deepEqual(await idsOf(...four, { account: 'team-b/main', keyUid: 'u4' }), ['broke', 'short', 'theirs']);
      await writer.write({ entries: [servedEntry('again', { atMs: NOON_MS + 1 })], refusals: [] });
      assert.deepEqual(await idsOf(...four), ['broke']);
      await writer.close();
      reader.close();
    });

    it("keeps proxies' reports on channels for half a minute", async () => {
      const { writer, reader } = await open();
      assert.deepEqual(await reader.channels(NOON_MS), []);
      const channel = { channel: 'a/b', inFlight: 2, attempts: 5, failed: 1, skipped: 0, latency: [1, 4] };
      await writer.writeChannels({ atMs: NOON_MS - 5_000, channels: [] });
      await writer.writeChannels({ atMs: NOON_MS, channels: [channel] });
      assert.deepEqual(await reader.channels(NOON_MS + 29_000), [{ atMs: NOON_MS, channels: [channel] }]);
      assert.deepEqual(await reader.channels(NOON_MS + 31_000), []);
      await writer.close();
      reader.close();
    });

    it('keeps only the latest entries of each key', async () => {
      const { writer, reader, bound } = await open();
      await writer.write({ entries: [refusedEntry('quiet', { keyUid: 'u2' })], refusals: [count({ keyUid: 'u2' })] });
      for (let batch = 0; batch < 5; batch++)
        await writer.write({
          entries: Array.from({ length: 100 }, (_, at) => refusedEntry(`r${batch * 100 + at}`)),
          refusals: [count({})],
        });
      const kept = await reader.refused({ account: ACCOUNT, keyUid: 'u1', most: 1_000 });
      assert.equal(kept.length, bound);
      assert.ok(kept.some(({ callId }) => callId === 'r499'));
      assert.equal(await reader.find({ account: ACCOUNT, keyUid: 'u1', callId: 'r0' }), undefined);
      assert.equal((await reader.refused({ account: ACCOUNT, keyUid: 'u2', most: 10 })).length, 1);
      await writer.close();
      reader.close();
    });
  });
}

promises('activity in a file', openFile);

describe('the file of activity', () => {
  it("is replaced if it is damaged or another program's, and drops old entries", async () => {
    const path = join(folder, 'damaged.db');
    await writeFile(path, 'not a database '.repeat(1_000));
    const tables = new ActivityTables(path);
    const DAY_MS = 86_400_000;
    tables.write(
      {
        entries: [refusedEntry('old', { atMs: NOON_MS - 8 * DAY_MS })],
        refusals: [count({ day: TODAY - 40 })],
      },
      NOON_MS - 8 * DAY_MS,
    );
    tables.write({ entries: [refusedEntry('new')], refusals: [count({})] }, NOON_MS);
    const reader = openActivityFile(path);
    assert.deepEqual(
      (await reader.refused({ account: ACCOUNT, most: 10 })).map(({ callId }) => callId),
      ['new'],
    );
    assert.equal((await reader.refusals({ account: ACCOUNT, fromDay: 0, toDay: TODAY })).length, 1);
    tables.close();
  });

  it('reports why a write failed, and writes the next one', async () => {
    const missing = join(folder, 'no', 'such', 'folder.db');
    const writer = openActivityFileWriter(missing, () => NOON_MS);
    await assert.rejects(writer.write({ entries: [refusedEntry('a')], refusals: [] }), /no such file/);
    await writer.close();
  });

  it('skips invalid entries', () => {
    for (const text of ['', '[]', 'null', '{"callId":"a"}', '{"callId":1']) assert.equal(parseEntry(text), undefined);
    assert.deepEqual(parseEntry(JSON.stringify(refusedEntry('a'))), refusedEntry('a'));
  });
});

if (!valkey.skip) {
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());
  promises('activity on Valkey', async () => {
    const url = `${server.url}?prefix=a${randomUUID().slice(0, 8)}`;
    const [writer, reader] = [openValkeyActivityWriter(url, 'proxy-1'), openValkeyActivityReader(url, () => NOON_MS)];
    await answers(() => reader.refused({ account: ACCOUNT, keyUid: 'u1', most: 1 }));
    await answers(() => writer.write({ entries: [], refusals: [count({ account: 'nobody', keyUid: 'nobody' })] }));
    return { writer, reader, bound: 50 };
  });

  describe('activity on Valkey', () => {
    it('has the channels of every proxy, and drops those of terminated proxies', async () => {
      const url = `${server.url}?prefix=p${randomUUID().slice(0, 8)}`;
      const [one, two, reader] = [
        openValkeyActivityWriter(url, 'one'),
        openValkeyActivityWriter(url, 'two'),
        openValkeyActivityReader(url),
      ];
      await answers(() => one.writeChannels({ atMs: NOON_MS - 600_000, channels: [] }));
      await answers(() => reader.channels(NOON_MS));
      assert.equal((await reader.channels(NOON_MS - 600_000)).length, 1);
      await answers(() => two.writeChannels({ atMs: NOON_MS, channels: [] }));
      assert.equal((await reader.channels(NOON_MS - 600_000)).length, 1); // the new one alone
      await one.writeChannels({ atMs: NOON_MS, channels: [] });
      assert.equal((await reader.channels(NOON_MS)).length, 2);
      await Promise.all([one.close(), two.close()]);
      reader.close();
    });

    it('expires', async () => {
      const prefix = `x${randomUUID().slice(0, 8)}`;
      const writer = openValkeyActivityWriter(`${server.url}?prefix=${prefix}`, 'proxy-1');
      await answers(() => writer.write({ entries: [refusedEntry('a'), servedEntry('b')], refusals: [count({})] }));
      const keys = await server.command('KEYS', `{${prefix}*`);
      assert.ok(Array.isArray(keys));
      assert.equal(keys.length, 3);
      for (const key of keys) assert.ok(Number(await server.command('TTL', String(key))) > 86_400, String(key));
      await writer.close();
    });
  });

  /** A connection is established in the background, and commands fail until then. */
  async function answers(work: () => Promise<unknown>): Promise<void> {
    for (;;) {
      const done = await work().then(
        () => true,
        () => false,
      );
      if (done) return;
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
  }
}

describe('the file of activity', () => {
  it('is private to its owner, and so are its side files, also where they existed', async () => {
    const own = await mkdtemp(join(folder, 'private-'));
    const path = join(own, 'activity.db');
    const modes = async (): Promise<readonly number[]> => {
      const names = (await readdir(own)).sort();
      assert.deepEqual(names, ['activity.db', 'activity.db-shm', 'activity.db-wal']);
      return Promise.all(names.map(async (name) => (await stat(join(own, name))).mode & 0o777));
    };
    for (const when of ['new', 'in use']) {
      const tables = new ActivityTables(path);
      tables.write({ entries: [servedEntry('private')], refusals: [] }, NOON_MS);
      assert.deepEqual(await modes(), [0o600, 0o600, 0o600], when);
      for (const name of await readdir(own)) await chmod(join(own, name), 0o644);
      const second = new ActivityTables(path);
      assert.deepEqual(await modes(), [0o600, 0o600, 0o600], when);
      second.close();
      tables.close();
      await chmod(path, 0o644);
    }
  });
});
