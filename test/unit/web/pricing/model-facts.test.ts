/** The paths at which a model can be called. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { endpointPaths } from '../../../../web/pricing/model-facts.ts';

test('a model of images is edited and varied if it takes images', () => {
  const made = ['/v1/images/generations'];
  assert.deepEqual(endpointPaths({ endpoints: ['Images'], inputs: ['text'] }), made);
  assert.deepEqual(endpointPaths({ endpoints: ['Images'], inputs: ['text', 'image'] }), [
    ...made,
    '/v1/images/edits',
    '/v1/images/variations',
  ]);
  assert.deepEqual(endpointPaths({ endpoints: ['Chat', 'Videos'], inputs: ['text', 'image'] }), [
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/videos',
  ]);
});
