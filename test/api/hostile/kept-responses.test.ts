/** Reads of what a provider keeps are free: their memory is the key's, and large ones are sealed on a thread. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { json } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const MIB = 2 ** 20;
/** A quarter of the memory. */
const KEY_BYTES = 2 * MIB;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ maxBodyBytes: MIB, maxBufferedBytes: 4 * KEY_BYTES });
});
afterAll(() => stack.stop());

function items(bytes: number): unknown {
  const reasoning = Array.from({ length: 99 }, (_, index) => ({
    type: 'reasoning',
    id: `rs_${index}`,
    summary: [],
    encrypted_content: `gAAAA-${index}`,
  }));
  return { object: 'list', data: [...reasoning, { type: 'message', content: 'x'.repeat(bytes) }] };
}

describe('what a provider keeps', () => {
  it('is read within the memory of its key, which is free again when the client has it', async () => {
    stack.openai.script(openaiResponse());
    const { id } = (await post(stack, '/v1/responses', { model: 'gpt-model', input: 'x' })).json();
    const path = `/v1/responses/${id}/input_items?limit=100`;
    stack.openai.script(json(items(KEY_BYTES)));
    const refused = await get(stack, path);
    assert.equal(refused.status, 429, refused.text.slice(0, 300));
    assert.equal(refused.json().error.code, 'rate_limit_exceeded');
    assert.equal(refused.headers.get('retry-after'), '1');
    stack.openai.clear();
    for (let turn = 0; turn < 3; turn++) {
      stack.openai.script(json(items(KEY_BYTES * 0.9)));
      const read = await get(stack, path);
      assert.equal(read.status, 200, read.text.slice(0, 300));
      assert.equal(read.text.match(/"mgw1_encrypted_[\w-]+"/g)?.length, 99);
      assert.ok(!read.text.includes('gAAAA'));
      stack.openai.clear();
    }
  });

  it('is sealed whatever its list calls itself', async () => {
    stack.openai.script(openaiResponse());
    const { id } = (await post(stack, '/v1/responses', { model: 'gpt-model', input: 'x' })).json();
    for (const object of ['conversation', 'conversation.items', undefined]) {
      stack.openai.script(json({ ...(items(10) as object), object }));
      const read = await get(stack, `/v1/responses/${id}/input_items`);
      assert.ok(!read.text.includes('gAAAA'), read.text.slice(0, 300));
      stack.openai.clear();
    }
  });

  it('and is no JSON is an error of the provider', async () => {
    stack.openai.script(openaiResponse());
    const { id } = (await post(stack, '/v1/responses', { model: 'gpt-model', input: 'x' })).json();
    for (const length of [10, 100_000]) {
      const bytes = `{"x":"${'x'.repeat(length)}`;
      stack.openai.script({ ...json({}), steps: [{ kind: 'send', bytes, tokens: 0 }] });
      const { status } = await get(stack, `/v1/responses/${id}`);
      assert.equal(status, 502);
      stack.openai.clear();
    }
  });
});
