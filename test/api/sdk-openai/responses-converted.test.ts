/** The official OpenAI client, unchanged: Responses of models whose provider does not serve them. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { makeParseableTextFormat } from 'openai/lib/parser';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { CUT } from '../../support/mock-provider.ts';
import type { Reply } from '../../support/mock-provider.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  openaiChat,
  openaiStream,
} from '../../support/provider-answers.ts';
import { Books, caught, CLAUDE, GPT, openaiClient, paid } from '../../support/api/sdk.ts';
import { startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const TOOL = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather.',
  parameters: SCHEMA,
  strict: true,
};
const CALL = { id: 'call_one', name: 'get_weather', arguments: '{"city":"Oslo"}' };

let stack: TestStack;
let client: OpenAI;
let books: Books;

beforeAll(async () => {
  stack = await startTestStack({ files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls) }) });
  client = openaiClient(stack);
  books = new Books(stack);
});
afterAll(() => stack.stop());
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

interface Provider {
  readonly model: string;
  /** Of a call with ten tokens of input and one of output. */
  readonly cost: bigint;
  script(...replies: readonly Reply[]): void;
  readonly whole: (content: string) => Reply;
  readonly stream: (...pieces: readonly string[]) => Reply;
  readonly calls: (kind: 'whole' | 'stream') => Reply;
}

const PROVIDERS: Record<string, Provider> = {
  'chat completions': {
    model: 'chat-model',
    cost: 10n * GPT.input + GPT.output,
    script: (...replies) => stack.openai.script(...replies),
    whole: (content) => openaiChat({ content }),
    stream: (...pieces) => openaiStream(pieces, { usage: { prompt_tokens: 10, completion_tokens: 1 } }),
    calls: (kind) =>
      kind === 'whole'
        ? openaiChat({ toolCalls: [CALL], usage: { prompt_tokens: 10, completion_tokens: 1 } })
        : openaiStream([], { toolCalls: [CALL], usage: { prompt_tokens: 10, completion_tokens: 1 } }),
  },
  messages: {
    model: 'claude-model',
    cost: 10n * CLAUDE.input + CLAUDE.output,
    script: (...replies) => stack.anthropic.script(...replies),
    whole: (content) => anthropicMessage({ content }),
    stream: (...pieces) => anthropicStream(pieces, { usage: { input_tokens: 10, output_tokens: 1 } }),
    calls: (kind) => {
      const use = [{ id: CALL.id, name: CALL.name, input: { city: 'Oslo' } }];
      const usage = { input_tokens: 10, output_tokens: 1 };
      const options = { toolUses: use, usage };
      return kind === 'whole' ? anthropicMessage(options) : anthropicStream([], options);
    },
  },
};

for (const [name, provider] of Object.entries(PROVIDERS)) {
  describe(`on a provider of ${name}`, () => {
    const { model, cost } = provider;

    it('serves create()', async () => {
      provider.script(provider.whole('Hello.'));
      const response = await client.responses.create({ model, input: 'hello', instructions: 'Be brief.' });
      assert.deepEqual(
        [response.output_text, response.status, response.instructions],
        ['Hello.', 'completed', 'Be brief.'],
      );
      await books.check(paid(cost));
    });
    it('serves stream(), as events and as one response', async () => {
      provider.script(provider.stream('Hel', 'lo.'));
      const stream = client.responses.stream({ model, input: 'hello' });
      const deltas: string[] = [];
      stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
      const response = await stream.finalResponse();
      assert.deepEqual([deltas, response.output_text, response.usage?.total_tokens], [['Hel', 'lo.'], 'Hello.', 11]);
      await books.check(paid(cost));
    });
    it('serves parse(), also for a stream', async () => {
      const format = makeParseableTextFormat(
        {
          type: 'json_schema',
          name: 'city',
          strict: true,
          schema: SCHEMA,
        },
        (text) => JSON.parse(text) as { city: string },
      );
      provider.script(provider.whole('{"city":"Oslo"}'), provider.stream('{"city":', '"Oslo"}'));
      const parsed = await client.responses.parse({ model, input: 'a city', text: { format } });
      assert.deepEqual(parsed.output_parsed, { city: 'Oslo' });
      const streamed = await client.responses.stream({ model, input: 'a city', text: { format } }).finalResponse();
      assert.deepEqual(streamed.output_parsed, { city: 'Oslo' });
      await books.check(paid(cost), paid(cost));
    });
    it('serves tools, called within a stream, and their results', async () => {
      provider.script(provider.calls('stream'), provider.whole('Cold.'));
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather?' }];
      const first = await client.responses.stream({ model, input, tools: [TOOL] }).finalResponse();
      const [call] = first.output;
      assert.ok(call?.type === 'function_call');
      assert.deepEqual([call.call_id, call.name, call.parsed_arguments], ['call_one', 'get_weather', { city: 'Oslo' }]);
      input.push(call, { type: 'function_call_output', call_id: call.call_id, output: '-3' });
      const second = await client.responses.create({ model, input, tools: [TOOL] });
      assert.equal(second.output_text, 'Cold.');
      await books.check(paid(cost), paid(cost));
    });
  });
}

it('fails a stream that is cut off, with its output so far', async () => {
  stack.openai.script(breakAt(openaiStream(['four', 'four']), 3, CUT));
  const response = await client.responses.stream({ model: 'chat-model', input: 'hello' }).finalResponse();
  assert.deepEqual([response.status, response.error?.code], ['failed', 'server_error']);
  const body = JSON.stringify({ model: 'chat-model', input: 'hello', stream: true });
  const input = BigInt(Math.ceil(Buffer.byteLength(body) / 4) + 3);
  await books.check({ status: 200, costNanoUsd: input * GPT.input + 2n * GPT.output, source: 'Partial' });
});
it('refuses an earlier response, and says what to do instead', async () => {
  const error = await caught(
    client.responses.create({
      model: 'chat-model',
      input: 'hello',
      previous_response_id: 'resp_1',
    }),
    OpenAI.BadRequestError,
  );
  assert.deepEqual([error.code, error.param], ['unsupported_parameter', 'previous_response_id']);
  assert.match(error.message, /whole conversation/);
  await books.check({ status: 400, costNanoUsd: 0n });
});
