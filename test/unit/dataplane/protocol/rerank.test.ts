/** Rankings: what their input is bounded by. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  boundRerankInput,
  estimateRerankInput,
  readRerankFacts,
  rerankConverter,
} from '../../../../dataplane/protocol/openai/rerank.ts';
import { refusalOf } from './refusal.ts';

const LIMITS = { contextTokens: 1000, imageTokens: 30 };
/** What a provider may add to a query and a document. */
const TEMPLATE = 144;
const read = (fields: object, body = '') => readRerankFacts(Buffer.from(body), { model: 'm', ...fields });
const boundOf = (fields: object, body = '') => boundRerankInput(read(fields, body), LIMITS);

test.each([
  ['four', ['four'], 4 + 4 + TEMPLATE, 2],
  ['four', ['four', 'eight888'], 20 + 2 * TEMPLATE, 2 + 3],
  // Cohere's own fields, which all are read: {"Title":"a"} has 13 bytes
  ['four', [{ Title: 'a' }], 4 + 13 + TEMPLATE, 1 + 4],
  [{ text: 'four' }, ['four'], 15 + 4 + TEMPLATE, 4 + 1],
  // 2,148 tokens at most, in pieces of 500 at least: each with the query
  ['four', ['x'.repeat(2000)], 2000 + 5 * (4 + TEMPLATE), 501],
  ['x'.repeat(3000), ['y'], 1 + 7 * (1000 + TEMPLATE), 751],
  // what may be a file, or anything, is held at the context
  ['four', [{ text: 'four', url: 'https://x/a.pdf' }], 1000, 1 + 1 + 30],
  ['four', [{ parts: [{ text: 'four' }] }], 1000, 1 + 30],
  ['data:image/png;base64,AAAA', ['four'], 1000, 30 + 1],
])('query %j with the documents %j', (query, documents, bound, estimate) => {
  const facts = read({ query, documents });
  assert.deepEqual([boundRerankInput(facts, LIMITS), estimateRerankInput(facts, LIMITS)], [bound, estimate]);
});

test('what else is in the body may be read with each document', () => {
  const fields = { query: 'q', documents: ['a', 'b'], instruction: 'x'.repeat(100) };
  const body = JSON.stringify(fields);
  const beside = body.length - '"q"["a","b"]'.length;
  assert.equal(boundOf(fields, body), 2 * (1 + 1 + beside + TEMPLATE));
  assert.equal(estimateRerankInput(read(fields, body), LIMITS), 2 * (1 + 1 + 25));
  // as at a review of 100 kB with each of 100 documents
  const large = { query: 'q', documents: Array.from({ length: 100 }, () => 'd'), instruction: 'x'.repeat(100_000) };
  assert.ok(boundOf(large, JSON.stringify(large)) >= 100 * LIMITS.contextTokens);
});

test('smaller pieces, and what they repeat, are read with the query more often', () => {
  const fields = { query: 'four', documents: ['x'.repeat(200)] };
  assert.equal(boundOf({ ...fields, max_tokens_per_doc: 200 }), 204 + TEMPLATE);
  assert.equal(boundOf({ ...fields, max_tokens_per_doc: 10 }), 200 + 35 * (4 + TEMPLATE));
  assert.equal(boundOf({ ...fields, max_tokens_per_doc: 10, overlap_tokens: 8 }), 200 + 174 * (4 + TEMPLATE + 8));
  assert.equal(boundOf({ ...fields, max_tokens_per_doc: 10, overlap_tokens: 99 }), 200 + 348 * (4 + TEMPLATE + 99));
  for (const wrong of [{ max_tokens_per_doc: 0 }, { max_tokens_per_doc: '5' }, { overlap_tokens: -1 }])
    assert.equal(refusalOf(() => read({ ...fields, ...wrong })).param, Object.keys(wrong)[0]);
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
