/** The stored state of one machine's console: across restarts, in order, private to its owner. */
import assert from 'node:assert/strict';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { AccessError } from '../../../../../console/access/access.ts';
import { openFileState } from '../../../../../console/access/files/file-state.ts';
import { temporaryFolder } from '../../../operator/support.ts';

describe('the stored state of one machine', () => {
  it('survives a restart, with permissions for its owner only', async (t) => {
    const data = await temporaryFolder(t);
    const memory = await openFileState(data);
    assert.equal(memory.read('signedOut'), '');
    await memory.change('signedOut', () => 'some');
    await memory.change('shownKeys', (text) => text); // nothing is written
    assert.deepEqual([memory.read('signedOut'), memory.read('shownKeys')], ['some', '']);
    assert.deepEqual(await readdir(join(data, 'console')), ['signed-out.json']);
    assert.equal((await stat(join(data, 'console', 'signed-out.json'))).mode & 0o777, 0o600);
    assert.equal((await openFileState(data)).read('signedOut'), 'some');
  });

  it('applies changes one after the other', async (t) => {
    const data = await temporaryFolder(t);
    const memory = await openFileState(data);
    await Promise.all(Array.from({ length: 20 }, (_, at) => memory.change('shownKeys', (text) => `${text} ${at}`)));
    assert.equal(
      (await openFileState(data)).read('shownKeys').trim(),
      Array.from({ length: 20 }, (_, at) => at).join(' '),
    );
  });

  it('reports a failed write, keeps the old state, and recovers later', async (t) => {
    const data = await temporaryFolder(t);
    const memory = await openFileState(data);
    await rm(join(data, 'console'), { recursive: true });
    await writeFile(join(data, 'console'), 'in the way');
    await assert.rejects(
      memory.change('signedOut', () => 'some'),
      (error) => error instanceof AccessError && error.reason === 'Unavailable',
    );
    assert.equal(memory.read('signedOut'), '');
    await rm(join(data, 'console'));
    await openFileState(data);
    await memory.change('signedOut', (text) => `${text}later`);
    assert.equal((await openFileState(data)).read('signedOut'), 'later');
  });
});
