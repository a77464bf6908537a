/** The demo provider, called by the official SDKs directly, behaves like a real provider. */
import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { exampleOf } from '../../../demo/example.ts';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';
import { behaviourOf } from '../../../demo/rules.ts';
import { countTokens, tokensOf } from '../../../demo/tokens.ts';

const lines: string[] = [];
let provider: DemoProvider;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  provider = await startDemoProvider({
    host: '127.0.0.1',
    port: 0,
    tokenMs: 0,
    slowTokenMs: 0,
    onRequest: (line) => lines.push(line),
  });
  openai = new OpenAI({ apiKey: 'x', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'x', baseURL: provider.url, maxRetries: 0 });
});
afterAll(() => provider.stop());

const say = (content: string): { role: 'user'; content: string }[] => [{ role: 'user', content }];
const WEATHER = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, unit: { enum: ['C', 'F'] }, days: { type: 'integer' } },
};

describe('responses', () => {
  it('equal those of a chat, whole and streamed, and are billed alike', async () => {
    const asked = { model: 'gpt-4o', input: 'Tell me about gateways' };
    const [whole, chat] = [
      await openai.responses.create(asked),
      await openai.chat.completions.create({ model: 'gpt-4o', messages: say(asked.input) }),
    ];
    assert.equal(whole.output_text, chat.choices[0]?.message.content);
    assert.equal(whole.usage?.output_tokens, chat.usage?.completion_tokens);
    const streamed = await openai.responses.stream(asked).finalResponse();
    assert.deepEqual([streamed.output_text, streamed.usage], [whole.output_text, whole.usage]);
  });
  it('call tools, read their results, and stop at the limit', async () => {
    const tools = [{ type: 'function' as const, name: 'weather', parameters: WEATHER, strict: false }];
    const { output } = await openai.responses.stream({ model: 'm', input: 'use the tool', tools }).finalResponse();
    const [called] = output;
    assert.ok(called?.type === 'function_call' && called.name === 'weather');
    assert.deepEqual(JSON.parse(called.arguments), { city: 'Paris', unit: 'C', days: 1 });
    const after = await openai.responses.create({
      model: 'm',
      tools,
      input: [
        {
          role: 'user',
          content: 'use the tool',
        },
        called,
        { type: 'function_call_output', call_id: called.call_id, output: 'rain' },
      ],
    });
    assert.match(after.output_text, /The tool says: rain/);
    const cut = await openai.responses.create({ model: 'm', input: 'long 50', max_output_tokens: 7 });
    assert.deepEqual([cut.status, cut.usage?.output_tokens], ['incomplete', 7]);
  });
});

describe('a background response', () => {
  it('is ready after a while, and can be cancelled and deleted before', async () => {
    const asked = { model: 'm', input: 'Tell me about gateways', background: true };
    const { id, status, usage } = await openai.responses.create(asked);
    assert.deepEqual([status, usage], ['queued', null]);
    assert.equal((await openai.responses.cancel(id)).status, 'cancelled');
    assert.equal((await openai.responses.retrieve(id)).status, 'cancelled');
    await openai.responses.delete(id);
    await assert.rejects(openai.responses.retrieve(id), OpenAI.NotFoundError);
    const quick = await startDemoProvider({ host: '127.0.0.1', port: 0, videoMs: 0 });
    const client = new OpenAI({ apiKey: 'x', baseURL: `${quick.url}/v1`, maxRetries: 0 });
    const made = await client.responses.create(asked);
    const ended = await client.responses.retrieve(made.id);
    assert.deepEqual([ended.status, ended.background], ['completed', true]);
    assert.ok(ended.output_text !== '' && (ended.usage?.output_tokens ?? 0) > 0);
    assert.equal((await client.responses.cancel(made.id)).status, 'completed', 'it has ended');
    await quick.stop();
  });
});

describe('videos', () => {
  it('are ready after a while, and are valid video files', async () => {
    const made = await openai.videos.create({ model: 'm', prompt: 'a river', seconds: '8' });
    assert.deepEqual([made.status, made.seconds], ['queued', '8']);
    const quick = await startDemoProvider({ host: '127.0.0.1', port: 0, videoMs: 0 });
    const client = new OpenAI({ apiKey: 'x', baseURL: `${quick.url}/v1`, maxRetries: 0 });
    try {
      const [good, bad] = await Promise.all(
        ['a river', 'a river that will fail later'].map((prompt) => client.videos.create({ model: 'm', prompt })),
      );
      assert.equal((await ended(client, good?.id)).status, 'completed');
      assert.equal((await ended(client, bad?.id)).error?.code, 'demo_failure');
      const film = Buffer.from(await (await client.videos.downloadContent(good?.id ?? '')).arrayBuffer());
      assert.deepEqual(
        [film.toString('latin1', 0, 4), film.toString('latin1', 8, 12), film.readUInt32LE(4)],
        ['RIFF', 'AVI ', film.length - 8],
      );
      assert.equal((await client.videos.delete(good?.id ?? '')).deleted, true);
      await assert.rejects(Promise.resolve(client.videos.retrieve(good?.id ?? '')), OpenAI.NotFoundError);
    } finally {
      await quick.stop();
    }
  });
  /** Polls until it has ended, as clients do. */
  async function ended(client: OpenAI, id = ''): Promise<OpenAI.Video> {
    for (;;) {
      const video = await client.videos.retrieve(id);
      if (video.status === 'completed' || video.status === 'failed') return video;
    }
  }

  it('fail at once if the prompt says so', async () => {
    await assert.rejects(
      Promise.resolve(openai.videos.create({ model: 'm', prompt: 'fail 429' })),
      OpenAI.RateLimitError,
    );
  });
});

describe('OpenAI side', () => {
  it('answers every prompt, and the same each time', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => openai.chat.completions.create({ model: 'gpt-4o', messages: say('Tell me about gateways') })),
    );
    const text = one?.choices[0]?.message.content ?? '';
    assert.match(
      text,
      /You said "Tell me about gateways"\. That is 4 words\. I am the demo provider, standing in for gpt-4o/,
    );
    assert.equal(text, two?.choices[0]?.message.content);
    assert.equal(one?.usage?.completion_tokens, tokensOf(text).length);
    assert.equal(one?.usage?.total_tokens, (one?.usage?.prompt_tokens ?? 0) + tokensOf(text).length);
    assert.equal(one?.choices[0]?.finish_reason, 'stop');
  });

  it('streams the same text, with usage only if it was requested', async () => {
    const body = { model: 'gpt-4o', messages: say('haiku, please'), stream: true as const };
    const whole = await openai.chat.completions.create({ ...body, stream: false });
    let text = '';
    for await (const chunk of await openai.chat.completions.create(body)) {
      text += chunk.choices[0]?.delta.content ?? '';
      assert.equal('usage' in chunk, false);
    }
    assert.equal(text, whole.choices[0]?.message.content);
    const chunks = await Array.fromAsync(
      await openai.chat.completions.create({ ...body, stream_options: { include_usage: true } }),
    );
    assert.deepEqual(
      chunks.map((chunk) => chunk.usage?.completion_tokens).filter((count) => count !== undefined),
      [whole.usage?.completion_tokens],
    );
    assert.deepEqual(chunks.at(-1)?.choices, []);
  });

  it('stops at the output limit, and gives n answers', async () => {
    const reply = await openai.chat.completions.create({
      model: 'm',
      messages: say('long 50'),
      max_completion_tokens: 7,
      n: 2,
    });
    assert.equal(reply.choices[1]?.finish_reason, 'length');
    assert.equal(reply.choices[1]?.message.content?.split(' ').length, 7);
    assert.equal(reply.usage?.completion_tokens, 14);
  });

  it('calls a tool on request, and repeats its result', async () => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];
    const reply = await openai.chat.completions.create({ model: 'm', messages: say('use the tool'), tools });
    const call = reply.choices[0]?.message.tool_calls?.[0];
    assert.equal(reply.choices[0]?.finish_reason, 'tool_calls');
    assert.ok(call?.type === 'function');
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris', unit: 'C', days: 1 });
    const stream = openai.chat.completions.stream({ model: 'm', messages: say('use the tool'), tools });
    assert.deepEqual(
      (await stream.finalMessage()).tool_calls?.map((each) => each.type),
      ['function'],
    );
    const next = await openai.chat.completions.create({
      model: 'm',
      tools,
      messages: [
        ...say('use the tool'),
        reply.choices[0].message,
        { role: 'tool', tool_call_id: call.id, content: 'sunny' },
      ],
    });
    assert.equal(next.choices[0]?.message.content, 'The tool says: sunny');
    const forced = await openai.chat.completions.create({
      model: 'm',
      messages: say('hello'),
      tools,
      tool_choice: 'required',
    });
    assert.equal(forced.choices[0]?.message.tool_calls?.length, 1);
  });

  it('reports cached input from the second turn on', async () => {
    const messages = [
      ...say(`remember this: ${'word '.repeat(300)}`),
      {
        role: 'assistant' as const,
        content: 'done',
      },
      ...say('and now?'),
    ];
    const first = await openai.chat.completions.create({ model: 'm', messages });
    const second = await openai.chat.completions.create({ model: 'm', messages });
    assert.equal(first.usage?.prompt_tokens_details?.cached_tokens, 0);
    assert.equal(second.usage?.prompt_tokens_details?.cached_tokens, 256);
    assert.equal(second.usage?.prompt_tokens, first.usage?.prompt_tokens);
  });

  it('creates embeddings and images', async () => {
    const { data, usage } = await openai.embeddings.create({ model: 'text-embedding-3-small', input: ['one', 'two'] });
    const floats = await openai.embeddings.create({
      model: 'text-embedding-3-small',
      input: 'one',
      encoding_format: 'float',
    });
    assert.equal(data.length, 2);
    assert.ok(Math.abs(Math.hypot(...(data[0]?.embedding ?? [])) - 1) < 1e-5);
    assert.deepEqual(
      data[0]?.embedding.map((x) => x.toFixed(5)),
      floats.data[0]?.embedding.map((x) => x.toFixed(5)),
    );
    assert.equal(usage.prompt_tokens, 10);
    const images = await openai.images.generate({ model: 'flux-1.1-pro', prompt: 'a gate', n: 2 });
    const png = Buffer.from(images.data?.[0]?.b64_json ?? '', 'base64');
    assert.deepEqual([...png.subarray(1, 4)], [...Buffer.from('PNG')]);
    const dataLength = png.readUInt32BE(33);
    assert.equal(inflateSync(png.subarray(41, 41 + dataLength)).length, 64 * (64 * 3 + 1));
    assert.notEqual(images.data?.[0]?.b64_json, images.data?.[1]?.b64_json);
    const linked = await openai.images.generate({ model: 'flux-1.1-pro', prompt: 'a gate', response_format: 'url' });
    assert.equal((await fetch(linked.data?.[0]?.url ?? '')).headers.get('content-type'), 'image/png');
  });

  it('lists its models', async () => {
    const names = (await Array.fromAsync(openai.models.list())).map((model) => model.id);
    assert.ok(names.includes('gpt-4o') && names.includes('claude-sonnet-4-6'));
  });

  it("fails as the prompt says, in the SDK's own error classes", async () => {
    for (const [status, kind] of [
      [500, OpenAI.InternalServerError],
      [429, OpenAI.RateLimitError],
      [403, OpenAI.PermissionDeniedError],
      [400, OpenAI.BadRequestError],
    ] as const) {
      await assert.rejects(openai.chat.completions.create({ model: 'm', messages: say(`fail ${status}`) }), kind);
    }
    const limited = await fetch(`${provider.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: say('fail 429') }),
    });
    assert.equal(limited.headers.get('retry-after'), '1');
    await assert.rejects(
      new OpenAI({ apiKey: 'wrong', baseURL: `${provider.url}/v1` }).models.list(),
      OpenAI.AuthenticationError,
    );
  });

  it('cuts the response off as the prompt says', async () => {
    const chunks: string[] = [];
    await assert.rejects(async () => {
      for await (const chunk of await openai.chat.completions.create({
        model: 'm',
        messages: say('long 40, then cut'),
        stream: true,
      }))
        chunks.push(chunk.choices[0]?.delta.content ?? '');
    });
    assert.equal(chunks.filter((text) => text !== '').length, 20);
    await assert.rejects(openai.chat.completions.create({ model: 'm', messages: say('cut') }));
    const control = new AbortController();
    let seen = 0;
    await assert.rejects(async () => {
      for await (const chunk of await openai.chat.completions.create(
        { model: 'm', messages: say('long 40, then stall'), stream: true },
        { signal: control.signal },
      )) {
        if (chunk.choices[0]?.delta.content && (seen += 1) === 20) control.abort();
      }
      control.signal.throwIfAborted();
    });
    assert.equal(seen, 20);
  });

  it('reports false usage, or none', async () => {
    assert.equal(
      (
        await openai.chat.completions.create({
          model: 'm',
          messages: say('claim 9000 tokens'),
        })
      ).usage?.completion_tokens,
      9000,
    );
    assert.equal((await openai.chat.completions.create({ model: 'm', messages: say('no usage') })).usage, undefined);
  });
});

describe('Anthropic side', () => {
  it('answers, streams the same, and counts', async () => {
    const body = { model: 'claude-sonnet-4-6', max_tokens: 1000, system: 'be kind', messages: say('hello') };
    const whole = await anthropic.messages.create(body);
    const streamed = await anthropic.messages.stream(body).finalMessage();
    assert.deepEqual(streamed.content, whole.content);
    assert.deepEqual(streamed.usage.output_tokens, whole.usage.output_tokens);
    assert.equal(streamed.stop_reason, 'end_turn');
    assert.equal(
      (await anthropic.messages.countTokens({ model: body.model, system: body.system, messages: body.messages }))
        .input_tokens,
      whole.usage.input_tokens,
    );
    assert.equal(whole.usage.input_tokens, countTokens(['be kind', 'hello']));
  });

  it('writes and reads its cache at cache_control', async () => {
    const create = (ttl: '5m' | '1h'): Promise<Anthropic.Message> =>
      anthropic.messages.create({
        model: 'm',
        max_tokens: 50,
        system: [
          {
            type: 'text',
            text: `${ttl} ${'rule '.repeat(50)}`,
            cache_control: { type: 'ephemeral', ttl },
          },
        ],
        messages: say('hello'),
      });
    for (const [ttl, field] of [
      ['5m', 'ephemeral_5m_input_tokens'],
      ['1h', 'ephemeral_1h_input_tokens'],
    ] as const) {
      const first = (await create(ttl)).usage;
      const second = (await create(ttl)).usage;
      const marked = first.cache_creation_input_tokens ?? 0;
      assert.ok(marked > 50);
      assert.equal(first.cache_creation?.[field], marked);
      assert.equal(first.cache_read_input_tokens, 0);
      assert.equal(second.cache_read_input_tokens, marked);
      assert.equal(second.cache_creation_input_tokens, 0);
      assert.equal(second.input_tokens, first.input_tokens);
    }
  });

  it('calls a tool on request, and repeats its result', async () => {
    const tools = [{ name: 'weather', input_schema: WEATHER }];
    const reply = await anthropic.messages.create({
      model: 'm',
      max_tokens: 50,
      messages: say('please use the tool'),
      tools,
    });
    const [use] = reply.content;
    assert.ok(use?.type === 'tool_use');
    assert.deepEqual(use.input, { city: 'Paris', unit: 'C', days: 1 });
    assert.deepEqual(
      (
        await anthropic.messages
          .stream({
            model: 'm',
            max_tokens: 50,
            messages: say('please use the tool'),
            tools,
          })
          .finalMessage()
      ).stop_reason,
      'tool_use',
    );
    const next = await anthropic.messages.create({
      model: 'm',
      max_tokens: 50,
      tools,
      messages: [
        ...say('please use the tool'),
        {
          role: 'assistant',
          content: reply.content,
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
      ],
    });
    assert.deepEqual(next.content, [{ type: 'text', text: 'The tool says: sunny' }]);
  });

  it('reports errors in its own dialect', async () => {
    await assert.rejects(
      anthropic.messages.create({ model: 'm', max_tokens: 5, messages: say('fail 529') }),
      (error: unknown) =>
        error instanceof Anthropic.APIError && error.status === 529 && error.type === 'overloaded_error',
    );
    const noLimit = await fetch(`${provider.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: say('x') }),
    });
    assert.equal(noLimit.status, 400);
    assert.deepEqual(await noLimit.json(), {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens is required' },
      request_id: null,
    });
  });

  it('lists its models', async () => {
    assert.ok((await Array.fromAsync(anthropic.models.list())).some((model) => model.id === 'claude-haiku-4-5'));
  });
});

describe('provider', () => {
  it('logs one line per request', async () => {
    lines.length = 0;
    assert.equal((await fetch(`${provider.url}/v1/nothing`)).status, 404);
    await (await fetch(`${provider.url}/v1/models?x=1`)).text();
    assert.deepEqual(lines, ['GET /v1/nothing 404', 'GET /v1/models 200']);
  });

  it('says of a path that it lacks it, and of a model only where the prompt asks for that', async () => {
    const codeOf = async (path: string, body: object): Promise<unknown> => {
      const response = await fetch(`${provider.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
      assert.equal(response.status, 404);
      const { error } = (await response.json()) as { error: { code: unknown } };
      return error.code;
    };
    assert.equal(await codeOf('/v1/responses/compact', { model: 'm', input: 'x' }), null);
    const asked = { model: 'm', messages: say('please fail 404') };
    assert.equal(await codeOf('/v1/chat/completions', asked), 'model_not_found');
  });

  it('stops while streams are running', async () => {
    const own = await startDemoProvider({ host: '127.0.0.1', port: 0, tokenMs: 60_000 });
    const response = await fetch(`${own.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', stream: true, messages: say('hello') }),
    });
    await own.stop();
    await assert.rejects(response.text());
  });

  it('refuses a port that is in use', async () => {
    await assert.rejects(startDemoProvider({ host: '127.0.0.1', port: Number(new URL(provider.url).port) }), {
      code: 'EADDRINUSE',
    });
  });
});

describe('rules', () => {
  it('are read from the words of a prompt', () => {
    assert.deepEqual(behaviourOf('just a question about a failure of 500 gates, slowness and a shortcut'), {
      fail: undefined,
      slow: false,
      breakOff: undefined,
      words: undefined,
      hideUsage: false,
      claimedTokens: undefined,
      useTool: false,
      echo: undefined,
    });
    assert.equal(behaviourOf('Fail 503 now').fail, 503);
    assert.equal(behaviourOf('fail 200').fail, undefined);
    assert.equal(behaviourOf('long 999999999').words, 200_000);
    assert.equal(behaviourOf('Say: exactly this').echo, 'exactly this');
  });

  it('return tokens that join to the text again', () => {
    for (const text of ['', ' ', 'a b', '  lead', 'trail \n', 'Ünïcödé wörds, 12345678 and 😀!', '日本語のテキスト'])
      assert.equal(tokensOf(text).join(''), text);
  });

  it('fill in a schema', () => {
    assert.deepEqual(
      exampleOf({
        type: 'object',
        properties: {
          a: { type: ['number', 'null'] },
          b: { type: 'array' },
          c: { type: 'object', properties: { location: { type: 'string' } } },
        },
      }),
      { a: 1, b: [], c: { location: 'Paris' } },
    );
    assert.deepEqual(exampleOf(undefined), {});
  });
});
