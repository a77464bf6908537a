/** The official Anthropic client, unchanged, with models of an Anthropic provider: common tasks. */
import assert from 'node:assert/strict';
import type Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS, PROVIDER_KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import {
  anthropicMessage,
  anthropicStream,
  gated,
  insertAt,
  json,
  sse,
  sseReply,
} from '../../support/provider-answers.ts';
import { openConnections } from '../../support/api/connections.ts';
import {
  Books,
  CLAUDE,
  TEN_TOKENS,
  anthropicClient,
  cancelManifest,
  caught,
  collect,
  free,
  paid,
} from '../../support/api/sdk.ts';

let stack: TestStack;
let client: Anthropic;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack();
  client = anthropicClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'claude-model', max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
/** 10 tokens of input and one of output: the default of scripted responses. */
const SMALL = 10n * CLAUDE.input + CLAUDE.output;

describe('models', () => {
  it('are listed in pages', async () => {
    const first = await client.models.list({ limit: 2 });
    assert.equal(first.data.length, 2);
    assert.equal(first.has_more, true);
    assert.equal(first.last_id, first.data[1]?.id);
    const ids = (await collect(client.models.list({ limit: 2 }))).map(({ id }) => id);
    const whole = await client.models.list();
    assert.deepEqual(
      ids,
      whole.data.map(({ id }) => id),
    );
    assert.equal(whole.has_more, false);
    assert.ok(ids.includes('claude-model') && ids.includes('gpt-model') && !ids.includes('shelf-model'));
    const pages = Math.ceil(ids.length / 2);
    await books.check(free(), ...Array.from({ length: pages }, () => free()), free());
  });
  it('are looked up by name', async () => {
    const model = await client.models.retrieve('claude-model');
    assert.deepEqual(
      [model.type, model.id, model.max_tokens, model.max_input_tokens],
      ['model', 'claude-model', 4000, 100_000],
    );
    await books.check(free());
  });
});

describe('messages', () => {
  it('return id, usage and cost', async () => {
    const usage = {
      input_tokens: 100,
      cache_read_input_tokens: 2000,
      cache_creation_input_tokens: 400,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 100 },
      output_tokens: 20,
    };
    stack.anthropic.script(anthropicMessage({ content: 'Good day.', usage }));
    const system = [
      {
        type: 'text' as const,
        text: 'Be brief. '.repeat(300),
        cache_control: {
          type: 'ephemeral' as const,
          ttl: '1h' as const,
        },
      },
      { type: 'text' as const, text: 'Be kind. '.repeat(300), cache_control: { type: 'ephemeral' as const } },
    ];
    const { data, response, request_id: id } = await client.messages.create({ ...HELLO, system }).withResponse();
    assert.deepEqual(data.content, [{ type: 'text', text: 'Good day.' }]);
    assert.deepEqual(data.usage, usage);
    assert.deepEqual((await stack.anthropic.request(0)).json(), { ...HELLO, system });
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.002925');
    const [call] = await books.check(
      paid(
        100n * CLAUDE.input +
          2000n * CLAUDE.cached +
          300n * CLAUDE.write5m +
          100n * CLAUDE.write1h +
          20n * CLAUDE.output,
      ),
    );
    assert.equal(id, call?.request_id);
    assert.equal((data as Anthropic.Message & { _request_id?: string })._request_id, id);
  });
  it('accept a key in either header', async () => {
    stack.anthropic.script(anthropicMessage());
    await client.messages.create(HELLO);
    await anthropicClient(stack, { apiKey: null, authToken: KEYS.main }).messages.create(HELLO);
    for (const index of [0, 1]) {
      const { headers } = await stack.anthropic.request(index);
      assert.deepEqual([headers['x-api-key'], headers.authorization], [PROVIDER_KEYS.anthropic, undefined]);
    }
    await books.check(paid(SMALL), paid(SMALL));
  });
  it('pass on the version, the betas and the parameters of a beta', async () => {
    stack.anthropic.script(anthropicMessage());
    await client.beta.messages.create({
      ...HELLO,
      betas: ['interleaved-thinking-2025-05-14', 'context-management-2025-06-27'],
      metadata: { user_id: 'u' },
    });
    const request = await stack.anthropic.request(0);
    const { headers, path } = request;
    assert.match(String(headers['anthropic-version']), /^20\d\d-\d\d-\d\d$/);
    assert.equal(headers['anthropic-beta'], 'interleaved-thinking-2025-05-14,context-management-2025-06-27');
    assert.match(path, /^\/v1\/messages/);
    assert.deepEqual(request.json(), { ...HELLO, metadata: { user_id: 'u' } });
    await books.check(paid(SMALL));
  });
  it('keep thinking and its signature byte for byte, both ways', async () => {
    const thought = [
      {
        type: 'thinking' as const,
        thinking: 'Grüße\u2028 "quoted" \\ / 🗼',
        signature: `EqQB${'aB3+/='.repeat(100)}==`,
      },
      { type: 'redacted_thinking' as const, data: `Ci${'9+/a'.repeat(50)}=` },
      { type: 'text' as const, text: 'Hi.' },
    ];
    stack.anthropic.script(anthropicMessage({ extra: { content: thought } }), anthropicMessage());
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
    const first = await client.messages.create({ ...HELLO, max_tokens: 2000, thinking });
    assert.deepEqual(first.content, thought);
    await client.messages.create({
      ...HELLO,
      max_tokens: 2000,
      thinking,
      messages: [...HELLO.messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }],
    });
    assert.ok(
      (await stack.anthropic.request(1)).body.includes(JSON.stringify(thought)),
      'a thinking block was written anew',
    );
    await books.check(paid(SMALL), paid(SMALL));
  });
  it('contain images and documents, as data and by URL', async () => {
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(200_000) } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
            title: 'a.pdf',
          },
          { type: 'text', text: 'What are these?' },
        ],
      },
    ];
    stack.anthropic.script(anthropicMessage({ usage: { input_tokens: 3000, output_tokens: 7 } }));
    await client.messages.create({ ...HELLO, messages });
    assert.deepEqual((await stack.anthropic.request(0)).json()['messages'], messages);
    await books.check(paid(3000n * CLAUDE.input + 7n * CLAUDE.output));
  });
  it('are parsed by their schema', async () => {
    const format = jsonSchemaOutputFormat({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    });
    stack.anthropic.script(anthropicMessage({ content: '{"city":"Oslo"}' }));
    const message = await client.messages.parse({ ...HELLO, output_config: { format } });
    assert.deepEqual(message.parsed_output, { city: 'Oslo' });
    await books.check(paid(SMALL));
  });
  it('reuse connections, also after refusals and streams', async () => {
    const proxy = await openConnections(stack.gateway.url);
    try {
      const through = anthropicClient(stack, { baseURL: proxy.url });
      stack.anthropic.script(anthropicMessage(), anthropicMessage(), anthropicStream(), anthropicMessage());
      // node's fetch opens a second one on its second call, whatever the server does
      for (let calls = 0; calls < 2; calls++) await through.messages.create(HELLO);
      const { accepted } = proxy;
      await caught(through.messages.create({ ...HELLO, model: 'nothing' }), Error);
      await through.messages.stream(HELLO).finalMessage();
      await through.messages.create(HELLO);
      assert.equal(proxy.accepted, accepted, 'the gateway was connected to anew');
      assert.ok(stack.anthropic.connections <= 1, 'the provider was connected to anew');
      await books.check(paid(SMALL), paid(SMALL), free(404), paid(SMALL + CLAUDE.output), paid(SMALL));
    } finally {
      await proxy.close();
    }
  });
});

describe('streams', () => {
  it('keep the order of events, including unknown ones and pings', async () => {
    const reply = anthropicStream(['Hel', 'lo 🗼']);
    stack.anthropic.script(
      insertAt(
        reply,
        2,
        sse({ event: 'ping', data: { type: 'ping' } }),
        sse({
          event: 'brand_new',
          data: { type: 'brand_new', x: 1 },
        }),
      ),
    );
    const { data: stream, request_id: id } = await client.messages.create({ ...HELLO, stream: true }).withResponse();
    const events = await collect(stream);
    assert.deepEqual(
      events.map(({ type }) => type as string),
      [
        'message_start',
        'content_block_start',
        'brand_new',
        'content_block_delta',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
    const [call] = await books.check(paid(SMALL + CLAUDE.output));
    assert.equal(id, call?.request_id);
  });
  it('of the stream() helper add up to a message', async () => {
    stack.anthropic.script(
      anthropicStream(['Good ', 'day.'], {
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 1000,
          cache_creation_input_tokens: 0,
          output_tokens: 9,
        },
      }),
    );
    const texts: string[] = [];
    const system = 'Be brief. '.repeat(100);
    const stream = client.messages.stream({ ...HELLO, system }).on('text', (text) => texts.push(text));
    const message = await stream.finalMessage();
    assert.deepEqual(texts, ['Good ', 'day.']);
    assert.equal(await stream.finalText(), 'Good day.');
    assert.equal(message.stop_reason, 'end_turn');
    assert.deepEqual(
      [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
      [50, 1000, 9],
    );
    const [call] = await books.check(paid(50n * CLAUDE.input + 1000n * CLAUDE.cached + 9n * CLAUDE.output));
    assert.equal(stream.request_id, call?.request_id);
  });
  it('contain thinking with its signature', async () => {
    const named = (type: string, more: object): { event: string; data: object } => ({
      event: type,
      data: { type, ...more },
    });
    const signature = 'aB3+/='.repeat(80);
    stack.anthropic.script(
      sseReply(
        named('message_start', {
          message: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 20, output_tokens: 1 },
          },
        }),
        named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
        named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Hm, ' } }),
        named('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'yes.' } }),
        named('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature } }),
        named('content_block_stop', { index: 0 }),
        named('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
        named('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'Hi.' } }),
        named('content_block_stop', { index: 1 }),
        named('message_delta', {
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: 40 },
        }),
        named('message_stop', {}),
      ),
    );
    const message = await client.messages
      .stream({
        ...HELLO,
        max_tokens: 2000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
      })
      .finalMessage();
    assert.deepEqual(message.content, [
      { type: 'thinking', thinking: 'Hm, yes.', signature },
      { type: 'text', text: 'Hi.' },
    ]);
    await books.check(paid(20n * CLAUDE.input + 40n * CLAUDE.output));
  });
  for (const leave of ['by breaking out of the loop', 'by abort()'] as const) {
    it(`are aborted ${leave}: with Cancel the provider is stopped, and the output so far is billed`, async () => {
      await stack.gateway.write('cancel.yaml', cancelManifest('Anthropic', stack.anthropic.url));
      const waiting = gate();
      stack.anthropic.script(
        insertAt(
          anthropicStream([TEN_TOKENS, 'never'], { usage: { input_tokens: 25, output_tokens: 99 } }),
          3,
          waiting,
        ),
      );
      const stream = client.messages.stream({ ...HELLO, model: 'claude-cancel' });
      const failure = leave === 'by abort()' ? caught(stream.done(), Error) : undefined;
      try {
        for await (const event of stream) {
          if (event.type !== 'content_block_delta') continue;
          if (leave === 'by breaking out of the loop') break;
          stream.abort();
        }
      } catch (error) {
        assert.match(String(error), /abort/i);
      }
      await failure;
      const request = await stack.anthropic.request(0);
      await request.over;
      assert.equal(request.clientGone, true);
      // the input was reported at the start
      await books.check({ status: 200, costNanoUsd: 25n * CLAUDE.input + 10n * CLAUDE.output, source: 'Partial' });
      await stack.gateway.write('cancel.yaml', '# nothing\n');
    });
  }
  it('and whole responses that the user aborts are billed exactly', async () => {
    const waiting = gated(anthropicMessage({ usage: { input_tokens: 11, output_tokens: 33 } }));
    stack.anthropic.script(waiting.reply);
    const leaving = new AbortController();
    const failure = caught(client.messages.create(HELLO, { signal: leaving.signal }), Error);
    await waiting.gate.reached;
    leaving.abort();
    assert.match((await failure).message, /abort/i);
    waiting.gate.open();
    await (
      await stack.anthropic.request(0)
    ).over;
    await books.check({ status: undefined, costNanoUsd: 11n * CLAUDE.input + 33n * CLAUDE.output });
  });
});

describe('tools', () => {
  const uses = [
    { id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
    {
      id: 'toolu_2',
      name: 'get_weather',
      input: { city: 'São Paulo' },
    },
  ];

  it('reach the provider unchanged, and so do their calls and results', async () => {
    stack.anthropic.script(
      anthropicMessage({ content: 'Let me see.', toolUses: uses }),
      anthropicMessage({ content: 'Cold and warm.' }),
    );
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const asks = {
      ...HELLO,
      messages,
      tools: [{ ...WEATHER, cache_control: { type: 'ephemeral' as const } }],
      tool_choice: { type: 'auto' as const, disable_parallel_tool_use: false },
    };
    const first = await client.messages.create(asks);
    assert.deepEqual((await stack.anthropic.request(0)).json(), {
      ...asks,
      messages: [{ role: 'user', content: 'Weather?' }],
    });
    assert.equal(first.stop_reason, 'tool_use');
    assert.deepEqual(
      first.content.slice(1),
      uses.map((use) => ({ type: 'tool_use', ...use })),
    );
    messages.push(
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: '-3' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            is_error: true,
            content: [{ type: 'text', text: 'no such city' }],
          },
        ],
      },
    );
    assert.deepEqual((await client.messages.create(asks)).content, [{ type: 'text', text: 'Cold and warm.' }]);
    assert.deepEqual((await stack.anthropic.request(1)).json()['messages'], messages);
    await books.check(paid(10n * CLAUDE.input + 3n * CLAUDE.output), paid(SMALL));
  });
  it('are reassembled from the fragments of a stream', async () => {
    const fragments = (index: number, parts: readonly string[]): string[] =>
      parts.map((part) =>
        sse({
          event: 'content_block_delta',
          data: { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: part } },
        }),
      );
    const whole = anthropicStream([], { toolUses: uses, usage: { input_tokens: 50, output_tokens: 30 } }).steps;
    // message_start, and per call its start, its one delta, its stop
    const steps = [
      ...whole.slice(0, 2),
      ...fragments(0, ['', '{"ci', 'ty": "Os', 'lo"}']),
      whole[3]!,
      whole[4]!,
      ...fragments(1, ['{"city"', ':"São Paulo"}']),
      ...whole.slice(6),
    ];
    stack.anthropic.script({ ...anthropicStream(), steps });
    const pieces: string[] = [];
    const message = await client.messages
      .stream({ ...HELLO, tools: [WEATHER] })
      .on('inputJson', (piece) => pieces.push(piece))
      .finalMessage();
    assert.equal(pieces.join(''), '{"city": "Oslo"}{"city":"São Paulo"}');
    assert.deepEqual(
      message.content.map((block) => block.type === 'tool_use' && [block.id, block.name, block.input]),
      uses.map(({ id, name, input }) => [id, name, input]),
    );
    assert.equal(message.stop_reason, 'tool_use');
    await books.check(paid(50n * CLAUDE.input + 30n * CLAUDE.output));
  });
  for (const stream of [false, true]) {
    it(`are run by toolRunner()${stream ? ', streaming' : ''}`, async () => {
      const [one] = uses;
      stack.anthropic.script(
        ...(stream
          ? [anthropicStream([], { toolUses: [one!] }), anthropicStream(['It is ', 'cold.'])]
          : [anthropicMessage({ toolUses: [one!] }), anthropicMessage({ content: ['It is ', 'cold.'] })]),
      );
      const asked: unknown[] = [];
      const tool = betaTool({
        name: 'get_weather',
        description: 'The weather.',
        inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        run: (input) => {
          asked.push(input);
          return '-3';
        },
      });
      const runner = client.beta.messages.toolRunner({ ...HELLO, tools: [tool], stream });
      const message = await runner.runUntilDone();
      assert.deepEqual(
        message.content.map((block) => block.type === 'text' && block.text),
        ['It is cold.'],
      );
      assert.deepEqual(asked, [{ city: 'Oslo' }]);
      // it first asks the provider to store the conversation, whose price has no bound; after the refusal, it sends all
      // of it
      const asks = (await Promise.all([0, 1].map((index) => stack.anthropic.request(index)))).map((request) =>
        request.json(),
      );
      assert.deepEqual(
        asks.map(({ thread, messages }) => [thread, (messages as unknown[]).length]),
        [
          [undefined, 1],
          [undefined, 3],
        ],
      );
      await books.check(free(400), paid(SMALL), paid(SMALL + CLAUDE.output));
    });
  }
});

describe('countTokens', () => {
  it('calls an Anthropic provider, and costs nothing', async () => {
    stack.anthropic.script(json({ input_tokens: 2095 }));
    const { max_tokens: _, ...body } = HELLO;
    assert.equal(
      (await client.messages.countTokens({ ...body, system: 'Be brief.', tools: [WEATHER] })).input_tokens,
      2095,
    );
    const request = await stack.anthropic.request(0);
    assert.equal(request.path, '/v1/messages/count_tokens');
    assert.deepEqual(request.json(), { ...body, system: 'Be brief.', tools: [WEATHER] });
    await books.check(free());
  });
  it('is an estimate if the provider cannot count', async () => {
    const { input_tokens: tokens } = await client.messages.countTokens({
      model: 'gpt-model',
      messages: [{ role: 'user', content: 'word '.repeat(1000) }],
    });
    assert.ok(tokens >= 1000 && tokens < 1100, String(tokens));
    assert.equal(stack.openai.requests.length, 0);
    await books.check(free());
  });
});
