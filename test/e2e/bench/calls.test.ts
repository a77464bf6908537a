/** The benches of calls run to their end: nothing is measured here. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { prlimit } from '../../support/full-disk.ts';
import { valkey } from '../../support/valkey.ts';
import { assertRuns } from './run-bench.ts';

// taskset is in the same package as prlimit
describe.skipIf(prlimit.skip || valkey.skip)('a bench of calls', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mgw-bench-test-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('bench.ts, on a file and on Valkey', () =>
    assertRuns({
      command:
        'test/bench/bench.ts --case openai-json-64 --rounds 1 --seconds 1 --warm-up 1 --valkey ' +
        `--output ${join(folder, 'result.json')}`,
      figures: [/^openai-json-64 .*\d/m, /valkey/, /written to/],
    }));

  it('profile.ts', () =>
    assertRuns({
      command: 'test/bench/profile.ts --seconds 1 --warm-up 1 --functions 3',
      figures: [/\d/],
    }));

  it('function-calls.ts', () =>
    assertRuns({
      command: 'test/bench/function-calls.ts --calls 2 --list 1',
      figures: [/^openai -> anthropic, stream +\d+ +\d+ +\d+ +\d+$/m],
    }));

  it('together.ts', () =>
    assertRuns({ command: 'test/bench/together.ts --rounds 1 --seconds 1 --warm-up 1', figures: [/\d/] }));

  it('startup.ts', () =>
    assertRuns({
      command: 'test/bench/startup.ts --rounds 1 --keys 20',
      figures: [/^1 key$/m, /^20 keys$/m, /until a call is answered {2}min +\d/, /CPU time until then +min +\d/],
    }));

  it('memory.ts', () =>
    assertRuns({
      command: 'test/bench/memory.ts --calls 400 --samples 4 --streams 5 --rounds 1',
      figures: [/resident MiB/, /\d/],
    }));
});
