/** Flags of programs that are run by hand: what is wrong is said, and nothing is run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'vitest';

const PROGRAMS = ['chaos/chaos.ts', 'chaos/fleet.ts', 'fuzz/run.ts'];

function run(program: string, args: readonly string[]): { readonly status:
  | number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, [join(import.meta.dirname, '../../../tools', program), ...args], { encoding: 'utf8' });
}

for (const program of PROGRAMS) {
  test(`${program} refuses flags that are wrong, and tells which there are`, () => {
    for (const [args, words] of [[
      ['--minutes', 'x'], '--minutes: x is not a number',
    ], [['--seed', '-1'], '--seed'], [['--often'], '--often'], [['more'], 'more']] as const) {
      const { status, stdout, stderr } = run(program, args);
      assert.deepEqual([status, stdout], [64, ''], args.join(' '));
      assert.ok(stderr.includes(words) && stderr.includes('[--minutes 10]'), stderr);
    }
    const { status, stdout, stderr } = run(program, ['--help']);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /\[--seed N\]/);
  });
}
