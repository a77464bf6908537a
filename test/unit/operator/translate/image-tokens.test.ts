/** The bound of an image's tokens by the names of its model. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { imageTokensOf } from '../../../../operator/translate/image-tokens.ts';

test('a model that counts more for an image has a higher default', () => {
  for (const [name, tokens] of [
    ['gpt-4o-mini', 49_152],
    ['openai/gpt-4o-mini-2024-07-18', 49_152],
    ['gpt-5.4', 12_288],
    ['gpt-5.1', 4096],
    ['claude-opus-4-7', 6144],
    ['claude-sonnet-4-5-20250929', 4096],
    ['gpt-4o', 4096],
  ] as const)
    assert.equal(imageTokensOf({ name }, []), tokens, name);
  assert.equal(imageTokensOf({ name: 'gpt-4o-mini', imageTokens: 100 }, []), 100);
  const models = [{ name: 'small', upstreamName: 'gpt-4o-mini' }];
  assert.equal(imageTokensOf({ name: 'small' }, [{ models: [] }, { models }]), 49_152);
});
