/** A durable write creates the whole file or nothing. */
import assert from 'node:assert/strict';
import { lstat, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'vitest';
import { withPartial, writeDurably } from '#runtime/write-durably.ts';
import { temporaryFolder } from '../operator/support.ts';

describe('a durable write', () => {
  it('creates a file with the requested permissions, or replaces one', async (t) => {
    const path = join(await temporaryFolder(t), 'a.yaml');
    const mask = process.umask(0o077);
    try {
      await writeDurably(path, { text: 'one', mode: 0o664 });
    } finally {
      process.umask(mask);
    }
    assert.deepEqual([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777], ['one', 0o664]);
    await writeDurably(path, { text: 'two', mode: 0o600 });
    assert.deepEqual([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777], ['two', 0o600]);
    assert.deepEqual(await readdir(dirname(path)), ['a.yaml']);
  });

  it('replaces a link, and keeps its target', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'theirs'), 'theirs');
    await symlink('theirs', join(folder, 'a.yaml'));
    await writeDurably(join(folder, 'a.yaml'), { text: 'ours', mode: 0o600 });
    assert.equal((await lstat(join(folder, 'a.yaml'))).isFile(), true);
    assert.equal(await readFile(join(folder, 'theirs'), 'utf8'), 'theirs');
  });

  it('writes the whole text under a hidden name before it renames the file', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, `${'n'.repeat(200)}.yaml`);
    const told = await withPartial(path, { text: 'all of it', mode: 0o640 }, async (partial) => {
      assert.equal(dirname(partial), folder);
      assert.deepEqual(
        (await readdir(folder)).map((name) => name.startsWith('.n')),
        [true],
      );
      assert.deepEqual([await readFile(partial, 'utf8'), (await stat(partial)).mode & 0o777], ['all of it', 0o640]);
      await rename(partial, path);
      return 'done';
    });
    assert.equal(told, 'done');
    assert.equal(await readFile(path, 'utf8'), 'all of it');
  });

  it('keeps the old file, and no other, if it fails', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'a.yaml'), 'before');
    await assert.rejects(
      withPartial(join(folder, 'a.yaml'), { text: 'after', mode: 0o600 }, () => Promise.reject(new Error('no'))),
      /^Error: no$/,
    );
    assert.equal(await readFile(join(folder, 'a.yaml'), 'utf8'), 'before');
    await mkdir(join(folder, 'folder'));
    await assert.rejects(writeDurably(join(folder, 'folder'), { text: 'after', mode: 0o600 }), { code: 'EISDIR' });
    await assert.rejects(writeDurably(join(folder, 'nowhere', 'a.yaml'), { text: 'after', mode: 0o600 }), {
      code: 'ENOENT',
    });
    assert.deepEqual((await readdir(folder)).sort(), ['a.yaml', 'folder']);
  });
});
