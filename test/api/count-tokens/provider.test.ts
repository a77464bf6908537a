/** Counting tokens at a provider that counts, and refusals (docs/reference/http.md). */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { json } from '../../support/provider-answers.ts';
import { message, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ anthropicUrl }) => ({
      'slashed.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: slashed}
spec:
  models: [{name: vendor/model-1.0, contextTokens: 200000, maxOutputTokens: 64000}]
  channels:
  - name: direct
    protocol: Anthropic
    baseUrl: ${anthropicUrl}
    models: [{name: vendor/model-1.0, upstreamName: upstream-1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: slashed}
spec: {models: [{name: vendor/model-1.0, vendor: Slash, quotaType: Token, modelRatio: "1"}]}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('POST /v1/messages/count_tokens', () => {
  const body = '{ "model": "claude-model",\n "messages":[{"role":"user","content":"h\\u00e9llo 1.0"}], "odd": 1.50 }';
  it('forwards to a provider that counts, byte for byte, and costs nothing', async () => {
    const before = await spending(stack);
    stack.anthropic.script(json({ input_tokens: 42 }));
    const answer = await post(stack, '/v1/messages/count_tokens', body, { 'anthropic-beta': 'some-beta' });
    assert.deepEqual([answer.status, answer.json()], [200, { input_tokens: 42 }]);
    const asked = await stack.anthropic.request(0);
    assert.deepEqual(
      [asked.path, asked.body.toString(), asked.headers['anthropic-beta']],
      ['/v1/messages/count_tokens', body, 'some-beta'],
    );
    assert.ok(!JSON.stringify(asked.headers).includes(KEYS.main));
    assert.deepEqual(await spending(stack), before);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), null);
  });
  it("uses the provider's name of the model", async () => {
    stack.anthropic.script(json({ input_tokens: 7 }));
    assert.deepEqual(
      (
        await post(stack, '/v1/messages/count_tokens', {
          model: 'vendor/model-1.0',
          messages: [{ role: 'user', content: 'x' }],
        })
      ).json(),
      { input_tokens: 7 },
    );
    assert.equal((await stack.anthropic.request(0)).json()['model'], 'upstream-1');
  });
  it("is refused like a call, in Anthropic's dialect", async () => {
    for (const [model, status, type] of [
      ['nothing', 404, 'not_found_error'],
      ['unpriced-model', 503, 'api_error'],
    ] as const) {
      const answer = await post(stack, '/v1/messages/count_tokens', { ...message(model) });
      assert.deepEqual([answer.status, answer.json().type, answer.json().error.type], [status, 'error', type]);
    }
    assert.equal((await post(stack, '/v1/messages/count_tokens', { model: 'claude-model' })).status, 400);
    assert.equal((await post(stack, '/v1/messages/count_tokens', body, { 'no-key': '1' })).status, 401);
  });
});
