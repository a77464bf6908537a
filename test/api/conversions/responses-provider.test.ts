/**
 * The official clients of every dialect with a model that calls tools in Responses only: two turns with reasoning that
 * comes back, exact bills, and what becomes of reasoning on another channel.
 */
import assert from 'node:assert/strict';
import { GoogleGenAI } from '@google/genai';
import type { Content } from '@google/genai';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { Books, anthropicClient, free, openaiClient, paid } from '../../support/api/sdk.ts';
import { get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { json, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { openaiItems } from '../../support/response-answers.ts';

const manifests = (first: string, second: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: newest}
spec:
  models:
  - {name: gpt-5.6, contextTokens: 100000, maxOutputTokens: 4000, inputs: [Text, Image]}
  - {name: o3-pro, contextTokens: 100000, maxOutputTokens: 4000}
  channels:
  - {name: first, protocol: OpenAI, endpoints: [Chat, Responses], baseUrl: "${first}/v1", priority: 0}
  - {name: second, protocol: OpenAI, endpoints: [Chat, Responses], baseUrl: "${second}/v1", priority: 1}
  retry: {attempts: 1}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: only-responses}
spec:
  models: [{name: plain-model, contextTokens: 100000, maxOutputTokens: 4000}]
  channels: [{name: only, protocol: OpenAI, endpoints: [Responses], baseUrl: "${first}/v1"}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: newest}
spec:
  models:
  - {name: gpt-5.6, vendor: V, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: o3-pro, vendor: V, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
  - {name: plain-model, vendor: V, quotaType: Token, modelRatio: "1.25", completionRatio: "4", cacheRatio: "0.5"}
`;

const CALLED = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 130,
};
const ANSWERED = {
  input_tokens: 150,
  input_tokens_details: { cached_tokens: 100 },
  output_tokens: 6,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 156,
};
/** In nano-USD: input 2500, cached 1250, output 10000 a token. */
const CALLED_COST = 60n * 2_500n + 40n * 1_250n + 30n * 10_000n;
const ANSWERED_COST = 50n * 2_500n + 100n * 1_250n + 6n * 10_000n;

const ENCRYPTED = 'gAAAAABencrypted+reasoning/==';
const REASONING = {
  id: 'rs_abc',
  type: 'reasoning',
  encrypted_content: ENCRYPTED,
  summary: [{ type: 'summary_text', text: 'I need the weather.' }],
};
const CALL = {
  id: 'fc_abc',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_Wq7abc',
  name: 'get_weather',
  arguments: '{"city":"Oslo"}',
};
const MESSAGE = {
  id: 'msg_abc',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'It is cold.', annotations: [] }],
};
const REFUSED =
  "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";

/** OpenAI's rules for its newest models. */
function openai(request: RecordedRequest): Reply {
  const body = request.json();
  const stream = body['stream'] === true;
  if (request.path === '/v1/chat/completions')
    return body['tools'] === undefined || body['reasoning_effort'] === 'none'
      ? openaiChat({ content: 'Chat.' })
      : openaiError(400, REFUSED);
  assert.equal(request.path, '/v1/responses');
  assert.equal(body['store'], false);
  const results = inputOf(request).filter(({ type }) => type === 'function_call_output');
  if (body['tools'] === undefined || results.length > 0) return openaiItems([MESSAGE], ANSWERED, { stream });
  return openaiItems([REASONING, CALL], CALLED, { stream });
}

type Item = Record<string, unknown>;

const inputOf = (request: RecordedRequest): readonly Item[] => request.json()['input'] as readonly Item[];
const typesOf = (request: RecordedRequest): readonly unknown[] => inputOf(request).map(({ type }) => type);

/** The second turn brings the reasoning back, before the call that it led to. */
async function assertReasoned(): Promise<void> {
  const second = await stack.openai.request(1);
  assert.deepEqual(typesOf(second), ['message', 'reasoning', 'function_call', 'function_call_output']);
  const [, reasoning, call] = inputOf(second);
  assert.deepEqual([reasoning?.['encrypted_content'], call?.['call_id']], [ENCRYPTED, CALL.call_id]);
}

let stack: TestStack;
let books: Books;
beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl, anthropicUrl }) => ({ 'newest.yaml': manifests(openaiUrl, anthropicUrl) }),
  });
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(async () => {
  stack.openai.script(openai);
  stack.anthropic.script(openai);
  await books.open();
});
afterEach(() => books.assertChecked());

const QUESTION = 'Weather in Oslo? '.repeat(100);
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };

describe('the client of Anthropic', () => {
  const TOOLS: Anthropic.Tool[] = [{ name: 'get_weather', input_schema: SCHEMA }];
  const user = { role: 'user' as const, content: QUESTION };
  const ask = (
    create: (body: Anthropic.MessageCreateParamsNonStreaming) => Promise<Anthropic.Message>,
    messages: Anthropic.MessageParam[],
  ): Promise<Anthropic.Message> =>
    create({ model: 'gpt-5.6', max_tokens: 1000, thinking: { type: 'adaptive' }, tools: TOOLS, messages });

  for (const streams of [false, true])
    it(`has two turns with tools and thinking${streams ? ', streamed' : ''}`, async () => {
      const { messages } = anthropicClient(stack);
      const create = (body: Anthropic.MessageCreateParamsNonStreaming): Promise<Anthropic.Message> =>
        streams ? messages.stream(body).finalMessage() : messages.create(body);
      const first = await ask(create, [user]);
      const [thinking, call] = first.content;
      assert.ok(thinking?.type === 'thinking' && call?.type === 'tool_use');
      assert.deepEqual(
        [thinking.thinking, call.name, call.input],
        ['I need the weather.', 'get_weather', { city: 'Oslo' }],
      );
      assert.deepEqual([first.stop_reason, first.usage.output_tokens], ['tool_use', 30]);
      assert.deepEqual([first.usage.input_tokens, first.usage.cache_read_input_tokens], [60, 40]);
      const result = { type: 'tool_result' as const, tool_use_id: call.id, content: '-3' };
      const second = await ask(create, [
        user,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ]);
      assert.deepEqual(
        second.content.map((block) => block.type === 'text' && block.text),
        ['It is cold.'],
      );
      await assertReasoned();
      await books.check(paid(CALLED_COST), paid(ANSWERED_COST));
    });

  it('gets no thinking that it has not asked for, except before the call that needs it', async () => {
    const { messages } = anthropicClient(stack);
    const body = { model: 'gpt-5.6', max_tokens: 1000, messages: [user] };
    const silent = { ...REASONING, summary: [] };
    const typesIn = ({ content }: Anthropic.Message): readonly string[] => content.map(({ type }) => type);
    stack.openai.script((request) =>
      openaiItems([silent, CALL], CALLED, { stream: request.json()['stream'] === true }),
    );
    const called = await messages.stream({ ...body, tools: TOOLS }).finalMessage();
    assert.deepEqual(typesIn(called), ['thinking', 'tool_use']);
    stack.openai.script((request) =>
      openaiItems([silent, MESSAGE], ANSWERED, { stream: request.json()['stream'] === true }),
    );
    assert.deepEqual(typesIn(await messages.create({ ...body, tools: TOOLS })), ['text']);
    assert.deepEqual(typesIn(await messages.stream({ ...body, tools: TOOLS }).finalMessage()), ['text']);
    await books.check(paid(CALLED_COST), paid(ANSWERED_COST), paid(ANSWERED_COST));
  });

  it('has a large request converted on the worker thread', async () => {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'A'.repeat(400_000) };
    const messages = [user, { role: 'user' as const, content: [{ type: 'image' as const, source }] }];
    await ask((body) => anthropicClient(stack).messages.create(body), messages);
    assert.deepEqual(typesOf(await stack.openai.request(0)), ['message', 'message']);
    await books.check(paid(CALLED_COST));
  });

  it('gets an answer to a call of one token, which Responses do not take', async () => {
    await anthropicClient(stack).messages.create({ model: 'o3-pro', max_tokens: 1, messages: [user] });
    assert.equal((await stack.openai.request(0)).json()['max_output_tokens'], 16);
    await books.check(paid(ANSWERED_COST));
  });
});

describe('a count of tokens', () => {
  const body = { model: 'gpt-5.6', messages: [{ role: 'user' as const, content: 'hi' }] };
  const tools = [{ name: 'get_weather', input_schema: SCHEMA }];
  const counted = (): void => stack.openai.script(json({ object: 'response.input_tokens', input_tokens: 42 }));

  it('is asked of Responses where they serve the call, by clients of other dialects', async () => {
    counted();
    const { input_tokens: tokens } = await anthropicClient(stack).messages.countTokens({ ...body, tools });
    const asked = await stack.openai.request(0);
    assert.deepEqual([tokens, asked.path], [42, '/v1/responses/input_tokens']);
    assert.deepEqual(asked.json(), {
      model: 'gpt-5.6',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      tools: [{ type: 'function', name: 'get_weather', parameters: SCHEMA, strict: false }],
    });
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const tool = { functionDeclarations: [{ name: 'get_weather' }] };
    const google = { generateContentRequest: { model: 'models/gpt-5.6', contents, tools: [tool] } };
    const { status, text } = await post(stack, '/v1beta/models/gpt-5.6:countTokens', google);
    assert.deepEqual([status, text], [200, '{"totalTokens":42}']);
    assert.equal((await stack.openai.request(1)).path, '/v1/responses/input_tokens');
    await books.check(free(200), free(200));
  });
  it('is estimated where chat completions serve it', async () => {
    counted();
    const { headers } = await post(stack, '/v1/messages/count_tokens', body);
    assert.equal(headers.get('x-modelgateway-usage'), 'estimated');
    assert.equal(stack.openai.requests.length, 0);
    await books.check(free(200));
  });
});

describe('the client of OpenAI', () => {
  const TOOLS: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'get_weather', parameters: SCHEMA } },
  ];
  const user = { role: 'user' as const, content: QUESTION };
  const request = { model: 'gpt-5.6', tools: TOOLS, max_completion_tokens: 1000 };

  for (const streams of [false, true])
    it(`has two turns with tools and reasoning${streams ? ', streamed' : ''}`, async () => {
      const { completions } = openaiClient(stack).chat;
      const create = async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<OpenAI.ChatCompletion> =>
        streams
          ? completions.stream({ ...request, messages, stream_options: { include_usage: true } }).finalChatCompletion()
          : completions.create({ ...request, messages });
      const first = await create([user]);
      const message = first.choices[0]?.message;
      const [call] = message?.tool_calls ?? [];
      assert.ok(message && call?.type === 'function');
      assert.deepEqual([call.function.name, call.function.arguments], ['get_weather', '{"city":"Oslo"}']);
      assert.deepEqual([first.choices[0]?.finish_reason, first.usage?.prompt_tokens], ['tool_calls', 100]);
      assert.equal(first.usage?.completion_tokens_details?.reasoning_tokens, 20);
      const second = await create([user, message, { role: 'tool', tool_call_id: call.id, content: '-3' }]);
      assert.equal(second.choices[0]?.message.content, 'It is cold.');
      await assertReasoned();
      await books.check(paid(CALLED_COST), paid(ANSWERED_COST));
    });

  it('gets a response that is too large to be kept in memory, converted', async () => {
    const text = 'x'.repeat(9 * 1024 * 1024);
    stack.openai.script(
      openaiItems([{ ...MESSAGE, content: [{ type: 'output_text', text }] }], ANSWERED, { stream: false }),
    );
    const { choices } = await openaiClient(stack).chat.completions.create({ ...request, messages: [user] });
    assert.equal(choices[0]?.message.content, text);
    await books.check(paid(ANSWERED_COST));
  });

  it('passes through without tools, and where reasoning is off', async () => {
    const { completions } = openaiClient(stack).chat;
    await completions.create({ model: 'gpt-5.6', messages: [user] });
    await completions.create({ ...request, messages: [user], reasoning_effort: 'none', seed: 7 });
    const sent = [await stack.openai.request(0), await stack.openai.request(1)];
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/v1/chat/completions', '/v1/chat/completions'],
    );
    assert.equal(sent[1]?.json()['seed'], 7);
    await books.check(paid(35_000n), paid(35_000n));
  });
});

describe("Google's client", () => {
  for (const streams of [false, true])
    it(`has two turns with tools and thoughts${streams ? ', streamed' : ''}`, async () => {
      const { models } = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: stack.gateway.url } });
      const config = {
        tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: SCHEMA }] }],
        thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 },
      };
      const create = async (contents: Content[]): Promise<Content> => {
        const asked = { model: 'gpt-5.6', contents, config };
        if (!streams) return (await models.generateContent(asked)).candidates?.[0]?.content ?? {};
        const parts = [];
        for await (const chunk of await models.generateContentStream(asked))
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
        return { role: 'model', parts };
      };
      const user = { role: 'user', parts: [{ text: QUESTION }] };
      const first = await create([user]);
      const parts = first.parts ?? [];
      const call = parts.find(({ functionCall }) => functionCall)?.functionCall;
      assert.ok(parts.some(({ thought, text }) => thought === true && text === 'I need the weather.'));
      assert.deepEqual([call?.name, call?.args], ['get_weather', { city: 'Oslo' }]);
      const result = { id: call?.id ?? '', name: 'get_weather', response: { output: '-3' } };
      const second = await create([user, first, { role: 'user', parts: [{ functionResponse: result }] }]);
      assert.equal(second.parts?.map(({ text = '' }) => text).join(''), 'It is cold.');
      await assertReasoned();
      await books.check(paid(CALLED_COST), paid(ANSWERED_COST));
    });
});

describe('reasoning', () => {
  const tools = [{ name: 'get_weather', input_schema: SCHEMA }];
  const user = { role: 'user', content: QUESTION };
  const turn = (messages: readonly unknown[]): ReturnType<typeof post> =>
    post(stack, '/v1/messages', { model: 'gpt-5.6', max_tokens: 1000, tools, messages });
  const afterCall = (content: unknown): readonly unknown[] => [
    user,
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: CALL.call_id, content: '-3' }] },
  ];

  it('of one channel is left out on another', async () => {
    const first = await turn([user]);
    stack.openai.script(openaiError(503, 'overloaded'));
    const second = await turn(afterCall(first.json().content));
    assert.equal(second.status, 200, second.text);
    assert.deepEqual(typesOf(await stack.anthropic.request(0)), ['message', 'function_call', 'function_call_output']);
    await books.check(paid(CALLED_COST), paid(ANSWERED_COST));
  });

  it('of another channel brings the conversation to that channel', async () => {
    stack.openai.script(openaiError(503, 'overloaded'));
    const first = await turn([user]);
    stack.openai.script(openai);
    await turn(afterCall(first.json().content));
    assert.equal(stack.openai.requests.length + stack.anthropic.requests.length, 3);
    await books.check(paid(CALLED_COST), paid(ANSWERED_COST));
  });
});

describe('a channel that serves only Responses', () => {
  it('answers clients of chat completions, messages and Gemini', async () => {
    const contents = [{ role: 'user', parts: [{ text: QUESTION }] }];
    const messages = [{ role: 'user', content: QUESTION }];
    const answers = [
      await post(stack, '/v1/chat/completions', { model: 'plain-model', messages }),
      await post(stack, '/v1/messages', { model: 'plain-model', max_tokens: 100, messages }),
      await post(stack, '/v1beta/models/plain-model:generateContent', { contents }),
    ];
    for (const answer of answers) assert.match(answer.text, /It is cold\./);
    await books.check(...answers.map(() => paid(ANSWERED_COST)));
  });

  it('fails a call whose response has failed with status 200', async () => {
    const error = { code: 'server_error', message: 'Something went wrong.' };
    stack.openai.script(json({ object: 'response', status: 'failed', output: [], usage: null, error }));
    const answer = await post(stack, '/v1/messages', {
      model: 'plain-model',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hello' }],
    });
    assert.ok(answer.status >= 500, answer.text);
    await books.check({ status: answer.status });
  });
});

it('a model that Responses serve is offered as a chat model', async () => {
  const { data } = (await get(stack, '/v1/models')).json() as { data: readonly { id: string }[] };
  assert.ok(data.some(({ id }) => id === 'plain-model'));
  await books.check({ status: 200 });
});
