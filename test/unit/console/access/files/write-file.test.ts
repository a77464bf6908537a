/** Files are written as a whole, over the content that was read, or not at all. */
import assert from 'node:assert/strict';
import { chmod, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { AccessError } from '../../../../../console/access/access.ts';
import { createFile, readOnlyReason, removeFile, replaceFile } from '../../../../../console/access/files/write-file.ts';
import { temporaryFolder } from '../../../operator/support.ts';

function isConflict(error: unknown): boolean {
  return error instanceof AccessError && error.reason === 'Conflict';
}

describe('writing', () => {
  it('replaces a file whose content is the one that was read, and keeps its permissions', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'a.yaml');
    await writeFile(path, 'one');
    await chmod(path, 0o604);
    await replaceFile(path, 'one', 'two');
    assert.equal(await readFile(path, 'utf8'), 'two');
    assert.equal((await stat(path)).mode & 0o777, 0o604);
    assert.deepEqual(await readdir(folder), ['a.yaml']);
  });

  it('does not overwrite a file that changed at the same moment', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, 'a.yaml');
    await writeFile(path, 'theirs');
    await assert.rejects(replaceFile(path, 'one', 'two'), isConflict);
    await assert.rejects(removeFile(path, 'one'), isConflict);
    assert.equal(await readFile(path, 'utf8'), 'theirs');
    assert.deepEqual(await readdir(folder), ['a.yaml'], 'nothing is left beside it');
  });

  it('does not create a deleted file again', async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(replaceFile(join(folder, 'a.yaml'), 'one', 'two'), isConflict);
    await assert.rejects(removeFile(join(folder, 'a.yaml'), 'one'), isConflict);
    assert.deepEqual(await readdir(folder), []);
  });

  it("uses the first free name, and no other file's", async (t) => {
    const folder = await temporaryFolder(t);
    const made = await Promise.all(
      ['1', '2', '3'].map((text) => createFile(folder, ['a.yaml', 'b.yaml', 'c.yaml'], text)),
    );
    assert.deepEqual(
      made.toSorted(),
      ['a.yaml', 'b.yaml', 'c.yaml'].map((name) => join(folder, name)),
    );
    assert.deepEqual(await Promise.all(made.map((path) => readFile(path, 'utf8'))), ['1', '2', '3']);
    await assert.rejects(createFile(folder, ['a.yaml', 'b.yaml'], '4'), isConflict);
    assert.deepEqual((await readdir(folder)).sort(), ['a.yaml', 'b.yaml', 'c.yaml']);
  });

  it('reports what prevents it', async (t) => {
    const folder = await temporaryFolder(t);
    assert.equal(await readOnlyReason(folder), undefined);
    assert.equal(await readOnlyReason(join(folder, 'none')), 'it cannot be written');
    await assert.rejects(createFile(join(folder, 'none'), ['a.yaml'], '1'), isConflict);
  });
});
