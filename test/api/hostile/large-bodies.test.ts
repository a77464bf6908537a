/**
 * A worker thread reads large request bodies. They get the same answers, errors and upstream requests as small ones,
 * and none may hold too many JSON values. Earlier versions let such bodies block the event loop: 300 KiB of nested
 * blocks for 25 s, 66 KiB for 5 s, 24 MiB of two million values for 12 s, and 30,000 tool results in a row for 2 s.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { chat, message, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const COMPLETION = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const MESSAGE = JSON.stringify({
  id: 'msg_x',
  type: 'message',
  role: 'assistant',
  model: 'claude-model',
  stop_reason: 'end_turn',
  stop_sequence: null,
  content: [{ type: 'text', text: 'hi' }],
  usage: { input_tokens: 1, output_tokens: 1 },
});
const LONG = 'lorem ipsum '.repeat(40_000);

describe('a large body', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack();
  });
  afterAll(() => stack.stop());

  it('passes its messages through unchanged', async () => {
    stack.openai.script({ steps: [{ kind: 'send', bytes: COMPLETION, tokens: 1 }] });
    const body = chat('gpt-model', { messages: [{ role: 'user', content: LONG }], max_completion_tokens: 10 });
    assert.equal((await post(stack, '/v1/chat/completions', body)).status, 200);
    const sent: unknown = JSON.parse(stack.openai.requests.at(-1)?.body.toString() ?? '');
    assert.deepEqual((sent as { messages: unknown }).messages, [{ role: 'user', content: LONG }]);
  });

  it('is converted like a small one', async () => {
    for (const content of ['short', LONG]) {
      stack.anthropic.script({ steps: [{ kind: 'send', bytes: MESSAGE, tokens: 1 }] });
      const body = chat('claude-model', { messages: [{ role: 'user', content }], max_completion_tokens: 10 });
      assert.equal((await post(stack, '/v1/chat/completions', body)).status, 200);
      const sent = JSON.parse(stack.anthropic.requests.at(-1)?.body.toString() ?? '') as { messages: unknown };
      assert.deepEqual(sent.messages, [{ role: 'user', content }]);
    }
  });

  it('is refused with the same errors as a small one', async () => {
    const pairs = [
      ['{"model":"gpt-model","messages":[}', 'invalid_json'],
      ['{"model":"gpt-model"}', 'invalid_value'],
      ['{"model":"gpt-model","model":"x","messages":[{"role":"user","content":"a"}]}', 'invalid_value'],
    ] as const;
    for (const [text, code] of pairs) {
      const [small, large] = [text, `${text}${' '.repeat(300_000)}`];
      const answers = [
        await post(stack, '/v1/chat/completions', small),
        await post(stack, '/v1/chat/completions', large),
      ];
      for (const answer of answers) assert.deepEqual([answer.status, answer.json().error.code], [400, code]);
      assert.equal(answers[0]?.json().error.message, answers[1]?.json().error.message);
    }
  });

  it('is refused with the same errors if it is a form', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=e' };
    const part = (name: string, value: string): string =>
      `--e\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const model = part('model', 'image-model');
    for (const [fields, param] of [
      [model + part('image', 'x') + part('model', 'x'), 'model'],
      [model + part('n[]', '2'), 'n[]'],
      [model + part('prompt', 'x') + part('n', 'two'), 'n'],
      [model + part('image', 'x'), 'prompt'],
      [model + part('prompt', 'x') + part('image', 'x'), 'image'],
    ] as const) {
      const answers = [
        await post(stack, '/v1/images/edits', `${fields}--e--`, headers),
        await post(stack, '/v1/images/edits', `${fields}${part('user', LONG)}--e--`, headers),
      ];
      for (const answer of answers) assert.deepEqual([answer.status, answer.json().error.param], [400, param]);
      assert.equal(answers[0]?.json().error.message, answers[1]?.json().error.message);
    }
  });

  it("has its tokens counted by the gateway's own tokenizer", async () => {
    const body = message('text-model', { messages: [{ role: 'user', content: LONG }] });
    const answer = await post(stack, '/v1/messages/count_tokens', body);
    assert.equal(answer.status, 200);
    assert.ok(answer.json().input_tokens > 50_000);
  });

  it('is refused if it contains more than 100,000 JSON values', async () => {
    const values = (count: number): unknown => chat('gpt-model', { metadata: Array.from({ length: count }, () => 0) });
    const refused = await post(stack, '/v1/chat/completions', values(100_001));
    assert.deepEqual([refused.status, refused.json().error.code], [400, 'invalid_json']);
    assert.match(refused.json().error.message, /100000 values/);
    stack.openai.script({ steps: [{ kind: 'send', bytes: COMPLETION, tokens: 1 }] });
    assert.equal((await post(stack, '/v1/chat/completions', values(90_000))).status, 200);
  });

  it('is refused if the arguments of a tool call contain more than that', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: `{"a":[${'0,'.repeat(200_000)}0]}` } };
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    const refused = await post(stack, '/v1/chat/completions', chat('claude-model', { messages }));
    assert.deepEqual([refused.status, refused.json().error.code], [400, 'invalid_json']);
  });
});
