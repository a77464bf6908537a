/** Runs each fuzzer briefly: from a fixed seed, and, except in CI, from a new one. `npm run fuzz` has longer runs. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { decodeCases, fuzz, replay } from '../../fuzz/fuzzer.ts';
import { seedOfRun } from '../../support/api/scene.ts';
import type { Fuzzer } from '../../fuzz/fuzzer.ts';
import { FUZZERS } from '../../fuzz/fuzzers.ts';
import { readFileSync, rmSync } from 'node:fs';

const STEADY_SEED = 20_261_121;
const RUN_MS = 2_000;

for (const [name, fuzzer] of FUZZERS)
  describe(`fuzz ${name}`, () => {
    for (const seed of [STEADY_SEED, seedOfRun()])
      it(`seed ${seed}`, async () => {
        const count = await fuzz(fuzzer, { seed, durationMs: RUN_MS });
        console.info(`${count} cases`);
        assert.ok(count > 0);
      });
  });

describe('a fuzzer that fails', () => {
  const seen: string[] = [];
  const fuzzer: Fuzzer = {
    name: 'failing',
    open: async () => ({
      batch: 4,
      next: (random) => ({ label: 'case', pieces: [Buffer.from(`\xff${random.int(1000)}`, 'latin1')] }),
      async run({ pieces }) {
        seen.push(Buffer.concat([...pieces]).toString('latin1'));
        if (seen.length > 5) throw new Error('found');
      },
      check: async () => undefined,
      close: async () => undefined,
    }),
  };

  it('prints its seed and keeps the bytes, which fail again', async () => {
    const failed: unknown = await fuzz(fuzzer, { seed: 77, durationMs: 1000 }).catch((error: unknown) => error);
    assert.ok(failed instanceof Error);
    assert.match(failed.message, /seed 77: found/);
    const file = /--replay (\S+)/.exec(failed.message)?.[1] ?? '';
    const { fuzzer: name, cases } = decodeCases(readFileSync(file, 'utf8'));
    assert.equal(name, 'failing');
    assert.deepEqual(
      cases.map(({ pieces }) => Buffer.concat([...pieces]).toString('latin1')),
      [seen[5]],
    );
    const again: unknown = await replay(fuzzer, cases).catch((error: unknown) => error);
    assert.ok(again instanceof Error);
    for (const { message } of [failed, again]) rmSync(/--replay (\S+)/.exec(message)?.[1] ?? '');
  });

  it('generates the same cases from the same seed', async () => {
    const run = async (): Promise<string[]> => {
      const cases: string[] = [];
      await fuzz(
        {
          name: 'counting',
          open: async () => ({
            batch: 10,
            next: (random) => ({ label: '', pieces: [Buffer.from(String(random.next()))] }),
            run: async ({ pieces }) => {
              cases.push(String(pieces[0]));
            },
            check: async () => undefined,
            close: async () => undefined,
          }),
        },
        { seed: 5, durationMs: 1000, cases: 30 },
      );
      return cases;
    };
    assert.deepEqual(await run(), await run());
  });
});
