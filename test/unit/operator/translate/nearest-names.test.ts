/** Wrong references are reported with suggestions. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { suggestNames } from '../../../../operator/translate/nearest-names.ts';

describe('a wrong reference', () => {
  for (const [wrong, existing, sentence] of [
    ['auto-b', ['auto-a', 'vip'], ' Did you mean "auto-a"?'],
    ['smrt', ['smart', 'art', 'else'], ' Did you mean "smart"?'],
    ['main', ['production'], ' There is "production".'],
    ['x', ['alpha', 'beta', 'gamma', 'delta', 'eta'], / and 2 more\.$/],
    ['x', [], ''],
  ] as const) {
    it(`to ${wrong} among ${existing.join(', ') || 'nothing'} suggests the nearest`, () => {
      const said = suggestNames(wrong, existing);
      if (typeof sentence === 'string') assert.equal(said, sentence);
      else assert.match(said, sentence);
    });
  }
});
