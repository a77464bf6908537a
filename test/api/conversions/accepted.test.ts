/**
 * The gateway converts each request into one that the other protocol accepts. The requests have client-specific fields,
 * JSON schemas of many shapes, and message histories that the other API would refuse as they are. The fake providers
 * refuse what the real APIs refuse.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { MODELS, startClientsGateway } from '../../e2e/clients/gateway.ts';
import type { ClientsGateway } from '../../e2e/clients/gateway.ts';

type Fields = Readonly<Record<string, unknown>>;

let gateway: ClientsGateway;
beforeAll(async () => {
  gateway = await startClientsGateway();
});
afterAll(() => gateway.stop());

async function post(path: string, body: Fields): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
  });
}

/** Asserts that every Anthropic model answers an OpenAI client's request with 200. */
async function assertChatTaken(request: Fields): Promise<void> {
  for (const model of MODELS.Anthropic)
    await assertOk(await post('/v1/chat/completions', { model, ...request }), model);
}

/** Asserts that every OpenAI model answers an Anthropic client's request with 200. */
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

describe('client-specific fields', () => {
  it('of messages and tools are converted or dropped for Anthropic models', () =>
    assertChatTaken({
      messages: [
        { role: 'system', content: 'Be brief.', ...CACHE },
        { role: 'user', content: 'hi', ...CACHE, id: 'm1' },
        {
          role: 'assistant',
          content: '',
          reasoning_content: 'hm',
          provider_specific_fields: { a: 1 },
          thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
          tool_calls: [{ ...callOf('c1'), ...CACHE, provider_specific_fields: {} }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'seen', ...CACHE },
        { role: 'user', content: [{ type: 'text', text: 'And?', ...CACHE }], additional_kwargs: {} },
      ],
      tools: [{ type: 'function', function: LOOK, ...CACHE }],
    }));

  it('at the top level are refused when unknown, with an error that names them', async () => {
    const response = await post('/v1/chat/completions', { model: 'claude-opus-4-6', messages: HELLO, novel: 1 });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /novel/);
  });
});

describe('JSON schemas', () => {
  const schema = {
    type: 'object',
    required: ['age'],
    properties: {
      age: { type: 'integer', minimum: 18 },
      tags: { type: 'array', uniqueItems: true, items: { type: 'string' } },
      nested: { type: 'object', properties: { a: { oneOf: [{ type: 'string' }, { type: 'null' }] } } },
    },
  };
  it('of structured outputs and strict tools are accepted by Anthropic models', () =>
    assertChatTaken({
      messages: HELLO,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
      tools: [
        { type: 'function', function: { name: 'strict', strict: true, parameters: schema } },
        { type: 'function', function: { name: 'either', parameters: { anyOf: [schema, { type: 'object' }] } } },
        { type: 'function', function: { name: 'none' } },
      ],
    }));

  it('of structured outputs and strict tools are accepted by OpenAI models', () =>
    assertMessageTaken({
      messages: HELLO,
      output_config: { format: { type: 'json_schema', schema } },
      tools: [
        { name: 'strict', strict: true, input_schema: schema },
        { name: 'empty', input_schema: { type: 'object' } },
      ],
    }));
});

describe('message histories', () => {
  it('with undeclared tools, missing and stray results, blank text and a prefill are accepted', () =>
    assertChatTaken({
      messages: [
        { role: 'assistant', content: 'Welcome.' },
        { role: 'user', content: ' ' },
        { role: 'user', content: 'look' },
        { role: 'assistant', content: ' \n', tool_calls: [callOf('c1'), callOf('c2')] },
        { role: 'tool', tool_call_id: 'c2', content: 'seen' },
        { role: 'tool', tool_call_id: 'c9', content: 'stray' },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'so?' },
        { role: 'assistant', content: 'It is ' },
      ],
    }));

  it('that end with an unanswered tool call are accepted by Anthropic models', () =>
    assertChatTaken({
      messages: [...HELLO, { role: 'assistant', content: null, tool_calls: [callOf('c1')] }],
    }));

  it('with tool call ids of 64 characters are accepted by OpenAI models', () =>
    assertMessageTaken({
      messages: [
        ...HELLO,
        { role: 'assistant', content: [{ type: 'tool_use', id: LONG_ID, name: 'f', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: LONG_ID, content: 'ok' }] },
      ],
    }));
});

describe('parameters that a model does not support', () => {
  it('are dropped for Anthropic models', () =>
    assertChatTaken({
      messages: HELLO,
      temperature: 0.2,
      top_p: 0.9,
      reasoning_effort: 'low',
      stop: ['END'],
    }));
  it('are dropped for OpenAI models', () =>
    assertMessageTaken({
      messages: HELLO,
      temperature: 0.2,
      top_p: 0.9,
      stop_sequences: ['END'],
      output_config: { effort: 'max' },
      tools: [{ name: 'f', description: 'D'.repeat(5000), input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    }));
});
