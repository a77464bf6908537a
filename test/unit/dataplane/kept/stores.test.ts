/** Both stores of responses have the same guarantees: of one account, until they expire, within its bytes. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, it } from 'vitest';
import { deleteFileStore, openFileStore } from '../../../../dataplane/kept/file-store.ts';
import { ResponseTable } from '../../../../dataplane/kept/response-table.ts';
import { HEAD_BYTES, MOST_DROPPED, VALUE_OVERHEAD_BYTES } from '../../../../dataplane/kept/store.ts';
import type { NewKept, NotPut, KeptStore } from '../../../../dataplane/kept/store.ts';
import { freeBytes } from '../../../../dataplane/kept/valkey-room.ts';
import { openValkeyStore } from '../../../../dataplane/kept/valkey-store.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { startValkey, valkey } from '../../../support/valkey.ts';

const ACCOUNT = 'team/a';
const DAY_MS = 86_400_000;
const folder = await mkdtemp(join(tmpdir(), 'mgw-kept-'));
afterAll(() => rm(folder, { recursive: true }));

const at = (id: string, account = ACCOUNT): { account: string; id: string } => ({ account, id });
const response = (id: string, more: Partial<NewKept> = {}): NewKept => ({
  ...at(id),
  bytes: Buffer.from(`bytes of ${id}`),
  nowMs: Date.now(),
  keepMs: DAY_MS,
  maxBytes: 1_000_000,
  ...more,
});

async function textOf(store: KeptStore, id: string, account = ACCOUNT): Promise<string | undefined> {
  const bytes = await store.get(at(id, account), Date.now());
  return bytes && Buffer.from(bytes).toString();
}

function promises(name: string, open: () => KeptStore | Promise<KeptStore>): void {
  describe(name, () => {
    it('returns the bytes, to their account only, until they are deleted', async () => {
      const store = await open();
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
      await store.put(response('resp_1', { bytes }));
      assert.ok(bytes.equals((await store.get(at('resp_1'), Date.now())) ?? Buffer.alloc(0)));
      assert.ok(((await store.sizeOf(at('resp_1'), Date.now())) ?? 0) >= 256);
      for (const [id, account] of [
        ['resp_1', 'team/b'],
        ['resp_2', ACCOUNT],
      ] as const) {
        assert.equal(await textOf(store, id, account), undefined);
        assert.equal(await store.sizeOf(at(id, account), Date.now()), undefined);
        assert.equal(await store.delete(at(id, account), Date.now()), false);
      }
      assert.equal(await store.delete(at('resp_1'), Date.now()), true);
      assert.equal(await store.delete(at('resp_1'), Date.now()), false);
      assert.equal(await textOf(store, 'resp_1'), undefined);
      await store.close();
    });
    it('replaces one with the same id', async () => {
      const store = await open();
      await store.put(response('resp_1'));
      await store.put(response('resp_1', { bytes: Buffer.from('new') }));
      assert.equal(await textOf(store, 'resp_1'), 'new');
      await store.close();
    });
    it('replaces only what was read, and keeps that where there is no room for the new', async () => {
      const store = await open();
      const bytesOf = (fill: number, size = 3_000): Buffer => Buffer.alloc(size, fill);
      const headOf = async (): Promise<Uint8Array> =>
        ((await store.get(at('conv_1'), Date.now())) ?? Buffer.alloc(0)).subarray(0, HEAD_BYTES);
      const put = async (fill: number, replaces: Uint8Array, size = 3_000): Promise<NotPut | undefined> =>
        store.put(response('conv_1', { bytes: bytesOf(fill, size), replaces, maxBytes: 10_500 }));
      assert.equal(await put(1, bytesOf(1, HEAD_BYTES)), 'Changed', 'there is none');
      await store.put(response('conv_1', { bytes: bytesOf(1) }));
      const first = await headOf();
      assert.equal(await put(2, first), undefined);
      assert.equal(await put(3, first), 'Changed');
      assert.equal(await put(3, await headOf(), 11_000), 'TooLarge');
      assert.ok(bytesOf(2, HEAD_BYTES).equals(await headOf()));
      // the oldest of all makes no room for itself, and what has changed is the latest
      await store.put(response('resp_1', { bytes: bytesOf(4), maxBytes: 10_500 }));
      assert.equal(await put(5, await headOf(), 6_000), undefined);
      assert.deepEqual(
        [await store.sizeOf(at('resp_1'), Date.now()), (await store.get(at('conv_1'), Date.now()))?.length],
        [undefined, 6_000],
      );
      await store.close();
    });
    it("makes room by the account's oldest ones, and by no other account's", async () => {
      const store = await open();
      const bytes = Buffer.alloc(3_000, 1);
      await store.put(response('resp_0', { bytes, account: 'team/b' }));
      // base64 takes a third more
      for (const id of ['resp_1', 'resp_2', 'resp_3', 'resp_4']) {
        await store.put(response(id, { bytes, maxBytes: 10_500 }));
        await sleep(2);
      }
      const found = await Promise.all(
        ['resp_1', 'resp_2', 'resp_3', 'resp_4'].map((id) => store.sizeOf(at(id), Date.now())),
      );
      assert.deepEqual(
        found.map((size) => size !== undefined),
        [false, false, true, true],
      );
      // what was deleted counts no longer
      await store.delete(at('resp_3'), Date.now());
      await store.put(response('resp_5', { bytes, maxBytes: 10_500 }));
      assert.ok(await store.sizeOf(at('resp_4'), Date.now()));
      await store.put(response('resp_6', { bytes: Buffer.alloc(11_000), maxBytes: 10_500 }));
      assert.equal(await store.sizeOf(at('resp_6'), Date.now()), undefined, 'larger than all may be');
      assert.ok(await store.sizeOf(at('resp_0', 'team/b'), Date.now()));
      await store.close();
    });
    it('makes room for a large one, which then is kept', async () => {
      const store = await open();
      const large = Buffer.alloc(100_000, 7);
      const put = (id: string, bytes: Buffer): Promise<NotPut | undefined> =>
        store.put(response(id, { bytes, maxBytes: 150_000 }));
      for (let count = 0; count < 2 * MOST_DROPPED; count++)
        await store.put(response(`resp_${count}`, { bytes: Buffer.alloc(30) }));
      assert.equal(await put('conv_1', large), 'AccountFull');
      assert.equal(await store.sizeOf(at('conv_1'), Date.now()), undefined);
      assert.equal(await put('conv_1', large), undefined);
      assert.ok(large.equals((await store.get(at('conv_1'), Date.now())) ?? Buffer.alloc(0)));
      assert.equal(await put('conv_2', Buffer.alloc(150_000)), 'TooLarge');
      await store.close();
    });
    it('counts what each takes beside its bytes', async () => {
      const store = await open();
      const ids = Array.from({ length: 12 }, (_, index) => `resp_${index}`);
      for (const id of ids) await store.put(response(id, { maxBytes: 10 * (VALUE_OVERHEAD_BYTES + 30) }));
      const sizes = await Promise.all(ids.map((id) => store.sizeOf(at(id), Date.now())));
      assert.equal(sizes.filter((size) => size !== undefined).length, 10);
      // the memory that reading takes depends on the bytes alone
      assert.ok(sizes.every((size = 0) => size < 30));
      await store.close();
    });
    it("makes room by the account's responses before its conversations", async () => {
      const store = await open();
      const bytes = Buffer.alloc(3_000, 1);
      for (const id of ['conv_1', 'resp_1', 'resp_2', 'conv_2', 'conv_3']) {
        await store.put(response(id, { bytes, maxBytes: 10_500 }));
        await sleep(2);
      }
      const found = await Promise.all(
        ['conv_1', 'resp_1', 'resp_2', 'conv_2', 'conv_3'].map((id) => store.sizeOf(at(id), Date.now())),
      );
      assert.deepEqual(
        found.map((size) => size !== undefined),
        [false, false, false, true, true],
      );
      const midway = ['conv_3', 'resp_3', 'resp_4'];
      for (const id of midway) await store.put(response(id, { bytes, maxBytes: 10_500 }));
      assert.deepEqual(
        await Promise.all(midway.map(async (id) => (await store.sizeOf(at(id), Date.now())) !== undefined)),
        [true, false, true],
      );
      await store.close();
    });
    it('forgets those that have expired, which leave room', async () => {
      const store = await open();
      const bytes = Buffer.alloc(3_000, 1);
      await store.put(response('resp_1', { bytes, keepMs: 30 }));
      await store.put(response('resp_2', { bytes, maxBytes: 10_500 }));
      await sleep(60);
      assert.equal(await textOf(store, 'resp_1'), undefined);
      await store.put(response('resp_3', { bytes, maxBytes: 10_500 }));
      assert.ok(await store.sizeOf(at('resp_2'), Date.now()));
      assert.equal(await store.delete(at('resp_1'), Date.now()), false);
      await store.close();
    });
    it('makes room by the oldest ones although they are kept for longer', async () => {
      const store = await open();
      const bytes = Buffer.alloc(3_000, 1);
      for (const [id, days] of [
        ['resp_1', 30],
        ['resp_2', 1],
        ['resp_3', 1],
      ] as const) {
        assert.equal(await store.put(response(id, { bytes, keepMs: days * DAY_MS, maxBytes: 10_500 })), undefined);
        await sleep(2);
      }
      const found = await Promise.all(['resp_1', 'resp_3'].map((id) => store.sizeOf(at(id), Date.now())));
      assert.deepEqual(
        found.map((size) => size !== undefined),
        [false, true],
      );
      await store.close();
    });
    it('makes room a bounded number at a time', async () => {
      const store = await open();
      const bytes = Buffer.alloc(30, 1);
      // those of the first half expire, and the others are too many
      for (let count = 0; count < 2 * MOST_DROPPED + 20; count++)
        await store.put(response(`resp_${count}`, { bytes, keepMs: count < MOST_DROPPED + 10 ? 1 : DAY_MS }));
      await sleep(5);
      const put = (): Promise<NotPut | undefined> => store.put(response('resp_new', { bytes, maxBytes: 1_100 }));
      const results = [await put(), await put(), await put(), await put()];
      assert.equal(results[0], 'AccountFull');
      assert.deepEqual(results.slice(2), [undefined, undefined]);
      assert.equal(await store.put(response('resp_new', { bytes, maxBytes: 10 })), 'TooLarge', 'larger than all');
      await store.close();
    });
  });
}

promises('a file', () => openFileStore(join(folder, `${randomUUID()}.db`)));

const server = valkey.skip ? undefined : await startValkey();
if (server) {
  await server.start();
  afterAll(() => server[Symbol.asyncDispose]());
  promises('Valkey', () => connected(openValkeyStore(`${server.url}?prefix=kept${randomUUID().slice(0, 8)}`)));
}

/** The store once it is connected. */
async function connected(store: KeptStore): Promise<KeptStore> {
  for (let tries = 0; tries < 500; tries++) {
    const answers = await store.sizeOf(at('x'), Date.now()).then(
      () => true,
      () => false,
    );
    if (answers) break;
    await sleep(10);
  }
  return store;
}

describe.skipIf(!server)('the Valkey of responses', () => {
  const prefix = `kept${randomUUID().slice(0, 8)}`;
  const bytes = Buffer.alloc(3_000, 1);
  const command = async (...args: readonly string[]): Promise<unknown> => server?.command(...args);
  const openHere = async (): Promise<KeptStore> => {
    let nowMs = 0;
    // every put asks the server anew
    return connected(openValkeyStore(`${server?.url}?prefix=${prefix}`, { monotonicMs: () => (nowMs += 10_000) }));
  };

  it('counts anew where the order is lost', async () => {
    const store = await openHere();
    for (const id of ['resp_1', 'resp_2']) await store.put(response(id, { bytes, maxBytes: 10_500 }));
    await command('DEL', `{${prefix}0}:kept:order:${ACCOUNT}`);
    for (const id of ['resp_3', 'resp_4']) {
      assert.equal(await store.put(response(id, { bytes, maxBytes: 10_500 })), undefined);
      assert.ok(await store.sizeOf(at(id), Date.now()));
    }
    await store.close();
  });
  it("leaves half of the server's memory to the ledger", async () => {
    const store = await openHere();
    const used = Number(/^used_memory:(\d+)/m.exec(String(await command('INFO', 'memory')))?.[1]);
    await command('CONFIG', 'SET', 'maxmemory', String(Math.ceil(used * 1.8)));
    assert.equal(await store.put(response('resp_5', { bytes })), 'StoreFull');
    assert.equal(await store.sizeOf(at('resp_5'), Date.now()), undefined);
    await command('CONFIG', 'SET', 'maxmemory', String(used * 3));
    assert.equal(await store.put(response('resp_5', { bytes })), undefined);
    await command('CONFIG', 'SET', 'maxmemory', '0');
    await store.close();
  });
  it('reads what the server says of its memory', () => {
    const info = (limit: number): string => `# Memory\r\nused_memory:300\r\nmaxmemory:${limit}\r\n`;
    assert.equal(freeBytes(info(1_000)), 200);
    assert.equal(freeBytes(`${info(0)}total_system_memory:2000\r\n`), 700, 'no limit is the whole machine');
    for (const unknown of ['', info(0)]) assert.throws(() => freeBytes(unknown), /does not say/);
  });
});

describe('the file of responses', () => {
  it('survives its process, is read by its owner only, and keeps nothing that was deleted', async () => {
    const path = join(folder, 'responses.db');
    const first = openFileStore(path);
    await first.put(response('resp_1', { bytes: Buffer.from('a secret of one') }));
    await first.put(response('resp_2'));
    await first.close();
    const second = openFileStore(path);
    assert.equal(await textOf(second, 'resp_2'), 'bytes of resp_2');
    assert.equal((await stat(path)).mode & 0o077, 0);
    await second.delete(at('resp_1'), Date.now());
    await second.close();
    deleteFileStore(path);
    assert.equal(existsSync(path), false);
    assert.equal(existsSync(`${path}-wal`), false);
  });
  it('makes room by the oldest ones of all accounts', async () => {
    const store = openFileStore(join(folder, 'total.db'));
    const put = (id: string, account: string): Promise<NotPut | undefined> =>
      store.put(response(id, { account, bytes: Buffer.alloc(90), maxBytes: 1_200 }));
    for (let account = 0; account < 18; account++) assert.equal(await put('resp_1', `team/${account}`), undefined);
    const sizes = await Promise.all(
      ['team/0', 'team/1', 'team/17'].map((account) => store.sizeOf(at('resp_1', account), Date.now())),
    );
    // 17 of 90 bytes, with what each takes beside, are within 16 of 1,200
    assert.deepEqual(sizes, [undefined, 90, 90]);
    await store.close();
  });
  it('of another program is neither used nor deleted', async () => {
    const path = join(folder, 'foreign.db');
    const foreign = new DatabaseSync(path);
    foreign.exec('CREATE TABLE notes (text TEXT)');
    foreign.close();
    const store = openFileStore(path);
    await assert.rejects(store.put(response('resp_1')), /no file of kept responses/);
    await store.close();
    deleteFileStore(path);
    assert.equal(existsSync(path), true);
    deleteFileStore(join(folder, 'none.db'));
  });
  it('names the cause where SQLite has undone a step itself', () => {
    const path = join(folder, 'undone.db');
    const table = new ResponseTable(path);
    const other = new DatabaseSync(path);
    other.exec("CREATE TRIGGER full BEFORE INSERT ON responses BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END");
    assert.throws(() => table.put(response('resp_1')), /the disk is full/);
    other.exec('DROP TRIGGER full');
    other.close();
    assert.equal(table.put(response('resp_1')), undefined);
    table.close();
  });
  it('that cannot be read is an unavailable ledger, and works again once it can', async () => {
    const path = join(folder, 'damaged.db');
    await writeFile(path, 'this is no database, and long enough to be seen as none'.repeat(100));
    const store = openFileStore(path);
    await assert.rejects(store.put(response('resp_1')), LedgerUnavailable);
    assert.match((await readFile(path)).toString('utf8', 0, 30), /this is no database/, 'it is not replaced');
    await rm(path);
    await store.put(response('resp_1'));
    assert.equal(await textOf(store, 'resp_1'), 'bytes of resp_1');
    await store.close();
  });
});

describe('a Valkey that is away', () => {
  it('is an unavailable ledger', async () => {
    const store = openValkeyStore('valkey://127.0.0.1:1');
    await assert.rejects(store.get(at('resp_1'), Date.now()), LedgerUnavailable);
    await assert.rejects(store.put(response('resp_1')), LedgerUnavailable);
    await store.close();
  });
});
