/** The admin token and the sealing key of one machine. */
import assert from 'node:assert/strict';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { openConsoleSecrets } from '../../../../../console/access/files/console-secrets.ts';
import { temporaryFolder } from '../../../operator/support.ts';

describe("the console's secrets", () => {
  it('are created once, with permissions for their owner only, and printed once', async (t) => {
    const data = join(await temporaryFolder(t), 'data');
    const first = await openConsoleSecrets(data);
    assert.match(first.newToken ?? '', /^mgw-[\w-]{43}$/);
    assert.equal((await readFile(first.tokenFile, 'utf8')).trim(), first.newToken);
    assert.equal((await stat(first.tokenFile)).mode & 0o777, 0o600);
    assert.equal((await stat(join(data, 'console'))).mode & 0o777, 0o700);
    assert.equal((await stat(join(data, 'console', 'sealing-key'))).mode & 0o777, 0o600);
    const second = await openConsoleSecrets(data);
    assert.equal(second.newToken, undefined);
    assert.ok(second.isToken(first.newToken ?? ''));
    assert.deepEqual(second.sealingKey, first.sealingKey);
    for (const wrong of ['', 'x', `${first.newToken}x`, first.newToken?.slice(1) ?? ''])
      assert.ok(!second.isToken(wrong));
  });

  it('change when their files are deleted', async (t) => {
    const data = await temporaryFolder(t);
    const first = await openConsoleSecrets(data);
    await rm(first.tokenFile);
    const second = await openConsoleSecrets(data);
    assert.ok(second.newToken !== undefined && !second.isToken(first.newToken ?? ''));
  });

  it('can be provided, but not weak ones', async (t) => {
    const data = await temporaryFolder(t);
    const { tokenFile } = await openConsoleSecrets(data);
    await writeFile(tokenFile, `${'a1'.repeat(16)}\n`);
    assert.ok((await openConsoleSecrets(data)).isToken('a1'.repeat(16)));
    for (const weak of ['', 'short', `${'a1'.repeat(16)} and more`]) {
      await writeFile(tokenFile, weak);
      await assert.rejects(openConsoleSecrets(data), /at least 32 characters/);
    }
    await writeFile(tokenFile, 'a1'.repeat(16));
    await writeFile(join(data, 'console', 'sealing-key'), 'x');
    await assert.rejects(openConsoleSecrets(data), /is damaged/);
  });
});
