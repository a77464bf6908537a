/** Flags of the benches that make no sense are refused before anything is started. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { parseBenchOptions } from '../../../../tools/bench/options.ts';

const NONSENSE: readonly [flags: readonly string[], said: string][] = [
  [['--rounds', 'x'], '--rounds: x is not a whole number'],
  [['--rounds', ''], '--rounds:  is not a whole number'],
  [['--rounds', '1.5'], '--rounds: 1.5 is not a whole number'],
  [['--rounds', '0'], '--rounds: 0 is less than 1'],
  [['--seconds', '0'], '--seconds: 0 is less than 1'],
  [['--cores', '0,one'], '--cores: one is not a whole number'],
];

describe('npm run bench', () => {
  for (const [flags, message] of NONSENSE)
    test(flags.join(' '), () => assert.throws(() => parseBenchOptions(flags), { name: 'TypeError', message }));

  test('--no-such', () => assert.throws(() => parseBenchOptions(['--no-such']), TypeError));

  test('defaults that --quick shortens, and others', () => {
    const options = parseBenchOptions(['--quick', '--cores', '2,3', '--compare', 'http://127.0.0.1:1/']);
    assert.ok(options !== 'help');
    assert.deepEqual([
      options.rounds, options.seconds, options.loadCore, options.core, options.compare?.url,
    ], [3, 3, 2, 3, 'http://127.0.0.1:1']);
    const others = parseBenchOptions(['--quick', '--rounds', '2', '--seconds', '1', '--mock-port', '0']);
    assert.ok(others !== 'help');
    assert.deepEqual([others.rounds, others.seconds, others.mockPort], [2, 1, 0]);
    assert.equal(parseBenchOptions(['--help']), 'help');
  });
});

describe('npm run bench:together', () => {
  for (const [flags, message] of [...NONSENSE.filter(([[, value]]) => value === 'x' ||
    value === '0'), [['--warm-up=-1'], '--warm-up: -1 is less than 0'] as const]) {
    test(flags.join(' '), () => {
      const { status, stdout, stderr } =
        spawnSync(process.execPath, [join(import.meta.dirname, '../../../../tools/bench/together.ts'), ...flags], { encoding: 'utf8' });
      assert.deepEqual({ status, stdout }, { status: 64, stdout: '' });
      assert.ok(stderr.startsWith(message), stderr);
    });
  }
});
