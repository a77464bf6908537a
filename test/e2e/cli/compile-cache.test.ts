/** Compiled modules are cached for the next start, and a read-only place does not prevent a start. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { startMgw } from '../../support/cli.ts';

describe('compiled modules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-compiled-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are cached where NODE_COMPILE_CACHE says', async () => {
    const kept = join(folder, 'kept');
    await using cli = startMgw(['--version'], { env: { NODE_COMPILE_CACHE: kept } });
    assert.equal((await cli.finished).exitCode, 0);
    assert.ok(readdirSync(kept, { recursive: true }).length > 5);
  });

  it('are compiled again if there is no cache', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await using cli = startMgw(['--version'], { env: { NODE_COMPILE_CACHE: join(file, 'below') } });
    const { exitCode, stderr } = await cli.finished;
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
  });
});
