/** Rankings: what their input is bounded by. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  boundRerankInput,
  estimateRerankInput,
  readRerankFacts,
  rerankConverter,
} from '../../../../dataplane/protocol/openai/rerank.ts';

const LIMITS = { contextTokens: 100, imageTokens: 30 };

test.each([
  ['four', ['four'], 4 + 4 + 8, 2],
  ['four', ['four', 'eight888'], 16 + 20, 2 + 3],
  // Cohere's own fields, which all are read: {"Title":"a"} has 13 bytes
  ['four', [{ Title: 'a' }], 4 + 13 + 8, 1 + 4],
  [{ text: 'four' }, ['four'], 15 + 4 + 8, 4 + 1],
  // 212 tokens at most, in pieces of 50 at least: each with the query
  ['four', ['x'.repeat(200)], 200 + 5 * 12, 51],
  ['x'.repeat(300), ['y'], 1 + 7 * 108, 76],
  // what may be a file, or anything, is held at the context
  ['four', [{ text: 'four', url: 'https://x/a.pdf' }], 100, 1 + 1 + 30],
  ['four', [{ parts: [{ text: 'four' }] }], 100, 1 + 30],
  ['data:image/png;base64,AAAA', ['four'], 100, 30 + 1],
])('query %j with the documents %j', (query, documents, bound, estimate) => {
  const facts = readRerankFacts({ model: 'm', query, documents });
  assert.deepEqual([boundRerankInput(facts, LIMITS), estimateRerankInput(facts, LIMITS)], [bound, estimate]);
});

test.each([
  [{ results: [] }, undefined],
  [{ results: [], usage: { total_tokens: 0 } }, undefined],
  [{ results: [], usage: { total_tokens: 7 } }, 7],
  [{ data: [], usage: { total_tokens: 7, prompt_tokens: 6 } }, 7],
  [{ results: [], meta: { billed_units: { search_units: 1 } } }, undefined],
  [{ results: [], meta: { billed_units: { search_units: 1, total_tokens: 5 } } }, 5],
  [{ results: [], meta: { tokens: { input_tokens: 8, output_tokens: 0 } } }, 8],
])('the usage of %j', (response, input) => {
  const { meter } = rerankConverter.response(Buffer.from(JSON.stringify(response)));
  assert.deepEqual([meter.reported.input, meter.final], [input, input !== undefined]);
});

test('a response without a list is none', () => {
  for (const wrong of ['x', '[]', '{"usage":{}}'])
    assert.throws(() => rerankConverter.response(Buffer.from(wrong)), SyntaxError);
});
