/** OpenAI's official client on a model whose provider speaks Anthropic's protocol: what both have works, and the rest is
 * refused by name. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { anthropicError, anthropicMessage, anthropicStream, breakAt, sse } from '../../support/provider-answers.ts';
import { Books, caught, CLAUDE, collect, free, openaiClient, paid } from '../../support/api/sdk.ts';

let stack: TestStack;
let openai: OpenAI;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack();
  openai = openaiClient(stack);
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
const USES = [
  {
    id: 'toolu_1',
    name: 'get_weather',
    input: { city: 'Oslo' },
  },
  { id: 'toolu_2', name: 'get_weather', input: { city: 'São Paulo' } },
];
/** Marks the end of a prompt prefix that an Anthropic provider caches. */
const BREAKPOINT = { cache_control: { type: 'ephemeral' } };

describe("OpenAI's client on a model of an Anthropic provider", () => {
  const HELLO = { model: 'claude-model', messages: [{ role: 'user' as const, content: 'hello' }] };
  const TOOL = {
    type: 'function' as const,
    function: { name: 'get_weather', description: 'The weather.', parameters: SCHEMA },
  };
  const sent = async (index = 0): Promise<Record<string, unknown>> => (await stack.anthropic.request(index)).json();

  it('sends text, system prompts, several turns and settings', async () => {
    stack.anthropic.script(
      anthropicMessage({
        content: 'Bonjour.',
        usage: { input_tokens: 20, cache_read_input_tokens: 100, cache_creation_input_tokens: 30, output_tokens: 5 },
      }),
    );
    const completion = await openai.chat.completions.create({
      model: 'claude-model',
      temperature: 1.7,
      top_p: 0.9,
      stop: ['END'],
      max_completion_tokens: 50,
      user: 'u-1',
      seed: 3,
      messages: [
        { role: 'system', content: 'Speak French.' },
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
        {
          role: 'assistant',
          content: 'Oui?',
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Go ' },
            { type: 'text', text: 'on.' },
          ],
        },
      ],
    });
    assert.deepEqual(await sent(), {
      model: 'claude-model',
      max_tokens: 50,
      temperature: 1,
      top_p: 0.9,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      system: [
        { type: 'text', text: 'Speak French.' },
        { type: 'text', text: 'Be brief.', ...BREAKPOINT },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hello', ...BREAKPOINT }] },
        { role: 'assistant', content: 'Oui?' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Go ' },
            { type: 'text', text: 'on.', ...BREAKPOINT },
          ],
        },
      ],
    });
    assert.deepEqual(
      [completion.object, completion.choices[0]?.message.content, completion.choices[0]?.finish_reason],
      ['chat.completion', 'Bonjour.', 'stop'],
    );
    assert.deepEqual(
      [
        completion.usage?.prompt_tokens,
        completion.usage?.prompt_tokens_details?.cached_tokens,
        completion.usage?.completion_tokens,
        completion.usage?.total_tokens,
      ],
      [150, 100, 5, 155],
    );
    await books.check(paid(20n * CLAUDE.input + 100n * CLAUDE.cached + 30n * CLAUDE.write5m + 5n * CLAUDE.output));
  });
  it('gets finish reasons', async () => {
    const reasons = [
      ['max_tokens', 'length'],
      ['stop_sequence', 'stop'],
      ['refusal', 'content_filter'],
    ] as const;
    for (const [stopReason, finishReason] of reasons) {
      stack.anthropic.script(anthropicMessage({ stopReason }));
      assert.equal((await openai.chat.completions.create(HELLO)).choices[0]?.finish_reason, finishReason);
      stack.anthropic.script(anthropicStream(['a'], { stopReason }));
      const chunks = await collect(await openai.chat.completions.create({ ...HELLO, stream: true }));
      assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, finishReason);
    }
    await books.check(...Array.from({ length: 6 }, () => paid(10n * CLAUDE.input + CLAUDE.output)));
  });
  it('streams, with usage if it asks for it', async () => {
    stack.anthropic.script(
      anthropicStream(['Bon', 'jour 🗼'], {
        usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 7 },
      }),
    );
    const silent = await collect(await openai.chat.completions.create({ ...HELLO, stream: true }));
    assert.equal(silent.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Bonjour 🗼');
    assert.ok(silent.every((chunk) => chunk.object === 'chat.completion.chunk' && !('usage' in chunk)));
    const runner = openai.chat.completions.stream({ ...HELLO, stream_options: { include_usage: true } });
    assert.equal(await runner.finalContent(), 'Bonjour 🗼');
    const usage = await runner.totalUsage();
    assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [120, 7, 127]);
    const cost = 20n * CLAUDE.input + 100n * CLAUDE.cached + 7n * CLAUDE.output;
    await books.check(paid(cost), paid(cost));
  });
  it('calls tools and returns their results', async () => {
    stack.anthropic.script(
      anthropicMessage({ content: 'Let me see.', toolUses: USES }),
      anthropicMessage({ content: 'Cold and warm.' }),
    );
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const asks = {
      model: 'claude-model',
      messages,
      tools: [TOOL],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
    };
    const first = await openai.chat.completions.create(asks);
    assert.deepEqual((await sent())['tools'], [
      { name: 'get_weather', description: 'The weather.', input_schema: SCHEMA, ...BREAKPOINT },
    ]);
    assert.deepEqual((await sent())['tool_choice'], { type: 'any', disable_parallel_tool_use: true });
    const [choice] = first.choices;
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.deepEqual(
      choice.message.tool_calls,
      USES.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      })),
    );
    messages.push(
      choice.message,
      {
        role: 'tool',
        tool_call_id: 'toolu_1',
        content: '-3',
      },
      { role: 'tool', tool_call_id: 'toolu_2', content: '31' },
    );
    assert.equal((await openai.chat.completions.create(asks)).choices[0]?.message.content, 'Cold and warm.');
    assert.deepEqual((await sent(1))['messages'], [
      { role: 'user', content: [{ type: 'text', text: 'Weather?', ...BREAKPOINT }] },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me see.' }, ...USES.map((use) => ({ type: 'tool_use', ...use }))],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: '-3',
          },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: '31', ...BREAKPOINT },
        ],
      },
    ]);
    await books.check(paid(10n * CLAUDE.input + 3n * CLAUDE.output), paid(10n * CLAUDE.input + CLAUDE.output));
  });
  it('calls tools within a stream, and by runTools()', async () => {
    stack.anthropic.script(anthropicStream(['Let me see.'], { toolUses: USES }), anthropicStream(['Cold.']));
    const asked: unknown[] = [];
    const runner = openai.chat.completions.runTools({
      ...HELLO,
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            ...TOOL.function,
            parse: (text: string): { city: string } => JSON.parse(text),
            function: (args: { city: string }) => {
              asked.push(args.city);
              return 'cold';
            },
          },
        },
      ],
    });
    assert.equal(await runner.finalContent(), 'Cold.');
    assert.deepEqual(asked, ['Oslo', 'São Paulo']);
    await books.check(paid(10n * CLAUDE.input + 3n * CLAUDE.output), paid(10n * CLAUDE.input + CLAUDE.output));
  });
  it('images', async () => {
    stack.anthropic.script(anthropicMessage());
    await openai.chat.completions.create({
      model: 'claude-model',
      messages: [
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
      ],
    });
    assert.deepEqual((await sent())['messages'], [
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
    ]);
    await books.check(paid(10n * CLAUDE.input + CLAUDE.output));
  });
  it('calls custom tools, whole and streamed', async () => {
    const uses = [{ id: 'toolu_9', name: 'shell', input: { input: 'ls -l "é"' } }];
    stack.anthropic.script(
      anthropicMessage({ toolUses: uses }),
      anthropicStream([], { toolUses: uses }),
      anthropicMessage({ content: 'Done.' }),
    );
    const asks = { ...HELLO, tools: [{ type: 'custom' as const, custom: { name: 'shell', description: 'Runs it.' } }] };
    const call = { id: 'toolu_9', type: 'custom', custom: { name: 'shell', input: 'ls -l "é"' } } as const;
    const {
      choices: [first],
    } = await openai.chat.completions.create(asks);
    assert.ok(first);
    assert.deepEqual(first.message.tool_calls, [call]);
    const chunks = await collect(await openai.chat.completions.create({ ...asks, stream: true }));
    assert.deepEqual(
      chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []),
      [{ index: 0, ...call }],
    );
    await openai.chat.completions.create({
      ...asks,
      messages: [...asks.messages, first.message, { role: 'tool', tool_call_id: 'toolu_9', content: 'a' }],
    });
    assert.deepEqual(((await sent(2))['messages'] as unknown[])[1], {
      role: 'assistant',
      content: [{ type: 'tool_use', ...uses[0] }],
    });
    await books.check(...Array.from({ length: 3 }, () => paid(10n * CLAUDE.input + CLAUDE.output)));
  });
  it('calls functions in the older format', async () => {
    stack.anthropic.script(
      anthropicMessage({ toolUses: [USES[0]!] }),
      anthropicStream([], { toolUses: [USES[0]!] }),
      anthropicMessage({ content: 'Cold.' }),
    );
    const asks = {
      ...HELLO,
      functions: [{ name: 'get_weather', parameters: SCHEMA }],
      function_call: { name: 'get_weather' },
    };
    const first = await openai.chat.completions.create(asks);
    assert.deepEqual(
      [first.choices[0]?.finish_reason, first.choices[0]?.message.function_call],
      ['function_call', { name: 'get_weather', arguments: '{"city":"Oslo"}' }],
    );
    assert.deepEqual((await sent())['tool_choice'], {
      type: 'tool',
      name: 'get_weather',
      disable_parallel_tool_use: true,
    });
    const chunks = await collect(await openai.chat.completions.create({ ...asks, stream: true }));
    assert.deepEqual(chunks.map((chunk) => chunk.choices[0]?.delta.function_call).filter(Boolean), [
      { name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ]);
    await openai.chat.completions.create({
      ...asks,
      messages: [...asks.messages, first.choices[0]!.message, { role: 'function', name: 'get_weather', content: '-3' }],
    });
    assert.deepEqual(((await sent(2))['messages'] as unknown[]).slice(1), [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'function_1', name: 'get_weather', input: { city: 'Oslo' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'function_1', content: '-3', ...BREAKPOINT }] },
    ]);
    await books.check(...Array.from({ length: 3 }, () => paid(10n * CLAUDE.input + CLAUDE.output)));
  });
  it('uses JSON mode and reasoning effort', async () => {
    stack.anthropic.script(anthropicMessage({ content: '{}' }));
    await openai.chat.completions.create({
      ...HELLO,
      response_format: { type: 'json_object' },
      reasoning_effort: 'high',
      temperature: 0.5,
    });
    const { system, thinking, output_config: output, temperature } = await sent();
    assert.match(String(system), /JSON/);
    assert.deepEqual([thinking, output, temperature], [{ type: 'adaptive' }, { effort: 'high' }, undefined]);
    await books.check(paid(10n * CLAUDE.input + CLAUDE.output));
  });
  it('gets structured output', async () => {
    const format = makeParseableResponseFormat(
      {
        type: 'json_schema' as const,
        json_schema: { name: 'city', strict: true, schema: SCHEMA },
      },
      (text): { city: string } => JSON.parse(text),
    );
    stack.anthropic.script(anthropicMessage({ content: '{"city":"Oslo"}' }));
    const completion = await openai.chat.completions.parse({ ...HELLO, response_format: format });
    assert.deepEqual(completion.choices[0]?.message.parsed, { city: 'Oslo' });
    assert.deepEqual((await sent())['output_config'], { format: { type: 'json_schema', schema: SCHEMA } });
    await books.check(paid(10n * CLAUDE.input + CLAUDE.output));
  });
  it('names the settings that the provider has none for', async () => {
    stack.anthropic.script(anthropicMessage());
    const { response } = await openai.chat.completions
      .create({ ...HELLO, n: 2, logprobs: true, frequency_penalty: 0.5, seed: 3 })
      .withResponse();
    assert.deepEqual(response.headers.get('x-modelgateway-dropped')?.split(', ').sort(), [
      'frequency_penalty',
      'logprobs',
      'n',
      'seed',
    ]);
    assert.deepEqual(Object.keys(await sent()).sort(), ['max_tokens', 'messages', 'model']);
    await books.check(paid(10n * CLAUDE.input + CLAUDE.output));
  });
  const REFUSED: Record<string, object> = {
    logit_bias: { logit_bias: { 50256: -100 } },
    'response_format.type': { response_format: { type: 'grammar' } },
    brand_new_field: { brand_new_field: 1 },
    'tools[0].custom.format': {
      tools: [
        {
          type: 'custom',
          custom: {
            name: 'grep',
            format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'a' } },
          },
        },
      ],
    },
    'messages[0].content[0].type': { messages: [{ role: 'user', content: [{ type: 'brand_new' }] }] },
  };
  for (const [param, more] of Object.entries(REFUSED)) {
    it(`refuses ${param}, and names it`, async () => {
      const error = await caught(openai.chat.completions.create({ ...HELLO, ...more }), OpenAI.BadRequestError);
      assert.deepEqual(
        [error.type, error.code, error.param],
        ['invalid_request_error', 'unsupported_parameter', param],
      );
      assert.ok(error.message.includes(`"${param}"`), error.message);
      assert.equal(stack.anthropic.requests.length, 0);
      await books.check(free(400));
    });
  }
  it('errors, before and within a stream', async () => {
    const once = openaiClient(stack, { maxRetries: 0 });
    stack.anthropic.script(anthropicError(400, 'invalid_request_error', 'messages: too many'));
    assert.match(
      (await caught(openai.chat.completions.create(HELLO), OpenAI.BadRequestError)).message,
      /^400 messages: too many$/,
    );
    stack.anthropic.script(anthropicError(529, 'overloaded_error'));
    assert.equal((await caught(once.chat.completions.create(HELLO), OpenAI.InternalServerError)).status, 503);
    stack.anthropic.script(
      breakAt(
        anthropicStream(['x'.repeat(40), 'y']),
        3,
        sse({
          event: 'error',
          data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        }),
      ),
    );
    const raised = await caught(openai.chat.completions.stream(HELLO).finalChatCompletion(), OpenAI.APIError);
    assert.deepEqual([raised.message, raised.type, raised.code], ['Overloaded', 'server_error', 'upstream_error']);
    await books.check(free(400), free(503), {
      status: 200,
      costNanoUsd: 10n * CLAUDE.input + 10n * CLAUDE.output,
      source: 'Partial',
    });
  });
});
