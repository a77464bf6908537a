/** The reviews of pods: operator/webhook/testdata/<situation>.in.yaml → .out.yaml, rewritten by GOLDEN=write. */
import assert from 'node:assert/strict';
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Pod } from '../../../../operator/webhook/pod.ts';
import { review } from '../../../../operator/webhook/review.ts';
import { applied, contextWith } from './support.ts';
import type { ShortKey } from './support.ts';

const TESTDATA = join(import.meta.dirname, '../../../../operator/webhook/testdata');
const situations = (await Array.fromAsync(glob('*.in.yaml', { cwd: TESTDATA })))
  .map((file) => file.replace('.in.yaml', ''))
  .sort();

describe('a pod', () => {
  for (const situation of situations)
    it(situation, async () => {
      const { apiKeys, pod } = parse(await readFile(join(TESTDATA, `${situation}.in.yaml`), 'utf8')) as {
        apiKeys: ShortKey[];
        pod: Pod;
      };
      const context = contextWith(apiKeys);
      const { patch, ...verdict } = await review({ uid: 'u', namespace: 'team-a', pod }, context);
      const after = patch && applied(pod, patch);
      const text = stringify(
        { ...verdict, ...(after ? { pod: after } : {}) },
        { lineWidth: 160, aliasDuplicateObjects: false },
      );
      const path = join(TESTDATA, `${situation}.out.yaml`);
      if (process.env['GOLDEN'] === 'write') await writeFile(path, text);
      assert.equal(
        text,
        await readFile(path, 'utf8').catch(() => ''),
        `${situation}.out.yaml differs: GOLDEN=write rewrites it`,
      );
      if (after)
        assert.deepEqual(
          await review({ uid: 'u', namespace: 'team-a', pod: after }, context),
          { outcome: 'unchanged' },
          'asked twice',
        );
    });
});
