/** The official OpenAI client, unchanged, with models of an OpenAI provider: common tasks. */
import assert from 'node:assert/strict';
import type OpenAI from 'openai';
import { makeParseableResponseFormat } from 'openai/lib/parser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import {
  gated,
  insertAt,
  json,
  openaiChat,
  openaiEmbeddings,
  openaiStream,
  sseReply,
} from '../../support/provider-answers.ts';
import { openConnections } from '../../support/api/connections.ts';
import {
  Books,
  EMBEDDING_TOKEN,
  GPT,
  TEN_TOKENS,
  cancelManifest,
  caught,
  collect,
  free,
  openaiClient,
  paid,
} from '../../support/api/sdk.ts';

let stack: TestStack;
let client: OpenAI;
let books: Books;

/** A model whose name must be escaped in a path. */
const SLASHED = `
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: slashed}
spec: {models: [{name: "meta/llama 3:free", vendor: Meta, quotaType: Token, modelRatio: "1"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: slashed}
spec:
  models: [{name: "meta/llama 3:free", contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: only, protocol: OpenAI, baseUrl: "http://127.0.0.1:9/v1"}]
`;

beforeAll(async () => {
  stack = await startTestStack({ files: () => ({ 'slashed.yaml': SLASHED }) });
  client = openaiClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const HELLO = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }] };
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    },
  },
};

describe('models', () => {
  it('are listed, as a page and one by one', async () => {
    const page = await client.models.list();
    const all = await collect(client.models.list());
    assert.deepEqual(page.data, all);
    assert.ok(
      all.some(
        ({ id, object, owned_by: owner, created }) =>
          id === 'gpt-model' && object === 'model' && owner === 'OpenAI' && created > 1e9,
      ),
    );
    assert.ok(
      all.some(({ id }) => id === 'claude-model') &&
        !all.some(({ id }) => id === 'unpriced-model' || id === 'shelf-model'),
    );
    await books.check(free(), free());
  });
  it('are looked up by names with any characters', async () => {
    assert.equal((await client.models.retrieve('gpt-model')).owned_by, 'OpenAI');
    assert.equal((await client.models.retrieve('meta/llama 3:free')).id, 'meta/llama 3:free');
    await books.check(free(), free());
  });
});

describe('chat completions', () => {
  it('return id, usage and cost', async () => {
    stack.openai.script(
      openaiChat({
        content: 'Good day.',
        usage: {
          prompt_tokens: 100,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: 40 },
        },
      }),
    );
    const { data, response, request_id: id } = await client.chat.completions.create(HELLO).withResponse();
    assert.equal(data.choices[0]?.message.content, 'Good day.');
    assert.equal(data.usage?.prompt_tokens_details?.cached_tokens, 40);
    const cost = 60n * GPT.input + 40n * GPT.cached + 20n * GPT.output;
    assert.equal(response.headers.get('x-modelgateway-cost-usd'), '0.0004');
    assert.equal(response.headers.get('x-modelgateway-remaining-usd'), 'Unlimited');
    const [call] = await books.check(paid(cost));
    assert.match(id ?? '', /^req_/);
    assert.equal(id, call?.request_id);
    assert.equal((data as OpenAI.ChatCompletion & { _request_id?: string })._request_id, id);
  });
  it('accept every role, every setting and fields that the SDK does not know', async () => {
    const body = {
      model: 'gpt-model',
      n: 2,
      temperature: 0.2,
      top_p: 0.9,
      seed: 7,
      stop: ['END', '\n\n'],
      user: 'someone',
      logprobs: true,
      top_logprobs: 2,
      max_completion_tokens: 50,
      logit_bias: { 50256: -100 },
      metadata: { a: 'b' },
      brand_new_field: { x: 1 },
      messages: [
        { role: 'developer' as const, content: 'Be brief.' },
        { role: 'user' as const, content: [{ type: 'text' as const, text: 'Zażółć 🗼' }] },
        { role: 'assistant' as const, content: 'Yes?' },
        { role: 'user' as const, content: 'Go on.', name: 'anna' },
      ],
    };
    stack.openai.script(openaiChat({ extra: { system_fingerprint: 'fp_1', new_field: [1] } }));
    const answer = await client.chat.completions.create(body);
    assert.deepEqual((await stack.openai.request(0)).json(), body);
    assert.deepEqual({ ...answer }['new_field' as 'id'], [1]);
    await books.check(paid(10n * GPT.input + GPT.output));
  });
  it('reach a model that has another name at its provider', async () => {
    stack.openai.script(openaiChat());
    await client.chat.completions.create({ ...HELLO, model: 'renamed-model' });
    assert.equal((await stack.openai.request(0)).json()['model'], 'upstream-name-7');
    await books.check(paid(11n * 2_000n));
  });
  it('reuse connections, also after refusals and streams', async () => {
    const proxy = await openConnections(stack.gateway.url);
    try {
      const through = openaiClient(stack, { baseURL: `${proxy.url}/v1` });
      stack.openai.script(openaiChat(), openaiChat(), openaiStream(), openaiChat());
      // node's fetch opens a second one on its second call, whatever the server does
      for (let calls = 0; calls < 2; calls++) await through.chat.completions.create(HELLO);
      const { accepted } = proxy;
      await caught(through.chat.completions.create({ ...HELLO, model: 'nothing' }), Error);
      await collect(await through.chat.completions.create({ ...HELLO, stream: true }));
      await through.models.list();
      await through.chat.completions.create(HELLO);
      assert.equal(proxy.accepted, accepted, 'the gateway was connected to anew');
      assert.ok(stack.openai.connections <= 1, 'the provider was connected to anew');
      const cost = 10n * GPT.input + GPT.output;
      await books.check(paid(cost), paid(cost), free(404), paid(cost + GPT.output), free(), paid(cost));
    } finally {
      await proxy.close();
    }
  });
});

describe('streams', () => {
  it('arrive chunk by chunk, without usage that was not requested', async () => {
    stack.openai.script(openaiStream(['Hel', 'lo ', '🗼']));
    const { data: stream, request_id: id } = await client.chat.completions
      .create({ ...HELLO, stream: true })
      .withResponse();
    const chunks = await collect(stream);
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Hello 🗼');
    assert.ok(chunks.every((chunk) => chunk.choices.length === 1 && !('usage' in chunk)));
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop');
    const [call] = await books.check(paid(10n * GPT.input + 3n * GPT.output));
    assert.equal(id, call?.request_id);
  });
  it('end with usage if it was requested', async () => {
    stack.openai.script(
      openaiStream(['a', 'b'], {
        usage: { prompt_tokens: 30, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 10 } },
      }),
    );
    const chunks = await collect(
      await client.chat.completions.create({
        ...HELLO,
        stream: true,
        stream_options: { include_usage: true },
      }),
    );
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.equal(chunks.at(-1)?.usage?.total_tokens, 39);
    await books.check(paid(20n * GPT.input + 10n * GPT.cached + 9n * GPT.output));
  });
  it('of the stream() helper add up to a completion', async () => {
    stack.openai.script(openaiStream(['Good ', 'day.']));
    const deltas: string[] = [];
    const runner = client.chat.completions
      .stream({ ...HELLO, stream_options: { include_usage: true } })
      .on('content', (delta) => deltas.push(delta));
    assert.equal(await runner.finalContent(), 'Good day.');
    assert.deepEqual(deltas, ['Good ', 'day.']);
    assert.equal((await runner.finalChatCompletion()).choices[0]?.finish_reason, 'stop');
    assert.deepEqual(await runner.totalUsage(), { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 });
    await books.check(paid(10n * GPT.input + 2n * GPT.output));
  });
  for (const leave of ['by breaking out of the loop', 'by its controller', 'by a signal'] as const) {
    it(`are aborted ${leave}: with Cancel the provider is stopped, and the output so far is billed`, async () => {
      await stack.gateway.write('cancel.yaml', cancelManifest('OpenAI', stack.openai.url));
      const asks = { ...HELLO, model: 'gpt-cancel' };
      const waiting = gate();
      stack.openai.script(insertAt(openaiStream([TEN_TOKENS, 'never']), 2, waiting));
      const leaving = new AbortController();
      const stream = await client.chat.completions.create({ ...asks, stream: true }, { signal: leaving.signal });
      for await (const chunk of stream) {
        if (!chunk.choices[0]?.delta.content) continue;
        if (leave === 'by breaking out of the loop') break;
        if (leave === 'by its controller') stream.controller.abort();
        else leaving.abort();
      }
      const request = await stack.openai.request(0);
      await request.over;
      assert.equal(request.clientGone, true);
      // "hello" in its wrapping is ceil(bytes / 4) + 3
      const [call] = await books.check({
        status: 200,
        costNanoUsd: estimated(asks) * GPT.input + 10n * GPT.output,
        source: 'Partial',
      });
      assert.equal(call?.endpoint, 'chat_completions');
      await stack.gateway.write('cancel.yaml', '# nothing\n');
    });
  }
  it('and whole responses that the user aborts are billed exactly', async () => {
    const waiting = gated(openaiChat({ usage: { prompt_tokens: 11, completion_tokens: 33 } }));
    stack.openai.script(waiting.reply);
    const leaving = new AbortController();
    const call = client.chat.completions.create(HELLO, { signal: leaving.signal });
    const failure = caught(call, Error);
    await waiting.gate.reached;
    leaving.abort();
    assert.match((await failure).message, /abort/i);
    waiting.gate.open();
    await (
      await stack.openai.request(0)
    ).over;
    await books.check({ status: undefined, costNanoUsd: 11n * GPT.input + 33n * GPT.output });
  });
});

/**
 * The gateway's estimate of a small request's input: a quarter of its bytes, as the SDK writes it, and three tokens per
 * message.
 */
function estimated(body: object): bigint {
  return BigInt(Math.ceil(Buffer.byteLength(JSON.stringify({ ...body, stream: true })) / 4) + 3);
}

describe('tools', () => {
  const calls = [
    { id: 'call_1', name: 'get_weather', arguments: '{"city": "Oslo"}' },
    {
      id: 'call_2',
      name: 'get_weather',
      arguments: '{"city":"São Paulo"}',
    },
  ];

  it('reach the provider unchanged, and so do their calls and results', async () => {
    stack.openai.script(openaiChat({ toolCalls: calls }), openaiChat({ content: 'Cold and warm.' }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Weather?' }];
    const asks = {
      model: 'gpt-model',
      messages,
      tools: [WEATHER],
      tool_choice: 'auto' as const,
      parallel_tool_calls: true,
    };
    const first = await client.chat.completions.create(asks);
    assert.deepEqual((await stack.openai.request(0)).json(), {
      ...asks,
      messages: [{ role: 'user', content: 'Weather?' }],
      max_completion_tokens: 4000,
    });
    const [choice] = first.choices;
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.deepEqual(
      choice.message.tool_calls,
      calls.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } })),
    );
    messages.push(
      choice.message,
      ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '{"c":-3}' })),
    );
    assert.equal((await client.chat.completions.create(asks)).choices[0]?.message.content, 'Cold and warm.');
    assert.deepEqual((await stack.openai.request(1)).json()['messages'], JSON.parse(JSON.stringify(messages)));
    await books.check(paid(10n * GPT.input + 2n * GPT.output), paid(10n * GPT.input + GPT.output));
  });
  it('are reassembled from the interleaved fragments of a stream', async () => {
    const chunk = (delta: object, finish: string | null = null): { data: object } => ({
      data: {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: finish }],
      },
    });
    const piece = (index: number, more: object): { data: object } => chunk({ tool_calls: [{ index, ...more }] });
    stack.openai.script(
      sseReply(
        chunk({ role: 'assistant', content: null }),
        piece(0, { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } }),
        piece(0, { function: { arguments: '{"ci' } }),
        piece(1, { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{"city"' } }),
        piece(1, { function: { arguments: ':"São' } }),
        piece(0, { function: { arguments: 'ty": "Oslo"}' } }),
        piece(1, { function: { arguments: ' Paulo"}' } }),
        chunk({}, 'tool_calls'),
        {
          data: {
            id: 'c',
            object: 'chat.completion.chunk',
            created: 1,
            model: 'm',
            choices: [],
            usage: {
              prompt_tokens: 50,
              completion_tokens: 30,
              total_tokens: 80,
            },
          },
        },
        { data: '[DONE]' },
      ),
    );
    const runner = client.chat.completions.stream({ ...HELLO, tools: [WEATHER] });
    const {
      choices: [choice],
    } = await runner.finalChatCompletion();
    assert.deepEqual(
      choice?.message.tool_calls?.map(
        (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
      ),
      calls.map(({ id, name, arguments: args }) => [id, name, args]),
    );
    assert.equal(choice?.finish_reason, 'tool_calls');
    await books.check(paid(50n * GPT.input + 30n * GPT.output));
  });
  for (const stream of [false, true]) {
    it(`are run by runTools()${stream ? ', streaming' : ''}`, async () => {
      const [one] = calls;
      stack.openai.script(
        ...(stream
          ? [openaiStream([], { toolCalls: [one!] }), openaiStream(['It is ', 'cold.'])]
          : [openaiChat({ toolCalls: [one!] }), openaiChat({ content: ['It is ', 'cold.'] })]),
      );
      const asked: unknown[] = [];
      const body = {
        ...HELLO,
        tools: [
          {
            type: 'function' as const,
            function: {
              ...WEATHER.function,
              parse: (text: string): { city: string } => JSON.parse(text),
              function: (args: { city: string }) => {
                asked.push(args);
                return { celsius: -3 };
              },
            },
          },
        ],
      };
      const runner = stream
        ? client.chat.completions.runTools({ ...body, stream: true })
        : client.chat.completions.runTools(body);
      assert.equal(await runner.finalContent(), 'It is cold.');
      assert.deepEqual(asked, [{ city: 'Oslo' }]);
      const messages = (await stack.openai.request(1)).json()['messages'] as { role: string; content: unknown }[];
      assert.deepEqual(
        messages.map(({ role }) => role),
        ['user', 'assistant', 'tool'],
      );
      assert.equal(messages[2]?.content, '{"celsius":-3}');
      await books.check(paid(10n * GPT.input + GPT.output), paid(10n * GPT.input + 2n * GPT.output));
    });
  }
});

describe('images in messages', () => {
  it('are passed on unchanged, by URL and as data', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What are these?' },
          { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(200_000)}` } },
        ],
      },
    ];
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 1500, completion_tokens: 4 } }));
    await client.chat.completions.create({ model: 'gpt-model', messages });
    assert.deepEqual((await stack.openai.request(0)).json()['messages'], messages);
    await books.check(paid(1500n * GPT.input + 4n * GPT.output));
  });
});

describe('structured output', () => {
  const SCHEMA = {
    type: 'object',
    properties: { city: { type: 'string' }, celsius: { type: 'number' } },
    required: ['city', 'celsius'],
    additionalProperties: false,
  };
  const FORMAT = makeParseableResponseFormat(
    { type: 'json_schema' as const, json_schema: { name: 'weather', strict: true, schema: SCHEMA } },
    (text): { city: string; celsius: number } => JSON.parse(text),
  );
  const answer = ['{"city":"Oslo",', '"celsius":-3}'];

  it('is parsed by parse() and by stream()', async () => {
    stack.openai.script(openaiChat({ content: answer }), openaiStream(answer));
    const whole = await client.chat.completions.parse({ ...HELLO, response_format: FORMAT });
    assert.deepEqual(whole.choices[0]?.message.parsed, { city: 'Oslo', celsius: -3 });
    assert.deepEqual((await stack.openai.request(0)).json()['response_format'], {
      type: 'json_schema',
      json_schema: { name: 'weather', strict: true, schema: SCHEMA },
    });
    const streamed = await client.chat.completions.stream({ ...HELLO, response_format: FORMAT }).finalChatCompletion();
    assert.deepEqual(streamed.choices[0]?.message.parsed, { city: 'Oslo', celsius: -3 });
    const cost = 10n * GPT.input + 2n * GPT.output;
    await books.check(paid(cost), paid(cost));
  });
});

describe('embeddings', () => {
  it("are returned in base64, the SDK's default", async () => {
    const base64 = Buffer.from(new Float32Array([0.5, -2, 0.25]).buffer).toString('base64');
    stack.openai.script(
      json({
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: base64 }],
        usage: { prompt_tokens: 1000, total_tokens: 1000 },
      }),
    );
    const { data } = await client.embeddings.create({ model: 'embed-model', input: 'hello '.repeat(200) });
    assert.deepEqual(data[0]?.embedding, [0.5, -2, 0.25]);
    assert.equal((await stack.openai.request(0)).json()['encoding_format'], 'base64');
    await books.check(paid(1000n * EMBEDDING_TOKEN));
  });
  it('are returned as numbers, for several texts or for tokens', async () => {
    stack.openai.script(
      openaiEmbeddings(
        [
          [0.1, 0.2],
          [0.3, 0.4],
        ],
        7,
      ),
      openaiEmbeddings([[0.5]], 3),
    );
    const { data, usage } = await client.embeddings.create({
      model: 'embed-model',
      input: ['one', 'two'],
      encoding_format: 'float',
      dimensions: 2,
    });
    assert.deepEqual(
      data.map(({ embedding }) => embedding),
      [
        [0.1, 0.2],
        [0.3, 0.4],
      ],
    );
    assert.equal(usage.prompt_tokens, 7);
    await client.embeddings.create({ model: 'embed-model', input: [[1, 2, 3]], encoding_format: 'float' });
    await books.check(paid(7n * EMBEDDING_TOKEN), paid(3n * EMBEDDING_TOKEN));
  });
});

describe('the key', () => {
  it("shows its remaining money, through the SDK's own get()", async () => {
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 100, completion_tokens: 50 } }));
    const small = openaiClient(stack, { apiKey: KEYS.small });
    await small.chat.completions.create({ ...HELLO, max_tokens: 300 });
    const key = await small.get<{ spent_usd: string; remaining_usd: string }>('/key');
    assert.deepEqual([key.spent_usd, key.remaining_usd], ['0.00075', '0.00925']);
    await books.check(paid(100n * GPT.input + 50n * GPT.output), free());
  });
});
