/** The threat model names tests that exist, one at least for each threat. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';

const TESTS = join(import.meta.dirname, '../..');
const page = await readFile(join(TESTS, '../docs/concepts/security.md'), 'utf8');
const [, threats = ''] = /## Threats\n([^]*?)\n## /.exec(page) ?? [];
const rows = threats
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('docs/concepts/security.md', () => {
  it('has threats', () => {
    assert.ok(rows.length >= 18);
    assert.ok(rows.every((cells) => cells.length === 4 && cells.every((cell) => cell.length > 5)));
  });

  for (const [who = '', , , shownBy = ''] of rows)
    it(`${who}: is tested`, () => {
      const paths = [...shownBy.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
      assert.ok(paths.length > 0);
      assert.deepEqual(
        paths.filter((path) => !existsSync(join(TESTS, path))),
        [],
      );
    });
});
