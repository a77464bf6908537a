/** The benches of the ledgers and of the bills in them run to their end: nothing is measured here. */
import { describe, it } from 'vitest';
import { valkey } from '../../support/valkey.ts';
import { assertRuns } from './run-bench.ts';

describe.skipIf(valkey.skip)('a bench of Valkey', () => {
  it('valkey.ts', () =>
    assertRuns({
      command: 'test/bench/valkey.ts --keys 100 --accounts 10 --seconds 0.2',
      figures: [/on Valkey: \d+ calls\/s/, /bytes per key/, /embedded, for comparison: \d+ calls\/s/],
    }));

  it('valkey-loss.ts', () =>
    assertRuns({
      command: 'test/bench/valkey-loss.ts --seconds 0.2',
      figures: [/appendfsync always: \d+ acknowledged, .*after the journals 0$/m, /wait=1: \d+ acknowledged/],
    }));
});

it('ledger-file.ts', () =>
  assertRuns({
    command: 'test/bench/ledger-file.ts normal 50 1 100',
    figures: [/^normal 50\/s, \d+ calls: CPU a call \d+\.\d µs main/m],
  }));

it('catalog-diff.ts', () =>
  assertRuns({
    command: 'test/bench/catalog-diff.ts --calls 300',
    figures: [/^--ledger: \d+\.\d s, \d+\.\d s of CPU: /m, /^--usage: \d+\.\d s/m],
  }));
