/** Generated files equal what their sources generate, and satisfy Kubernetes' rules. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { CONDITIONS, REASONS, type ConditionRow } from '#crds/conditions.ts';
import { generateAll, staleFiles } from '../../../tools/generate/generate.ts';

it('all generated files are current', async () => {
  const stale = await staleFiles(await generateAll());
  assert.deepEqual(
    stale.map(({ path }) => path),
    [],
    'run npm run generate',
  );
});

it('every reason belongs to a condition', () => {
  const rows: readonly ConditionRow[] = Object.values(CONDITIONS);
  const used = new Set<string>(rows.flatMap(({ reasons }) => reasons));
  assert.deepEqual(
    Object.keys(REASONS).filter((reason) => !used.has(reason)),
    [],
  );
});

it('conditions and reasons satisfy metav1.Condition', () => {
  for (const word of [...Object.keys(CONDITIONS), ...Object.keys(REASONS)]) assert.match(word, /^[A-Z][A-Za-z]*$/);
});
