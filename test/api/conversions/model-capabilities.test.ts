/** What a model does not support is left out of a converted call, and a response header names it. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { message, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { openaiChat, openaiStream } from '../../support/provider-answers.ts';

const ROUTE = `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: capable}
spec:
  models:
  - name: stated-model
    contextTokens: 100000
    maxOutputTokens: 4000
    capabilities: {reasoning: false, temperature: true, toolDescriptionLength: 60, systemTurns: true}
  - {name: other-model, contextTokens: 100000, maxOutputTokens: 4000}
  - {name: gpt-4o, contextTokens: 100000, maxOutputTokens: 4000}
  channels:
  - {name: direct, protocol: OpenAI, baseUrl: "URL/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: capable}
spec:
  models:
  - {name: stated-model, vendor: V, quotaType: Token, modelRatio: "1"}
  - {name: other-model, vendor: V, quotaType: Token, modelRatio: "1"}
  - {name: gpt-4o, vendor: V, quotaType: Token, modelRatio: "1"}
`;

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'capable.yaml': ROUTE.replace('URL', openaiUrl) }) });
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const EFFORT = { output_config: { effort: 'high' } };
const sentBody = async (): Promise<Record<string, unknown>> =>
  JSON.parse((await stack.openai.request(0)).body.toString()) as Record<string, unknown>;

describe('a model whose capabilities the route states', () => {
  it('gets no reasoning effort, and a response header names it', async () => {
    stack.openai.script(openaiChat({ content: 'ok' }));
    const answer = await post(stack, '/v1/messages', message('stated-model', { ...EFFORT, temperature: 0.5 }));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-modelgateway-dropped'), 'output_config.effort');
    const sent = await sentBody();
    assert.deepEqual([sent['reasoning_effort'], sent['temperature']], [undefined, 0.5]);
  });

  it('gets the full text of a long tool description in the system message', async () => {
    stack.openai.script(openaiChat({ content: 'ok' }));
    const description = `Reads a file. ${'It has many rules. '.repeat(10)}`;
    const tools = [{ name: 'Read', description, input_schema: { type: 'object', properties: {} } }];
    await post(stack, '/v1/messages', message('stated-model', { tools, system: 'Be brief.' }));
    const { tools: sent, messages } = (await sentBody()) as {
      tools: { function: { description: string } }[];
      messages: { role: string; content: string }[];
    };
    assert.ok((sent[0]?.function.description.length ?? 99) <= 60);
    assert.deepEqual(messages[0], {
      role: 'system',
      content: `Be brief.\n\nDescription of the tool "Read":\n${description}`,
    });
  });
});

describe('a system message between turns', () => {
  const rolesAt = async (model: string): Promise<string[]> => {
    stack.openai.script(openaiChat({ content: 'ok' }));
    const input = ['user', 'developer', 'user'].map((role) => ({ role, content: `of the ${role}` }));
    const answer = await post(stack, '/v1/responses', { model, input });
    assert.equal(answer.status, 200, answer.text);
    const { messages } = (await sentBody()) as { messages: { role: string }[] };
    return messages.map(({ role }) => role);
  };

  it('stays in place where the route says that the model takes it', async () => {
    assert.deepEqual(await rolesAt('stated-model'), ['user', 'system', 'user']);
  });

  it('stays in place at a maker who is known to take it', async () => {
    assert.deepEqual(await rolesAt('gpt-4o'), ['user', 'system', 'user']);
  });

  it('becomes text of the user elsewhere', async () => {
    const roles = await rolesAt('other-model');
    assert.deepEqual([...new Set(roles)], ['user']);
  });
});

describe('a well-known model', () => {
  it('gets no reasoning effort in a stream either', async () => {
    stack.openai.script(openaiStream(['ok']));
    const answer = await post(stack, '/v1/messages', message('gpt-4o', { ...EFFORT, stream: true }));
    assert.match(answer.text, /message_stop/);
    assert.equal(answer.headers.get('x-modelgateway-dropped'), 'output_config.effort');
  });

  it('gets a call of its own protocol unchanged', async () => {
    stack.openai.script(openaiChat({ content: 'ok' }));
    const answer = await post(stack, '/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
      reasoning_effort: 'high',
    });
    assert.equal(answer.headers.get('x-modelgateway-dropped'), null);
    assert.equal((await sentBody())['reasoning_effort'], 'high');
  });
});
