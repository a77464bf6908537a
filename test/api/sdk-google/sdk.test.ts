/**
 * Google's official client, unchanged, with models of providers that use OpenAI's and Anthropic's protocols: common
 * tasks.
 */
import assert from 'node:assert/strict';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Modality, Type } from '@google/genai';
import type { Chat, Content, FunctionDeclaration, GenerateContentConfig, GenerateContentResponse } from '@google/genai';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import type { KeyName } from '../../support/manifests.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  json,
  openaiChat,
  openaiError,
  openaiStream,
  sse,
  sseReply,
} from '../../support/provider-answers.ts';
import { CLAUDE, GPT } from '../../support/api/sdk.ts';
import { spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
let client: GoogleGenAI;

beforeAll(async () => {
  stack = await startTestStack();
  client = clientOf('main');
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const clientOf = (key: KeyName): GoogleGenAI =>
  new GoogleGenAI({ apiKey: KEYS[key], httpOptions: { baseUrl: stack.gateway.url } });

async function collect<T>(items: Promise<AsyncGenerator<T>>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of await items) all.push(item);
  return all;
}

async function costOf<T>(call: () => Promise<T>): Promise<{ answer: T; cost: bigint }> {
  const { spent } = await spending(stack);
  const answer = await call();
  return { answer, cost: (await spending(stack)).spent - spent };
}

/** Returns the SDK's error of a call. */
async function faultOf(call: Promise<unknown>): Promise<{ status: number; error: Json }> {
  const fault: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(fault instanceof ApiError, String(fault));
  const { error }: Json = JSON.parse(fault.message.slice(fault.message.indexOf('{')));
  return { status: fault.status, error };
}

const WEATHER: FunctionDeclaration = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING, nullable: true } }, required: ['city'] },
};
/** Enough money for the usage that the providers report. */
const LONG = 'hello '.repeat(500);
const TOOLS = [{ functionDeclarations: [WEATHER] }];
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('an answer', () => {
  it("of a provider of OpenAI's protocol has its text, its usage and its cost", async () => {
    stack.openai.script(
      openaiChat({
        content: 'Good day.',
        usage: {
          prompt_tokens: 100,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      }),
    );
    const { answer, cost } = await costOf(() =>
      client.models.generateContent({
        model: 'gpt-model',
        contents: 'hello',
        config: {
          systemInstruction: 'Be brief.',
          temperature: 1.5,
          topP: 0.5,
          maxOutputTokens: 50,
          stopSequences: ['X'],
        },
      }),
    );
    assert.equal(answer.text, 'Good day.');
    assert.equal(answer.candidates?.[0]?.finishReason, 'STOP');
    assert.equal(answer.modelVersion, 'mock-model');
    assert.deepEqual(answer.usageMetadata, {
      promptTokenCount: 100,
      cachedContentTokenCount: 40,
      candidatesTokenCount: 15,
      thoughtsTokenCount: 5,
      totalTokenCount: 120,
    });
    assert.equal(cost, 60n * GPT.input + 40n * GPT.cached + 20n * GPT.output);
    assert.deepEqual((await stack.openai.request(0)).json(), {
      model: 'gpt-model',
      max_completion_tokens: 50,
      temperature: 1.5,
      top_p: 0.5,
      stop: ['X'],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
    });
    const headers = answer.sdkHttpResponse?.headers ?? {};
    assert.match(headers['x-modelgateway-cost-usd'] ?? '', /^0\.000/);
    assert.match(answer.responseId ?? '', /^[0-9a-f]{32}$/);
  });
  it("of Anthropic's provider is billed with its cache", async () => {
    const usage = {
      input_tokens: 100,
      cache_read_input_tokens: 2000,
      cache_creation_input_tokens: 300,
      output_tokens: 20,
    };
    stack.anthropic.script(anthropicMessage({ content: 'Good day.', usage }));
    const { answer, cost } = await costOf(() =>
      client.models.generateContent({
        model: 'claude-model',
        contents: LONG,
        config: { maxOutputTokens: 90, topK: 5 },
      }),
    );
    assert.equal(answer.text, 'Good day.');
    assert.deepEqual(answer.usageMetadata, {
      promptTokenCount: 2400,
      cachedContentTokenCount: 2000,
      candidatesTokenCount: 20,
      totalTokenCount: 2420,
    });
    assert.equal(cost, 100n * CLAUDE.input + 2000n * CLAUDE.cached + 300n * CLAUDE.write5m + 20n * CLAUDE.output);
    const sent = await stack.anthropic.request(0);
    assert.deepEqual(
      [sent.path, sent.json()],
      [
        '/v1/messages',
        {
          model: 'claude-model',
          max_tokens: 90,
          top_k: 5,
          messages: [{ role: 'user', content: LONG }],
        },
      ],
    );
    assert.equal(sent.headers['x-goog-api-key'], undefined);
  });
  it('sees images', async () => {
    const parts = [{ text: 'what?' }, { inlineData: { mimeType: 'image/png', data: PNG } }];
    const contents = [{ role: 'user', parts }];
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    await client.models.generateContent({ model: 'gpt-model', contents });
    await client.models.generateContent({ model: 'claude-model', contents });
    const toOpenai: Json = (await stack.openai.request(0)).json();
    const toAnthropic: Json = (await stack.anthropic.request(0)).json();
    assert.deepEqual(toOpenai.messages[0].content[1], {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${PNG}` },
    });
    assert.deepEqual(toAnthropic.messages[0].content[1].source, { type: 'base64', media_type: 'image/png', data: PNG });
    const { status, error } = await faultOf(client.models.generateContent({ model: 'text-model', contents }));
    assert.deepEqual([status, error.status, error.details[0].reason], [400, 'INVALID_ARGUMENT', 'UNSUPPORTED_IMAGE']);
    assert.equal(error.details[1].fieldViolations[0].field, 'contents[0].parts[1].inlineData');
  });
  it('is held to a schema', async () => {
    stack.openai.script(openaiChat({ content: '{"a":"b"}' }));
    const answer = await client.models.generateContent({
      model: 'gpt-model',
      contents: 'hello',
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: Type.OBJECT, properties: { a: { type: Type.STRING } }, propertyOrdering: ['a'] },
      },
    });
    assert.equal(answer.text, '{"a":"b"}');
    const { response_format: format }: Json = (await stack.openai.request(0)).json();
    assert.deepEqual(format.json_schema.schema, { type: 'object', properties: { a: { type: 'string' } } });
  });
  it('sends what the provider has too, names what was left out, and refuses what cannot be', async () => {
    stack.openai.script(openaiChat());
    const { sdkHttpResponse } = await client.models.generateContent({
      model: 'gpt-model',
      contents: 'hello',
      config: { presencePenalty: 0.5, candidateCount: 2, seed: 3, tools: [...TOOLS, { googleSearch: {} }] },
    });
    assert.equal(sdkHttpResponse?.headers?.['x-modelgateway-dropped'], 'tools[1].googleSearch');
    const { presence_penalty: penalty, n, seed }: Json = (await stack.openai.request(0)).json();
    assert.deepEqual([penalty, n, seed], [0.5, 2, 3]);
    for (const [config, field] of [
      [{ cachedContent: 'cachedContents/x' }, 'cachedContent'],
      [{ responseModalities: [Modality.AUDIO] }, 'generationConfig.responseModalities'],
    ] satisfies [GenerateContentConfig, string][]) {
      const { status, error } = await faultOf(
        client.models.generateContent({
          model: 'gpt-model',
          contents: 'hello',
          config,
        }),
      );
      const violation = error.details.find((detail: Json) => detail['@type'].endsWith('BadRequest')).fieldViolations[0];
      assert.deepEqual([status, violation.field], [400, field]);
    }
    const contents = [{ role: 'user', parts: [{ fileData: { mimeType: 'application/pdf', fileUri: 'gs://x/y' } }] }];
    assert.equal((await faultOf(client.models.generateContent({ model: 'gpt-model', contents }))).status, 400);
  });
});

describe('a stream', () => {
  for (const model of ['gpt-model', 'claude-model'])
    it(`of ${model} comes in pieces, and ends with its usage and cost`, async () => {
      stack.openai.script(openaiStream(['Hel', 'lo.']));
      stack.anthropic.script(anthropicStream(['Hel', 'lo.']));
      const { answer: chunks, cost } = await costOf(() =>
        collect(
          client.models.generateContentStream({
            model,
            contents: 'hello',
          }),
        ),
      );
      assert.deepEqual(
        chunks.map(({ text }) => text),
        ['Hel', 'lo.', ''],
      );
      assert.deepEqual(
        chunks.map(({ candidates }) => candidates?.[0]?.finishReason),
        [undefined, undefined, 'STOP'],
      );
      assert.deepEqual(chunks.at(-1)?.usageMetadata, {
        promptTokenCount: 10,
        candidatesTokenCount: 2,
        totalTokenCount: 12,
      });
      const price = model === 'gpt-model' ? GPT : CLAUDE;
      assert.equal(cost, 10n * price.input + 2n * price.output);
    });
  it('of an error that the provider sends is one', async () => {
    stack.openai.script(
      breakAt(
        openaiStream(['four', 'four']),
        2,
        sse({
          data: { error: { message: 'no more', type: 'x', code: 'rate_limit_exceeded' } },
        }),
      ),
    );
    const { answer, cost } = await costOf(() =>
      faultOf(
        collect(
          client.models.generateContentStream({
            model: 'gpt-model',
            contents: 'hello',
          }),
        ),
      ),
    );
    const { status, error } = answer;
    assert.deepEqual([status, error.status, error.message], [429, 'RESOURCE_EXHAUSTED', 'no more']);
    assert.ok(cost >= GPT.output);
  });
  it('that breaks off is an error, and is billed by what was seen', async () => {
    stack.anthropic.script(breakAt(anthropicStream(['four', 'four']), 4, { kind: 'cut' }));
    const { answer, cost } = await costOf(() =>
      faultOf(
        collect(
          client.models.generateContentStream({
            model: 'claude-model',
            contents: 'hello',
          }),
        ),
      ),
    );
    assert.deepEqual([answer.status, answer.error.status], [502, 'UNAVAILABLE']);
    assert.ok(cost >= 2n * CLAUDE.output);
  });
  it('that breaks off in thoughts that are not shown is billed for them', async () => {
    stack.anthropic.script(
      sseReply(
        { event: 'message_start', data: { type: 'message_start', message: { usage: { input_tokens: 10 } } } },
        {
          event: 'x',
          data: {
            type: 'content_block_start',
            index: 0,
            content_block: { type: 'thinking', thinking: '' },
          },
        },
        {
          event: 'x',
          data: {
            type: 'content_block_delta',
            index: 0,
            delta: {
              type: 'thinking_delta',
              thinking: 'a long thought about nothing',
            },
          },
        },
        { kind: 'cut' },
      ),
    );
    const { cost } = await costOf(() =>
      faultOf(
        collect(
          client.models.generateContentStream({
            model: 'claude-model',
            contents: 'hello',
          }),
        ),
      ),
    );
    assert.ok(cost > 10n * CLAUDE.input, String(cost));
  });
});

describe('tools', () => {
  const call = { id: 'call_a1', name: 'get_weather', arguments: '{"city":"Paris"}' };
  const answered = (response: GenerateContentResponse): Content[] => [
    { role: 'user', parts: [{ text: 'hello' }] },
    response.candidates?.[0]?.content ?? {},
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: response.functionCalls?.[0]?.id ?? '',
            name: 'get_weather',
            response: { result: 'sunny' },
          },
        },
      ],
    },
  ];

  it("are called, and answered in the next turn, on OpenAI's protocol", async () => {
    stack.openai.script(openaiChat({ toolCalls: [call] }), openaiChat({ content: 'Sunny.' }));
    const config = {
      tools: TOOLS,
      toolConfig: {
        functionCallingConfig: {
          mode: FunctionCallingConfigMode.ANY,
          allowedFunctionNames: ['get_weather'],
        },
      },
    };
    const first = await client.models.generateContent({ model: 'gpt-model', contents: 'hello', config });
    assert.deepEqual(first.functionCalls, [{ id: 'call_a1', name: 'get_weather', args: { city: 'Paris' } }]);
    assert.equal(first.candidates?.[0]?.finishReason, 'STOP');
    const sent: Json = (await stack.openai.request(0)).json();
    assert.deepEqual(sent.tools[0].function.parameters, {
      type: 'object',
      properties: { city: { type: ['string', 'null'] } },
      required: ['city'],
    });
    assert.deepEqual(sent.tool_choice, { type: 'function', function: { name: 'get_weather' } });
    const last = await client.models.generateContent({
      model: 'gpt-model',
      contents: answered(first),
      config: { tools: TOOLS },
    });
    assert.equal(last.text, 'Sunny.');
    const { messages }: Json = (await stack.openai.request(1)).json();
    assert.deepEqual(messages.slice(1), [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_a1',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a1', content: 'sunny' },
    ]);
  });
  it('are called in a stream, each once it is whole', async () => {
    stack.openai.script(openaiStream([], { toolCalls: [call, { ...call, id: 'call_b2' }] }));
    const chunks = await collect(
      client.models.generateContentStream({
        model: 'gpt-model',
        contents: 'hello',
        config: { tools: TOOLS },
      }),
    );
    assert.deepEqual(
      chunks.flatMap(({ functionCalls }) => functionCalls ?? []).map(({ id, args }) => [id, args]),
      [
        ['call_a1', { city: 'Paris' }],
        ['call_b2', { city: 'Paris' }],
      ],
    );
  });
  it('keep the thinking that Anthropic signed, sealed in a signature, although thoughts are dropped', async () => {
    const thinking = { type: 'thinking', thinking: 'I call it.', signature: 'signed' };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } };
    stack.anthropic.script(
      anthropicMessage({ extra: { content: [thinking, use], stop_reason: 'tool_use' } }),
      anthropicMessage({ content: 'Sunny.' }),
    );
    const config = { tools: TOOLS, thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } };
    const first = await client.models.generateContent({ model: 'claude-model', contents: 'hello', config });
    const parts = first.candidates?.[0]?.content?.parts ?? [];
    assert.deepEqual(
      parts.map(({ text, thought }) => [text, thought]),
      [
        ['I call it.', true],
        [undefined, undefined],
      ],
    );
    const signature = parts[1]?.thoughtSignature ?? '';
    assert.equal(Buffer.from(signature, 'base64').toString('base64'), signature);
    assert.doesNotMatch(Buffer.from(signature, 'base64').toString(), /signed|I call/);
    const contents = answered(first).map(({ role, parts: all = [] }) => ({
      ...(role !== undefined && { role }),
      parts: all.filter(({ thought }) => !thought),
    }));
    await client.models.generateContent({ model: 'claude-model', contents, config });
    const { messages, thinking: wish }: Json = (await stack.anthropic.request(1)).json();
    assert.deepEqual(messages[1].content, [thinking, use]);
    assert.equal(wish.type, 'adaptive');
  });
  it('go on for several turns in a chat, streamed', async () => {
    const use = { id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } };
    stack.anthropic.script(
      anthropicStream(['Let me ', 'see.'], { toolUses: [use] }),
      anthropicStream(['Sunny.']),
      anthropicStream(['Bye.']),
    );
    const chats: Chat = client.chats.create({ model: 'claude-model', config: { tools: TOOLS } });
    const first = await collect(chats.sendMessageStream({ message: 'weather?' }));
    const [called] = first.flatMap(({ functionCalls }) => functionCalls ?? []);
    assert.equal(called?.name, 'get_weather');
    await collect(
      chats.sendMessageStream({
        message: [
          {
            functionResponse: {
              ...(called?.id !== undefined && { id: called.id }),
              name: 'get_weather',
              response: { temperature: 20 },
            },
          },
        ],
      }),
    );
    const last = await collect(chats.sendMessageStream({ message: 'thanks' }));
    assert.equal(last.map(({ text }) => text).join(''), 'Bye.');
    const { messages }: Json = (await stack.anthropic.request(2)).json();
    assert.deepEqual(
      messages.map(({ role }: Json) => role),
      ['user', 'assistant', 'user', 'assistant', 'user'],
    );
    assert.deepEqual(messages[1].content, [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', ...use },
    ]);
    assert.deepEqual(
      messages[2].content.map(({ cache_control: _cache, ...block }: Json) => block),
      [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '{"temperature":20}' }],
    );
    assert.equal(messages[3].content, 'Sunny.');
  });
});

describe('free requests', () => {
  it('list the models that chat or embed, page by page', async () => {
    const pager = await client.models.list({ config: { pageSize: 2 } });
    const names: (string | undefined)[] = [];
    for await (const { name } of pager) names.push(name);
    assert.deepEqual(names, [
      'models/claude-model',
      'models/embed-model',
      'models/gpt-model',
      'models/old-field-model',
      'models/renamed-model',
      'models/text-model',
      'models/tools-model',
    ]);
    const model = await client.models.get({ model: 'claude-model' });
    assert.deepEqual(
      [model.name, model.inputTokenLimit, model.outputTokenLimit],
      ['models/claude-model', 100_000, 4000],
    );
    const { status } = await faultOf(client.models.get({ model: 'shelf-model' }));
    assert.equal(status, 404);
  });
  it('count tokens', async () => {
    const { totalTokens = 0 } = await client.models.countTokens({ model: 'gpt-model', contents: 'one two three four' });
    assert.ok(totalTokens >= 4 && totalTokens < 20, String(totalTokens));
  });

  it("is the provider's where it counts, of what a call would send", async () => {
    stack.anthropic.script(json({ input_tokens: 42 }));
    const { totalTokens } = await client.models.countTokens({ model: 'claude-model', contents: 'one two three four' });
    assert.equal(totalTokens, 42);
    const sent = await stack.anthropic.request(0);
    assert.deepEqual([sent.path, Object.keys(sent.json())], ['/v1/messages/count_tokens', ['model', 'messages']]);
  });

  it('is refused as the call would be', async () => {
    const { status, error } = await faultOf(
      client.models.countTokens({
        model: 'claude-model',
        contents: [{ role: 'user', parts: [{ executableCode: { code: 'x' } }] }],
      }),
    );
    assert.deepEqual([status, error.status], [400, 'INVALID_ARGUMENT']);
  });
});

describe('a refusal', () => {
  const hello = (key: KeyName, model = 'gpt-model'): Promise<{ status: number; error: Json }> =>
    faultOf(clientOf(key).models.generateContent({ model, contents: 'hello', config: { tools: TOOLS } }));

  it('says what is wrong with the key, the model or the money', async () => {
    for (const [key, model, ...expected] of [
      ['disabled', 'gpt-model', 401, 'UNAUTHENTICATED', 'INVALID_API_KEY'],
      ['main', 'no-model', 404, 'NOT_FOUND', 'MODEL_NOT_FOUND'],
      ['main', 'embed-model', 400, 'INVALID_ARGUMENT', 'WRONG_ENDPOINT'],
      ['poor', 'gpt-model', 402, 'RESOURCE_EXHAUSTED', 'CREDIT_BALANCE_EXHAUSTED'],
      ['refuse', 'gpt-model', 429, 'RESOURCE_EXHAUSTED', 'INSUFFICIENT_QUOTA'],
    ] as const) {
      const { status, error } = await hello(key, model);
      assert.deepEqual([status, error.status, error.details[0].reason], expected);
      assert.equal(error.code, status);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
  it('of a quota says that waiting does not help, as Gemini CLI reads it', async () => {
    const { error } = await hello('refuse');
    const quota = error.details.find((detail: Json) => detail['@type'].endsWith('google.rpc.QuotaFailure'));
    assert.match(quota.violations[0].quotaId, /PerDay/);
  });
  it('of the provider is told with its message', async () => {
    stack.openai.script(openaiError(400, 'too odd', { code: 'odd_request' }));
    const { status, error } = await hello('main');
    assert.deepEqual([status, error.message, error.status], [400, 'too odd', 'INVALID_ARGUMENT']);
  });
  it('of a key that is lowered names its limit', async () => {
    stack.openai.script(openaiChat());
    const { sdkHttpResponse } = await clientOf('small').models.generateContent({ model: 'gpt-model', contents: 'hi' });
    const lowered = Number(sdkHttpResponse?.headers?.['x-modelgateway-max-tokens']);
    assert.ok(lowered >= 256 && lowered < 1000);
  });
});
