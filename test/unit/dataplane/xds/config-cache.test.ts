/** The last good configuration on disk: it starts a proxy without an operator, and is unreadable without the key. */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { Snapshot } from '#snapshot/snapshot.gen.ts';
import { cacheKey } from '../../../../dataplane/xds/config-cache.ts';
import { tempFolder } from '../../../support/cli.ts';
import { testDistribution, until } from '../../operator/xds/support.ts';
import { configOf, testProxy } from './support.ts';

const CONFIG = configOf([1, 2, 3]);

/** The folder of the cache of a proxy that has had CONFIG. */
async function written(): Promise<AsyncDisposable & { readonly file: string; readonly keyFile: string }> {
  const folder = await tempFolder({ key: 'a secret that is long enough to be one' });
  const cache = { file: join(folder.path, 'cache'), keyFile: join(folder.path, 'key') };
  await using server = await testDistribution();
  server.publish(CONFIG);
  const proxy = await testProxy(server.port, { cache });
  await until(() => proxy.client.figures().connected);
  await proxy.stop();
  return { ...cache, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const NOWHERE = 1;

describe('the configuration cache', { timeout: 120_000 }, () => {
  it('starts a proxy without an operator, provider credentials included', async () => {
    await using cache = await written();
    await using proxy = await testProxy(NOWHERE, { cache });
    assert.deepEqual(proxy.snapshot(), Snapshot.decode(Snapshot.encode(CONFIG).finish()));
    assert.equal(proxy.client.figures().connected, false);
  });

  it('lets the operator send only differences, and drops what has been revoked', async () => {
    await using cache = await written();
    await using server = await testDistribution();
    server.publish(configOf([2, 3]));
    await using proxy = await testProxy(server.port, { cache });
    await until(() => proxy.client.figures().connected);
    assert.deepEqual(
      proxy.snapshot()?.keys.map(({ name }) => name),
      ['key-2', 'key-3'],
    );
  });

  it('is readable by its owner only, and contains no readable name or credential', async () => {
    await using cache = await written();
    const bytes = await readFile(cache.file);
    assert.equal((await stat(cache.file)).mode & 0o777, 0o600);
    for (const word of ['secret-of-one', 'key-1', 'example', 'gpt']) assert.ok(!bytes.includes(word), word);
  });

  it('is not used if a bit of it, or its key, differs', async () => {
    await using cache = await written();
    const bytes = await readFile(cache.file);
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(60) ^ 1, 60);
    for (const [name, content] of [
      ['changed', changed],
      ['short', bytes.subarray(0, 40)],
      ['cut', bytes.subarray(0, -1)],
      ['foreign', Buffer.from('x'.repeat(100))],
    ] as const) {
      await writeFile(cache.file, content);
      await using proxy = await testProxy(NOWHERE, { cache });
      assert.equal(proxy.installs(), 0, name);
      assert.ok(
        proxy.logs.some((line) => line.includes('cannot use the configuration cache')),
        name,
      );
    }
    await writeFile(cache.file, bytes);
    await writeFile(cache.keyFile, 'another secret that is long enough too');
    await using proxy = await testProxy(NOWHERE, { cache });
    assert.equal(proxy.installs(), 0);
  });

  it('requires a secret key', () => {
    assert.throws(() => cacheKey(Buffer.from('short')), /at least 32 bytes/);
  });
});
