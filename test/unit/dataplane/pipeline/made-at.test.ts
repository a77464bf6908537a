/** The size of an image is a resolution at Google's models only. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { madeAt } from '../../../../dataplane/pipeline/made-at.ts';
import type { Candidate } from '../../../../dataplane/state/state.ts';

it("is converted on channels of Google's protocol, and as it was written on others", () => {
  const made = { size: '4096x4096', quality: 'high', convertedSize: '4K' };
  const target = (protocol: Candidate['target']['protocol']): Candidate['target'] =>
    ({ protocol }) as Candidate['target'];
  assert.deepEqual(madeAt(made, { target: target('Gemini') }), made);
  const own = { size: '4096x4096', quality: 'high' };
  assert.deepEqual(madeAt(made, { target: target('OpenAI') }), own);
  assert.deepEqual(madeAt(made, {}), own);
});
