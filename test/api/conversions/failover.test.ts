/** A conversation that moves to a provider of another protocol while it goes on, because the first one fails. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { anthropicMessage, json, openaiError } from '../../support/provider-answers.ts';
import { post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const PLATFORM = (openaiUrl: string, anthropicUrl: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: mixed}
spec:
  models: [{name: deepseek-v4, contextTokens: 100000, maxOutputTokens: 4000}]
  channels:
  - {name: first, protocol: OpenAI, baseUrl: "${openaiUrl}/v1", priority: 0}
  - {name: second, protocol: Anthropic, baseUrl: "${anthropicUrl}", priority: 1}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: mixed}
spec: {models: [{name: deepseek-v4, vendor: V, quotaType: Token, modelRatio: "1"}]}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({ 'mixed.yaml': PLATFORM(openaiUrl, anthropicUrl) }),
  });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const TOOLS = [{ name: 'get_weather', input_schema: { type: 'object', properties: {} } }];
const QUESTION = { role: 'user', content: 'hello' };
const call = (messages: readonly object[]): Promise<Answer> =>
  post(stack, '/v1/messages', {
    model: 'deepseek-v4',
    max_tokens: 2000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    tools: TOOLS,
    messages,
  });

describe('thinking that nobody signed', () => {
  it('goes back to the model that wants it, and is left out for Anthropic when the first channel fails', async () => {
    const message = {
      role: 'assistant',
      content: null,
      reasoning_content: 'hmm',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
    };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    stack.openai.script(json({ id: 'x', choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage }));
    const first = await call([QUESTION]);
    const { content } = first.json();
    assert.deepEqual(content[0], { type: 'thinking', thinking: 'hmm', signature: '' });
    const history = [
      QUESTION,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '-3' }] },
    ];
    stack.openai.script(openaiError(503, 'overloaded'));
    stack.anthropic.script(anthropicMessage());
    const second = await call(history);
    assert.equal(second.status, 200, second.text);
    const again: Json = (await stack.openai.request(1)).json();
    assert.equal(again.messages[1].reasoning_content, 'hmm');
    const sent = (await stack.anthropic.request(0)).body.toString();
    assert.doesNotMatch(sent, /hmm/);
    assert.match(sent, /"tool_use"/);
  });
});
