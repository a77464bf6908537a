/** The operator's memory does not grow with the edits it has seen, on the leader and on a follower. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('churning-operator.ts', import.meta.url));
const KEYS = 10_000;
const EDITS = 5_000;
/** Each group is one translation: 200 of them would have kept 32 MiB when each left its lists behind. */
const EDITS_PER_GROUP = 25;
/** Half of the memory limit of the chart's operator. */
const HEAP_LIMIT_MIB = 256;
/** Statuses and translations of edited keys are a little larger than those of keys that never changed. */
const GROWTH_MIB = 15;
const TIMEOUT_MS = 600_000;

it(`the heap does not grow over ${EDITS} edits at ${KEYS} keys, in each role`, { timeout: TIMEOUT_MS }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    `--max-old-space-size=${HEAP_LIMIT_MIB}`,
    PROGRAM,
    String(KEYS),
    String(EDITS),
    String(EDITS_PER_GROUP),
  ]);
  const heap: Readonly<Record<string, readonly number[]>> = JSON.parse(stdout);
  assert.deepEqual(Object.keys(heap), ['follower', 'leader']);
  for (const [role, samples] of Object.entries(heap)) {
    const [, settled = 0] = samples; // the first edits compile code and fill caches
    assert.ok((samples.at(-1) ?? Infinity) - settled < GROWTH_MIB, `${role}, heap in MiB: ${samples.join(', ')}`);
  }
});
