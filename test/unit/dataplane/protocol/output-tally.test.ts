/** The size of a response from which missing usage is estimated. */
import assert from 'node:assert/strict';
import { it } from 'vitest';
import { OutputSize, OutputTally } from '../../../../dataplane/protocol/output-tally.ts';

it('output is counted in full, and stored in part', () => {
  const tally = new OutputTally();
  for (const value of ['é', 7, undefined, '', 'x'.repeat(300_000), 'y']) tally.add(value);
  assert.deepEqual([tally.bytes, tally.texts.length, tally.texts[0]], [300_003, 2, 'é']);
});

it('a run of base64 is as large as one picture at most, wherever pieces end', () => {
  const run = 'aB+/=_-0'.repeat(2000);
  for (const [text, bytes] of [
    ['', 0],
    ['{"text": "two words, é"}', 25],
    [run.slice(0, 5160), 5160],
    [run, 5160],
    [`{"data":"${run}","more":"${run}"}`, 2 * 5160 + 21],
    [`é${run}`, 5162],
  ] as const)
    for (const size of [1, 7, 100_000]) {
      const output = new OutputSize();
      const all = Buffer.from(text);
      for (let at = 0; at < all.length; at += size) output.add(all.subarray(at, at + size));
      assert.equal(output.bytes, bytes, text.slice(0, 20));
    }
});
