/** Retries whose next channel belongs to another member or model. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { keyManifest } from '../../support/manifests.ts';
import { openaiChat, openaiError } from '../../support/provider-answers.ts';
import { chat, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const MOVING = 'sk-test-moving-0000000000000000000000000000';
const TWICE = 'sk-test-twice-00000000000000000000000000000';
const MOVING_KEY = keyManifest('moving', MOVING, 'groupRef: {name: twice}\naccountRef: {name: team}');
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({
      'moving.yaml': MOVING_KEY,
      'twice.yaml': `${keyManifest('twice', TWICE, 'groupRef: {name: smart}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: rich, namespace: team}
spec: {grants: [{name: start, usd: "5000"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: small}
spec:
  models: [{name: flat-model, contextTokens: 1000, maxOutputTokens: 100},
    {name: shared-model, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${openaiUrl}/v1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: large}
spec:
  models: [{name: flat-model, contextTokens: 9000, maxOutputTokens: 8000}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${anthropicUrl}/v1, priority: 1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: twice}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: small}}, {routeRef: {name: large}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: dear}
spec: {priceRatio: "2", allowedNamespaces: {from: All}, routes: [{routeRef: {name: small}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, allowedNamespaces: {from: All}, members: [{name: twice}, {name: dear}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: flat}
spec:
  models:
  - {name: flat-model, vendor: V, quotaType: Request, requestUsd: "0.01"}
  - {name: shared-model, vendor: V, quotaType: Token, modelRatio: "1"}
`,
    }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

describe('a retry', () => {
  it('uses no channel twice, although two members share it', async () => {
    stack.openai.script(openaiError(500));
    const answer = await post(stack, '/v1/chat/completions', chat('shared-model', { max_tokens: 50 }), {
      'x-api-key': TWICE,
    });
    assert.equal(answer.status, 502);
    assert.equal(stack.openai.requests.length, 1);
  });
  it("is sent with the next model's own output limit", async () => {
    stack.openai.script(openaiError(500));
    stack.anthropic.script(openaiChat());
    assert.equal((await post(stack, '/v1/chat/completions', chat('flat-model'), { 'x-api-key': MOVING })).status, 200);
    assert.equal((await stack.openai.request(0)).json()['max_completion_tokens'], 100);
    assert.equal((await stack.anthropic.request(0)).json()['max_completion_tokens'], 8000);
  });
});
