/** Members of an object that comes in pieces, and the usage of large responses of endpoints that only read. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { embeddingsConverter } from '../../../../dataplane/protocol/openai/embeddings.ts';
import { rerankConverter } from '../../../../dataplane/protocol/openai/rerank.ts';
import { TopMembers } from '../../../../dataplane/protocol/top-members.ts';

function read(text: string, size: number): object {
  const members = new TopMembers(new Set(['usage', 'meta']));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) members.add(bytes.subarray(at, at + size));
  return members.found;
}

test.each([
  ['{}', {}],
  [' {"a":[1,{"usage":{"x":1}}], "usage" : {"x":[2,3]} ,"meta":null}', { usage: { x: [2, 3] }, meta: null }],
  ['{"u\\u0073age":1,"b":"\\\\","meta":"}\\",\\"usage\\":{"}', { usage: 1, meta: '}","usage":{' }],
  // the last, as JSON.parse has it
  ['{"usage":1,"usage":2}', { usage: 2 }],
  // in an array, too long, too deep, cut off
  ['[{"usage":1},{"meta":1}]', {}],
  [`{"usage":"${'x'.repeat(70_000)}","meta":1}`, { meta: 1 }],
  [`{"usage":${'['.repeat(9000)}${']'.repeat(9000)},"meta":1}`, { meta: 1 }],
  ['{"usage":1,"meta":{"a":1}', { usage: 1 }],
  [']}{"usage":1}', { usage: 1 }],
  ['no JSON, "usage":1', {}],
])('%# is read in pieces of any size', (text, found) => {
  for (const size of [1, 7, 100_000]) assert.deepEqual(read(text, size), found, String(size));
});

const ranking = (more: object, document: object) =>
  JSON.stringify({
    results: [
      { index: 0, document },
      { index: 1, document: {} },
    ],
    ...more,
  });
const inputOf = (converter: typeof rerankConverter, text: string) => {
  const large = converter.large?.();
  large?.add(Buffer.from(text));
  const meter = large?.meter;
  return [meter?.reported.input, meter?.final, meter?.outputBytes];
};

test('the usage of a large ranking is its own, never that of a document', () => {
  const document = { text: 'x', usage: { prompt_tokens: 1, completion_tokens: 0, total_tokens: 1 } };
  const text = ranking({}, document);
  assert.deepEqual(inputOf(rerankConverter, text), [undefined, false, 0]);
  assert.deepEqual(inputOf(rerankConverter, ranking({ usage: { total_tokens: 900 } }, document)), [900, true, 0]);
  const meta = { tokens: { input_tokens: 800, output_tokens: 0 } };
  assert.deepEqual(inputOf(rerankConverter, ranking({ meta }, document)), [800, true, 0]);
  assert.deepEqual(inputOf(rerankConverter, `{"usage":{"total_tokens":7},${text.slice(1)}`), [7, true, 0]);
  const embeddings = JSON.stringify({ data: [], usage: { prompt_tokens: 5, total_tokens: 5 } });
  assert.deepEqual(inputOf(embeddingsConverter, embeddings), [5, true, 0]);
});
