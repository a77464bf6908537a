/**
 * What clients send to a model of the other protocol, answered by providers that refuse what the real APIs refuse:
 * fields of clients, schemas of every shape, and histories that one of the APIs would not take.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { MODELS, startClientsGateway } from '../../e2e/clients/gateway.ts';
import type { ClientsGateway } from '../../e2e/clients/gateway.ts';

type Fields = Readonly<Record<string, unknown>>;

let gateway: ClientsGateway;
beforeAll(async () => { gateway = await startClientsGateway(); });
afterAll(() => gateway.stop());

async function post(path: string, body: Fields): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST', body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
  });
}

/** An OpenAI client on every Anthropic model. */
async function assertChatTaken(request: Fields): Promise<void> {
  for (const model of MODELS.Anthropic)
    await assertOk(await post('/v1/chat/completions', { model, ...request }), model);
}

/** An Anthropic client on every OpenAI model. */
async function assertMessageTaken(request: Fields): Promise<void> {
  for (const model of MODELS.OpenAI)
    await assertOk(await post('/v1/messages', { model, max_tokens: 1000, ...request }), model);
}

async function assertOk(response: Response, model: string): Promise<void> {
  const text = await response.text();
  assert.equal(response.status, 200, `${model}: ${text} ${gateway.takeRefusals().join()}`);
}

const HELLO = [{ role: 'user', content: 'hello' }];
const CACHE = { cache_control: { type: 'ephemeral' } };
const LONG_ID = 'x'.repeat(64);
const callOf = (id: string): Fields => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
const LOOK = { name: 'look', parameters: { type: 'object', properties: {} } };

describe('fields that clients put on messages', () => {
  it('reach an Anthropic model in the right place, or are left out', () => assertChatTaken({
    messages: [
      { role: 'system', content: 'Be brief.', ...CACHE }, { role: 'user', content: 'hi', ...CACHE, id: 'm1' },
      {
        role: 'assistant', content: '', reasoning_content: 'hm', provider_specific_fields: { a: 1 },
        thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
        tool_calls: [{ ...callOf('c1'), ...CACHE, provider_specific_fields: {} }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'seen', ...CACHE },
      { role: 'user', content: [{ type: 'text', text: 'And?', ...CACHE }], additional_kwargs: {} },
    ],
    tools: [{ type: 'function', function: LOOK, ...CACHE }],
  }));

  it('are refused by name where they are unknown settings of the whole call', async () => {
    const response = await post('/v1/chat/completions', { model: 'claude-opus-4-6', messages: HELLO, novel: 1 });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /novel/);
  });
});

describe('schemas', () => {
  const schema = {
    type: 'object', required: ['age'], properties: {
      age: { type: 'integer', minimum: 18 }, tags: { type: 'array', uniqueItems: true, items: { type: 'string' } },
      nested: { type: 'object', properties: { a: { oneOf: [{ type: 'string' }, { type: 'null' }] } } },
    },
  };
  it('of answers and strict tools are taken by Anthropic models', () => assertChatTaken({
    messages: HELLO, response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    tools: [
      { type: 'function', function: { name: 'strict', strict: true, parameters: schema } },
      { type: 'function', function: { name: 'either', parameters: { anyOf: [schema, { type: 'object' }] } } },
      { type: 'function', function: { name: 'none' } },
    ],
  }));

  it('of answers and strict tools are taken by OpenAI models', () => assertMessageTaken({
    messages: HELLO, output_config: { format: { type: 'json_schema', schema } },
    tools: [
      { name: 'strict', strict: true, input_schema: schema }, { name: 'empty', input_schema: { type: 'object' } },
    ],
  }));
});

describe('histories', () => {
  it('with calls and no tools, no result, blank text and a last message of the assistant', () => assertChatTaken({
    messages: [
      { role: 'assistant', content: 'Welcome.' }, { role: 'user', content: ' ' }, { role: 'user', content: 'look' },
      { role: 'assistant', content: ' \n', tool_calls: [callOf('c1'), callOf('c2')] },
      { role: 'tool', tool_call_id: 'c2', content: 'seen' }, { role: 'tool', tool_call_id: 'c9', content: 'stray' },
      { role: 'assistant', content: '' }, { role: 'user', content: 'so?' }, { role: 'assistant', content: 'It is ' },
    ],
  }));

  it('that end with a call that nobody has answered', () => assertChatTaken({
    messages: [...HELLO, { role: 'assistant', content: null, tool_calls: [callOf('c1')] }],
  }));

  it('with long ids of tools, for OpenAI models', () => assertMessageTaken({
    messages: [
      ...HELLO, { role: 'assistant', content: [{ type: 'tool_use', id: LONG_ID, name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: LONG_ID, content: 'ok' }] },
    ],
  }));
});

describe('settings that a model does not take', () => {
  it('are left out for Anthropic models', () => assertChatTaken({
    messages: HELLO, temperature: 0.2, top_p: 0.9, reasoning_effort: 'low', stop: ['END'],
  }));
  it('are left out for OpenAI models', () => assertMessageTaken({
    messages: HELLO, temperature: 0.2, top_p: 0.9, stop_sequences: ['END'], output_config: { effort: 'max' },
    tools: [{ name: 'f', description: 'D'.repeat(5000), input_schema: { type: 'object' } }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  }));
});
