/** Moderations: what their input is bounded by, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  boundModeratedInput,
  estimateModeratedInput,
  moderationsConverter,
  readModerationsFacts,
} from '../../../../dataplane/protocol/openai/moderations.ts';
import { refusalOf } from './refusal.ts';

const LIMITS = { contextTokens: 1000, imageTokens: 300 };
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } };
const NO_BODY = Buffer.from('');
const read = (input: unknown) => readModerationsFacts(NO_BODY, { model: 'm', input });
/** What a guard model may add to an input. */
const POLICY = 512;

test.each([
  ['grün', 5 + POLICY, 2],
  [['a', 'bc'], 3 + 2 * POLICY, 2],
  ['x'.repeat(5000), 1000, 1000],
  [['x'.repeat(5000), 'y'.repeat(5000)], 2000, 2000],
  [[{ type: 'text', text: 'four' }, picture], 4 + POLICY + 300, 301],
  [[picture, picture, picture, picture], 1000, 1000],
])('the input %j is bounded and estimated', (input, bound, estimate) => {
  const facts = read(input);
  assert.deepEqual([boundModeratedInput(facts, LIMITS), estimateModeratedInput(facts, LIMITS)], [bound, estimate]);
});

test('a policy in the body may be read with each input', () => {
  const body = { model: 'm', input: ['a', 'b'], policy: 'x'.repeat(100) };
  const facts = readModerationsFacts(Buffer.from(JSON.stringify(body)), body);
  const beside = JSON.stringify({ ...body, input: 0 }).length - 1;
  assert.equal(boundModeratedInput(facts, LIMITS), 2 * (1 + beside + POLICY));
  assert.equal(estimateModeratedInput(facts, LIMITS), 2 * (1 + 25));
});

test.each([
  [undefined, 'input'],
  [null, 'input'],
  [[], 'input'],
  [7, 'input'],
  [['a', 5], 'input[1]'],
  [['a', { type: 'text', text: 'b' }], 'input[0]'],
  [[{ type: 'constructor' }], 'input[0]'],
  [[{ type: 'text', text: 5 }], 'input[0]'],
  [[{ type: 'text', text: 'a', image_url: { url: 'b' } }], 'input[0]'],
  [[{ type: 'image_url', image_url: 'https://x/a.png' }], 'input[0]'],
  [[{ type: 'image_url', image_url: { url: 5 } }], 'input[0].image_url'],
  [[{ type: 'image_url', image_url: { url: 'a', more: 'b' } }], 'input[0].image_url'],
  [[{ type: 'image_url', image_url: { URL: 'a', url: 'b' } }], 'input[0].image_url.URL'],
])('the input %j is refused', (input, param) => {
  assert.equal(refusalOf(() => read(input)).param, param);
});

test('an image counts wherever it is, and a request without a model has that of OpenAI', () => {
  assert.equal(read([{ type: 'text', text: 'a' }, picture]).imageParam, 'input');
  const hidden = readModerationsFacts(NO_BODY, { model: 'm', input: 'a', image: 'https://x/a.png' });
  assert.deepEqual([hidden.imageParam, hidden.inputs], ['image', [{ textBytes: 1, images: 1 }]]);
  assert.equal(readModerationsFacts(NO_BODY, { input: 'a' }).model, 'omni-moderation-latest');
  assert.equal(refusalOf(() => readModerationsFacts(NO_BODY, { model: '', input: 'a' })).param, 'model');
});

test('a response passes through, with usage if there is any', () => {
  const response = (more: object) =>
    moderationsConverter.response(Buffer.from(JSON.stringify({ results: [], ...more }))).meter;
  assert.deepEqual([response({}).final, response({}).reported.input], [false, undefined]);
  const { final, reported } = response({ usage: { total_tokens: 4 } });
  assert.deepEqual([final, reported.input, reported.output], [true, 4, undefined]);
  for (const wrong of ['x', '[]', '{"data":[]}'])
    assert.throws(() => moderationsConverter.response(Buffer.from(wrong)), SyntaxError);
});
