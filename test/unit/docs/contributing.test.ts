/** CONTRIBUTING.md's table of which suite tests which folder: it has every part of the layout, and tests that exist. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isWithin, LAYOUT } from '../../support/architecture/layout.ts';

const ROOT = join(import.meta.dirname, '../../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const [, table = ''] = /^\| sources +\| tests +\|\n[|\s-]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
const rows = table
  .trim()
  .split('\n')
  .map((row) => row.split('|').slice(1, -1).map(pathsIn))
  .map(([sources = [], tests = []]) => ({ sources, tests }));

/** "`a/b/`: …, `c.ts`" → a/b, c.ts */
function pathsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+?)\/?`/g)].map(([, path = '']) => path);
}

test.each(rows)('$sources is tested by $tests', ({ sources, tests }) => {
  for (const source of sources) assert.ok(existsSync(join(ROOT, source)), source);
  assert.ok(tests.length > 0);
  for (const path of tests) {
    const files = globSync([path, `${path}/**/*.test.ts`], { cwd: join(ROOT, 'test') });
    assert.ok(
      files.some((file) => file.endsWith('.test.ts')),
      `${path} has no test`,
    );
  }
});

test('every part of the code has a row, and none has two', () => {
  const named = rows.flatMap(({ sources }) => sources);
  expect(named).toEqual([...new Set(named)]);
  // a part of the data plane has a row of its own
  const inRow = (part: string): boolean =>
    named.some((source) => isWithin(part, source) && (source !== 'dataplane' || part.endsWith('.ts')));
  assert.deepEqual(
    Object.keys(LAYOUT).filter((part) => !inRow(part)),
    [],
  );
});
