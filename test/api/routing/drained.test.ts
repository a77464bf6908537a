/** A drained channel: no new calls, running ones end normally, and it serves again when it is taken from the list.
 * A model of which all channels are drained stays listed, and clients are told to try again. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, it } from 'vitest';
import { chat, get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { gated, openaiChat } from '../../support/provider-answers.ts';

const manifest = (first: string, second: string, drained: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: pair}
spec:
  models: [{name: pair-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: first, protocol: OpenAI, baseUrl: ${first}/v1},
    {name: second, protocol: OpenAI, baseUrl: ${second}/v1, priority: 1}]
  drainedChannels: [${drained}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: pair}
spec: {models: [{name: pair-model, vendor: V, quotaType: Token, modelRatio: "1.25"}]}
`;

let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({ 'pair.yaml': manifest(openaiUrl, anthropicUrl, '') }),
  });
});
afterAll(() => stack.stop());

it('gets no new calls, and completes running ones', async () => {
  const { openai: first, anthropic: second, gateway } = stack;
  const drain = (names: string): Promise<void> => gateway.write('pair.yaml', manifest(first.url, second.url, names));
  const { reply, gate } = gated(openaiChat());
  first.script(reply);
  const running = post(stack, '/v1/chat/completions', chat('pair-model'));
  await gate.reached;
  await drain('first, gone');
  second.script(openaiChat());
  assert.equal((await post(stack, '/v1/chat/completions', chat('pair-model'))).status, 200);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  gate.open();
  assert.equal((await running).status, 200);

  await drain('first, second');
  for (const [path, body] of [
    ['/v1/chat/completions', chat('pair-model')],
    ['/v1/messages', { ...chat('pair-model'), max_tokens: 10 }],
    ['/v1/responses', { model: 'pair-model', input: 'Hi' }],
  ] as const) {
    const refused = await post(stack, path, body);
    assert.equal(refused.status, 503, path);
    assert.equal(refused.headers.get('retry-after'), '15');
    assert.match(refused.text, /is out of service for the moment\. Try again/);
  }
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  assert.equal((await post(stack, '/v1/embeddings', { model: 'pair-model', input: 'Hi' })).status, 400);
  assert.equal((await get(stack, '/v1/models/pair-model')).status, 200);
  await drain('');
  first.script(openaiChat());
  assert.equal((await post(stack, '/v1/chat/completions', chat('pair-model'))).status, 200);
  assert.deepEqual([first.requests.length, second.requests.length], [2, 1]);
  assert.ok(nothingLeaks(stack));
});
