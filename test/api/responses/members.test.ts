/**
 * Each response that the gateway writes itself, whole or in the events of a stream, has every member that the Open
 * Responses specification requires, whichever protocol its provider speaks.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { AWS_SECRET, cloudRoute, secret } from '../../support/api/clouds.ts';
import { post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { converseAnswer } from '../../support/converse-answers.ts';
import { geminiAnswer } from '../../support/gemini-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider, Reply } from '../../support/mock-provider.ts';
import { anthropicMessage, anthropicStream, openaiChat, openaiStream } from '../../support/provider-answers.ts';

let world: TestStack;
let bedrock: MockProvider;
let gemini: MockProvider;
beforeAll(async () => {
  [bedrock, gemini] = await Promise.all([startMockProvider(), startMockProvider()]);
  const manifests = [
    secret('aws', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: AWS_SECRET }),
    cloudRoute('nova', {
      upstream: 'eu.amazon.nova-pro-v1:0',
      protocol: 'BedrockConverse',
      lines: `
    baseUrl: ${bedrock.url}
    auth: {type: AwsSigV4, secretRef: {name: aws}, aws: {region: eu-west-1}}`,
    }),
    cloudRoute('flash', { upstream: 'gemini-2.5-flash', protocol: 'Gemini', lines: `baseUrl: ${gemini.url}` }),
  ];
  world = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls), 'clouds.yaml': manifests.join('') }),
  });
});
afterAll(async () => {
  await world.stop();
  await Promise.all([bedrock.stop(), gemini.stop()]);
});
afterEach(() => tidyUp(world));

const STARTED_SECONDS = Math.floor(Date.now() / 1000);
const USAGE = { input: 10, output: 2 };
const CALL = { id: 'call_one', name: 'get_weather', arguments: '{}' };
const TOOL = { type: 'function', name: 'get_weather' };

type Form = 'text' | 'call';

/** One model of each protocol, and how its provider responds. */
const PROVIDERS: Record<string, (form: Form, stream: boolean) => void> = {
  'chat-model': (form, stream) => {
    const calls = form === 'call' ? { toolCalls: [CALL] } : {};
    world.openai.script(
      stream ? openaiStream(form === 'call' ? [] : ['Hel', 'lo.'], calls) : openaiChat({ content: 'Hello.', ...calls }),
    );
  },
  'claude-model': (form, stream) => {
    const calls = form === 'call' ? { toolUses: [{ id: CALL.id, name: CALL.name, input: {} }] } : {};
    world.anthropic.script(
      stream ? anthropicStream(form === 'call' ? [] : ['Hel', 'lo.'], calls) : anthropicMessage(calls),
    );
  },
  flash: (form, stream) => {
    const call = form === 'call' ? { name: CALL.name, args: {} } : undefined;
    const pieces = call ? [] : ['Hel', 'lo.'];
    gemini.script(geminiAnswer({ model: 'gemini-2.5-flash', pieces, call, usage: USAGE }, { stream }));
  },
  nova: (form, stream): void => {
    const call = form === 'call' ? { id: CALL.id, name: CALL.name, input: {} } : undefined;
    const answer: Reply = converseAnswer({ pieces: call ? [] : ['Hel', 'lo.'], call, usage: USAGE }, { stream });
    bedrock.script(answer);
  },
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isInteger = (value: unknown): boolean => Number.isInteger(value);
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const orNull =
  (check: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || check(value);

/** The members that are required, and what each of them is. */
const MEMBERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: isText,
  object: (value) => value === 'response',
  created_at: isInteger,
  completed_at: orNull(isInteger),
  status: isText,
  incomplete_details: orNull(isObject),
  model: isText,
  previous_response_id: orNull(isText),
  instructions: orNull(isText),
  output: Array.isArray,
  error: orNull(isObject),
  tools: Array.isArray,
  tool_choice: (value) => isText(value) || isObject(value),
  truncation: isText,
  parallel_tool_calls: isFlag,
  text: isObject,
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: isInteger,
  temperature: isNumber,
  reasoning: orNull(isObject),
  usage: orNull(isObject),
  max_output_tokens: orNull(isInteger),
  max_tool_calls: orNull(isInteger),
  store: isFlag,
  background: isFlag,
  service_tier: isText,
  metadata: isObject,
  safety_identifier: orNull(isText),
  prompt_cache_key: orNull(isText),
};

function assertWhole(response: Json): void {
  const wrong = Object.entries(MEMBERS).filter(([name, check]) => !check(response[name]));
  assert.deepEqual(
    wrong.map(([name]) => `${name}: ${response[name]}`),
    [],
  );
  for (const tool of response.tools)
    assert.deepEqual([tool.strict, tool.description, tool.parameters], [null, null, null], 'each member of a function');
  const isComplete = response.status === 'completed';
  assert.equal(response.completed_at !== null, isComplete, 'the time of its completion');
  assert.equal(response.usage !== null, isComplete);
}

/** The responses that the events of a stream hold: the first two events, and the last one. */
function responsesIn(text: string): Json[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .flatMap((line) => JSON.parse(line.slice('data: '.length)).response ?? []);
}

for (const [model, script] of Object.entries(PROVIDERS))
  describe(`a response of ${model}`, () => {
    it.each(['text', 'call'] as const)('has every member: %s', async (form) => {
      const request = { model, input: 'hello', ...(form === 'call' && { tools: [TOOL] }) };
      script(form, false);
      const whole = await post(world, '/v1/responses', request);
      assert.equal(whole.status, 200, whole.text);
      assertWhole(whole.json());
      assert.equal(whole.json().service_tier, 'default');
      assert.ok(whole.json().completed_at >= STARTED_SECONDS);
      script(form, true);
      const streamed = await post(world, '/v1/responses', { ...request, stream: true });
      const responses = responsesIn(streamed.text);
      assert.deepEqual(
        responses.map(({ status, service_tier: tier }) => [status, tier]),
        [
          ['in_progress', 'auto'],
          ['in_progress', 'auto'],
          ['completed', 'default'],
        ],
      );
      responses.forEach(assertWhole);
    });
    it('repeats what was asked', async () => {
      script('text', false);
      const asked = {
        prompt_cache_key: 'thread',
        safety_identifier: 'someone',
        presence_penalty: 0,
        frequency_penalty: 0,
        metadata: { a: 'b' },
      };
      const answer = await post(world, '/v1/responses', { model, input: 'hello', ...asked });
      assert.equal(answer.status, 200, answer.text);
      const names = Object.keys(asked);
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, answer.json()[name]])), asked);
    });
  });
