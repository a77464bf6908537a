/** Anthropic's official client on a model whose provider speaks OpenAI's protocol: what both have works, and the rest
 * is refused by name. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { CUT } from '../../support/mock-provider.ts';
import { breakAt, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { anthropicClient, Books, caught, collect, free, GPT, paid } from '../../support/api/sdk.ts';

let stack: TestStack;
let anthropic: Anthropic;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack();
  anthropic = anthropicClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const SCHEMA = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const CALLS = [
  {
    id: 'call_a1',
    name: 'get_weather',
    arguments: '{"city":"Oslo"}',
  },
  { id: 'call_b2', name: 'get_weather', arguments: '{"city":"São Paulo"}' },
];

describe("Anthropic's client on a model of an OpenAI provider", () => {
  const HELLO = { model: 'gpt-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
  const TOOL: Anthropic.Tool = { name: 'get_weather', description: 'The weather.', input_schema: SCHEMA };
  const sent = async (index = 0): Promise<Record<string, unknown>> => (await stack.openai.request(index)).json();

  it('sends text, system prompts, several turns and settings', async () => {
    stack.openai.script(
      openaiChat({
        content: 'Bonjour.',
        usage: { prompt_tokens: 120, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 100 } },
      }),
    );
    const message = await anthropic.messages.create({
      model: 'gpt-model',
      max_tokens: 50,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      system: [
        {
          type: 'text',
          text: 'Speak French.',
          cache_control: { type: 'ephemeral' },
        },
        { type: 'text', text: 'Be brief.' },
      ],
      messages: [
        { role: 'user', content: 'hello' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Oui?' }],
        },
        { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
      ],
    });
    assert.deepEqual(await sent(), {
      model: 'gpt-model',
      max_completion_tokens: 50,
      stop: ['END'],
      user: 'u-1',
      messages: [
        { role: 'system', content: 'Speak French.\n\nBe brief.' },
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'Oui?' },
        { role: 'user', content: 'Go on.' },
      ],
    });
    assert.deepEqual(
      [message.type, message.role, message.content, message.stop_reason],
      ['message', 'assistant', [{ type: 'text', text: 'Bonjour.' }], 'end_turn'],
    );
    assert.deepEqual(
      [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
      [20, 100, 5],
    );
    await books.check(paid(20n * GPT.input + 100n * GPT.cached + 5n * GPT.output));
  });
  it('gets stop reasons', async () => {
    for (const [finishReason, stopReason] of [
      ['length', 'max_tokens'],
      ['content_filter', 'refusal'],
    ] as const) {
      stack.openai.script(openaiChat({ finishReason }));
      assert.equal((await anthropic.messages.create(HELLO)).stop_reason, stopReason);
      stack.openai.script(openaiStream(['a'], { finishReason }));
      assert.equal((await anthropic.messages.stream(HELLO).finalMessage()).stop_reason, stopReason);
    }
    await books.check(...Array.from({ length: 4 }, () => paid(10n * GPT.input + GPT.output)));
  });
  it('streams', async () => {
    stack.openai.script(
      openaiStream(['Bon', 'jour 🗼'], {
        usage: { prompt_tokens: 120, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 100 } },
      }),
    );
    const events = await collect(await anthropic.messages.create({ ...HELLO, stream: true }));
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
    const message = await anthropic.messages.stream(HELLO).finalMessage();
    assert.deepEqual(message.content, [{ type: 'text', text: 'Bonjour 🗼' }]);
    assert.deepEqual(
      [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
      [20, 100, 7],
    );
    const cost = 20n * GPT.input + 100n * GPT.cached + 7n * GPT.output;
    await books.check(paid(cost), paid(cost));
  });
  it('calls tools and returns their results', async () => {
    stack.openai.script(
      openaiChat({ content: 'Let me see.', toolCalls: CALLS }),
      openaiChat({ content: 'Cold and warm.' }),
    );
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const asks = {
      ...HELLO,
      messages,
      tools: [TOOL],
      tool_choice: { type: 'any' as const, disable_parallel_tool_use: true },
    };
    const first = await anthropic.messages.create(asks);
    assert.deepEqual((await sent())['tools'], [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'The weather.', parameters: SCHEMA },
      },
    ]);
    assert.deepEqual([(await sent())['tool_choice'], (await sent())['parallel_tool_calls']], ['required', false]);
    assert.equal(first.stop_reason, 'tool_use');
    assert.deepEqual(first.content, [
      {
        type: 'text',
        text: 'Let me see.',
      },
      ...CALLS.map(({ id, name, arguments: args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) })),
    ]);
    messages.push(
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_a1', content: '-3' },
          {
            type: 'tool_result',
            tool_use_id: 'call_b2',
            is_error: true,
            content: [{ type: 'text', text: 'no such city' }],
          },
          { type: 'text', text: 'So?' },
        ],
      },
    );
    await anthropic.messages.create(asks);
    assert.deepEqual((await sent(1))['messages'], [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: CALLS.map(({ id, name, arguments: args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args },
        })),
      },
      {
        role: 'tool',
        tool_call_id: 'call_a1',
        content: '-3',
      },
      { role: 'tool', tool_call_id: 'call_b2', content: 'Error: no such city' },
      { role: 'user', content: 'So?' },
    ]);
    await books.check(paid(10n * GPT.input + 3n * GPT.output), paid(10n * GPT.input + GPT.output));
  });
  it('tools called within a stream', async () => {
    stack.openai.script(openaiStream(['Let me see.'], { toolCalls: CALLS }));
    const message = await anthropic.messages.stream({ ...HELLO, tools: [TOOL] }).finalMessage();
    assert.deepEqual(
      message.content.map((block) => (block.type === 'tool_use' ? [block.id, block.name, block.input] : block.type)),
      ['text', ...CALLS.map(({ id, name, arguments: args }) => [id, name, JSON.parse(args)])],
    );
    assert.equal(message.stop_reason, 'tool_use');
    await books.check(paid(10n * GPT.input + 3n * GPT.output));
  });
  it('calls tools with long names', async () => {
    const name = `mcp__${'long'.repeat(20)}__get`;
    stack.openai.script((request) => {
      const [tool] = request.json().tools as { function: { name: string } }[];
      assert.ok(tool && tool.function.name.length <= 64);
      return openaiStream([], { toolCalls: [{ id: 'call_a1', name: tool.function.name, arguments: '{}' }] });
    });
    const message = await anthropic.messages.stream({ ...HELLO, tools: [{ ...TOOL, name }] }).finalMessage();
    assert.deepEqual(
      message.content.map((block) => block.type === 'tool_use' && block.name),
      [name],
    );
    await books.check(paid(10n * GPT.input + GPT.output));
  });
  it('calls tools by toolRunner()', async () => {
    stack.openai.script(openaiChat({ toolCalls: [CALLS[0]!] }), openaiChat({ content: 'Cold.' }));
    const tool = betaTool({
      name: 'get_weather',
      description: 'The weather.',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      run: ({ city }) => `cold in ${city}`,
    });
    const message = await anthropic.beta.messages.toolRunner({ ...HELLO, tools: [tool] }).runUntilDone();
    assert.deepEqual(message.content, [{ type: 'text', text: 'Cold.' }]);
    assert.deepEqual(((await sent(1))['messages'] as unknown[]).at(-1), {
      role: 'tool',
      tool_call_id: 'call_a1',
      content: 'cold in Oslo',
    });
    // it first asks the provider to store the conversation
    await books.check(free(400), paid(10n * GPT.input + GPT.output), paid(10n * GPT.input + GPT.output));
  });
  it('images', async () => {
    stack.openai.script(openaiChat());
    await anthropic.messages.create({
      ...HELLO,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
            },
            { type: 'text', text: 'What?' },
          ],
        },
      ],
    });
    assert.deepEqual((await sent())['messages'], [
      {
        role: 'user',
        content: [
          {
            type: 'image_url',
            image_url: { url: 'https://example.com/cat.png' },
          },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'What?' },
        ],
      },
    ]);
    await books.check(paid(10n * GPT.input + GPT.output));
  });
  const REFUSED: Record<string, object> = {
    brand_new_field: { brand_new_field: 1 },
    stop_sequences: { stop_sequences: ['1', '2', '3', '4', '5'] },
    'messages[0].content[0].type': {
      messages: [
        {
          role: 'user',
          content: [{ type: 'browser_state' }],
        },
      ],
    },
  };
  for (const [param, more] of Object.entries(REFUSED)) {
    it(`refuses ${param}, and names it`, async () => {
      const error = await caught(anthropic.messages.create({ ...HELLO, ...more }), Anthropic.BadRequestError);
      assert.equal(error.type, 'invalid_request_error');
      assert.ok(error.apiMessage?.includes(`"${param}"`), error.message);
      assert.equal(stack.openai.requests.length, 0);
      await books.check(free(400));
    });
  }
  it('errors, before and within a stream', async () => {
    const once = anthropicClient(stack, { maxRetries: 0 });
    stack.openai.script(openaiError(400, 'messages: too many', { code: 'context_length_exceeded' }));
    const refused = await caught(anthropic.messages.create(HELLO), Anthropic.BadRequestError);
    assert.deepEqual(
      [refused.apiMessage, refused.type, refused.errorCode],
      ['prompt is too long: messages: too many', 'invalid_request_error', 'context_length_exceeded'],
    );
    stack.openai.script(openaiError(503));
    assert.equal((await caught(once.messages.create(HELLO), Anthropic.InternalServerError)).status, 502);
    stack.openai.script(breakAt(openaiStream(['x'.repeat(40), 'y']), 2, CUT));
    const raised = await caught(anthropic.messages.stream(HELLO).finalMessage(), Anthropic.APIError);
    assert.equal(raised.type, 'api_error');
    const input = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify({ ...HELLO, stream: true })) / 4) + 3);
    await books.check(free(400), free(502), {
      status: 200,
      costNanoUsd: input * GPT.input + 10n * GPT.output,
      source: 'Partial',
    });
  });
});
