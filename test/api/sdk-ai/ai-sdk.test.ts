/**
 * The Vercel AI SDK with both of its providers on both kinds of model: a streamed conversation with a tool, and related
 * features.
 */
import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import {
  anthropicError,
  anthropicMessage,
  anthropicStream,
  breakAt,
  openaiChat,
  openaiError,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import { Books, CLAUDE, free, GPT, paid } from '../../support/api/sdk.ts';

let stack: TestStack;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack();
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const CLIENTS: Readonly<Record<string, (model: string) => LanguageModel>> = {
  'createOpenAI().chat': (model) => createOpenAI({ baseURL: `${stack.gateway.url}/v1`, apiKey: KEYS.main }).chat(model),
  'createAnthropic()': (model) => createAnthropic({ baseURL: `${stack.gateway.url}/v1`, apiKey: KEYS.main })(model),
};

interface Kind {
  readonly model: string;
  readonly script: (...replies: Reply[]) => void;
  readonly request: (index: number) => Promise<RecordedRequest>;
  readonly callsTool: () => Reply;
  readonly streams: (...texts: string[]) => Reply;
  readonly says: (text: string) => Reply;
  readonly overloaded: () => Reply;
  readonly breaks: () => Reply;
  /** The response after the tool's result, which the second request must contain. */
  readonly seesResult: (body: Record<string, unknown>) => unknown;
  readonly cost: bigint;
}

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
const KINDS: Readonly<Record<string, Kind>> = {
  'an OpenAI provider': {
    model: 'gpt-model',
    script: (...replies) => stack.openai.script(...replies),
    request: (index) => stack.openai.request(index),
    callsTool: () =>
      openaiStream(['Let me see.'], {
        toolCalls: [{ id: 'call_a1', name: 'get_weather', arguments: '{"city":"São Paulo"}' }],
      }),
    streams: (...texts) => openaiStream(texts),
    says: (text) => openaiChat({ content: text }),
    overloaded: () => openaiError(503),
    breaks: () =>
      breakAt(
        openaiStream(['Co', 'ld']),
        2,
        sse({ data: { error: { message: 'Overloaded', type: 'server_error', code: 'server_is_overloaded' } } }),
      ),
    seesResult: ({ messages }) =>
      (messages as Record<string, unknown>[])
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id: id, content }) => [id, content]),
    cost: GPT.input * 10n,
  },
  'an Anthropic provider': {
    model: 'claude-model',
    script: (...replies) => stack.anthropic.script(...replies),
    request: (index) => stack.anthropic.request(index),
    callsTool: () =>
      anthropicStream(['Let me see.'], {
        toolUses: [{ id: 'call_a1', name: 'get_weather', input: { city: 'São Paulo' } }],
      }),
    streams: (...texts) => anthropicStream(texts),
    says: (text) => anthropicMessage({ content: text }),
    overloaded: () => anthropicError(529, 'overloaded_error'),
    breaks: () => breakAt(anthropicStream(['Co', 'ld']), 4, sse({ event: 'error', data: OVERLOADED })),
    seesResult: ({ messages }) =>
      (messages as { content: Record<string, unknown>[] }[])
        .at(-1)
        ?.content.map(({ tool_use_id: id, content }) => [
          id,
          Array.isArray(content) ? (content as { text: string }[])[0]?.text : content,
        ]),
    cost: CLAUDE.input * 10n,
  },
};

const WEATHER = tool({
  description: 'The weather of a city.',
  inputSchema: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }),
  execute: ({ city }) => `31 degrees in ${city}`,
});

for (const [client, modelOf] of Object.entries(CLIENTS)) {
  for (const [provider, kind] of Object.entries(KINDS)) {
    describe(`${client} on ${provider}`, () => {
      const output = kind.model === 'gpt-model' ? GPT.output : CLAUDE.output;

      it('streams a conversation that uses a tool', async () => {
        kind.script(kind.callsTool(), kind.streams('Warm ', '🌞.'));
        const result = streamText({
          model: modelOf(kind.model),
          maxOutputTokens: 50,
          system: 'Be brief.',
          prompt: 'Weather?',
          tools: { get_weather: WEATHER },
          stopWhen: stepCountIs(3),
        });
        const parts = await Array.fromAsync(result.fullStream);
        assert.deepEqual(
          parts.filter(({ type }) => type === 'error'),
          [],
        );
        const calls = parts.flatMap((part) =>
          part.type === 'tool-call' ? [[part.toolCallId, part.toolName, part.input]] : [],
        );
        assert.deepEqual(calls, [['call_a1', 'get_weather', { city: 'São Paulo' }]]);
        assert.equal(
          parts.flatMap((part) => (part.type === 'text-delta' ? [part.text] : [])).join(''),
          'Let me see.Warm 🌞.',
        );
        assert.equal(await result.finishReason, 'stop');
        assert.equal((await result.steps)[0]?.finishReason, 'tool-calls');
        assert.deepEqual(kind.seesResult((await kind.request(1)).json()), [['call_a1', '31 degrees in São Paulo']]);
        const { inputTokens, outputTokens } = (await result.steps)[1]!.usage;
        assert.deepEqual([inputTokens, outputTokens], [10, 2]);
        await books.check(paid(kind.cost + 2n * output), paid(kind.cost + 2n * output));
      });

      it('gets a whole response after an image', async () => {
        kind.script(kind.says('A cat.'));
        const { text } = await generateText({
          model: modelOf(kind.model),
          maxOutputTokens: 50,
          messages: [
            {
              role: 'user',
              content: [
                {
                  type: 'text',
                  text: 'What?',
                },
                { type: 'file', mediaType: 'image/png', data: new Uint8Array([137, 80, 78, 71]) },
              ],
            },
          ],
        });
        assert.equal(text, 'A cat.');
        assert.match(JSON.stringify((await kind.request(0)).json()['messages']), /iVBORw==/);
        await books.check(paid(kind.cost + output));
      });

      it('gets output that follows a schema', async () => {
        kind.script(kind.says('{"city":"Oslo"}'));
        const { output: object } = await generateText({
          model: modelOf(kind.model),
          maxOutputTokens: 50,
          prompt: 'Which?',
          output: Output.object({
            schema: jsonSchema<{ city: string }>({
              type: 'object',
              properties: { city: { type: 'string' } },
              required: ['city'],
              additionalProperties: false,
            }),
          }),
        });
        assert.deepEqual(object, { city: 'Oslo' });
        await books.check(paid(kind.cost + output));
      });

      it('raises the errors of an overloaded provider, and of one that cuts the stream off', async () => {
        kind.script(kind.overloaded());
        await assert.rejects(
          generateText({
            model: modelOf(kind.model),
            maxOutputTokens: 50,
            prompt: 'x',
            maxRetries: 0,
          }),
          { name: 'AI_APICallError' },
        );
        kind.script(kind.breaks());
        const { fullStream } = streamText({
          model: modelOf(kind.model),
          maxOutputTokens: 50,
          prompt: 'x',
          maxRetries: 0,
          onError: () => undefined,
        });
        const parts = await Array.fromAsync(fullStream);
        assert.ok(
          parts.some(({ type }) => type === 'error'),
          JSON.stringify(parts),
        );
        const refused = kind.model === 'gpt-model' ? 502 : client.startsWith('createOpenAI') ? 503 : 529;
        // the first reported no usage: its input is estimated from the body that the client sent
        const cost = kind.model === 'gpt-model' ? await costOfLast() : kind.cost + output;
        assert.ok(cost >= output);
        await books.check(free(refused), { status: 200, costNanoUsd: cost, source: 'Partial' });
      });
    });
  }
}

/** The gateway's log line of the last call, once it has ended. */
async function costOfLast(): Promise<bigint> {
  for (;;) {
    const calls = stack.gateway.logs
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ endpoint }) => endpoint === 'chat_completions' || endpoint === 'messages');
    const last = calls.at(-1);
    if (last?.['status'] === 200) return BigInt(Math.round(Number(last['cost_usd']) * 1e9));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
