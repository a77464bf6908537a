/** The official clients read the same answer from every complete recording, whichever protocol its provider uses. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { test } from 'vitest';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { openStream, recording, recordings, replay } from './replay.ts';

/** A fetch that responds with this stream. */
function answering(client: ChatDialect, name: string): typeof fetch {
  const { upstream, bytes } = recording(name);
  const { sent, last } = replay(openStream(client, upstream, { wantsStreamUsage: true }), [bytes]);
  return () => Promise.resolve(new Response(sent + last, { headers: { 'content-type': 'text/event-stream' } }));
}

function readMessage(name: string): Promise<Anthropic.Message> {
  const client = new Anthropic({ apiKey: 'sk-test', maxRetries: 0, fetch: answering('Anthropic', name) });
  return client.messages
    .stream({
      model: 'm',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
    })
    .finalMessage();
}

function readCompletion(name: string): Promise<OpenAI.ChatCompletion> {
  const client = new OpenAI({ apiKey: 'sk-test', maxRetries: 0, fetch: answering('OpenAI', name) });
  return client.chat.completions
    .stream({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
    })
    .finalChatCompletion();
}

function readResponse(name: string): Promise<OpenAI.Responses.Response> {
  const client = new OpenAI({ apiKey: 'sk-test', maxRetries: 0, fetch: answering('Responses', name) });
  return client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
}

const complete = recordings()
  .map(({ name }) => name)
  .filter((name) => !/cut|error|overloaded|trouble/.test(name));

for (const name of complete) {
  test(`${name} is a message to Anthropic's client`, async () => {
    const message = await readMessage(name);
    assert.equal(message.role, 'assistant');
    assert.notEqual(message.stop_reason, null);
    assert.ok(message.usage.input_tokens > 0);
  });
}

for (const name of complete.filter((candidate) => !/server-tool/.test(candidate))) {
  test(`${name} is a completion to OpenAI's client`, async () => {
    const completion = await readCompletion(name);
    assert.equal(completion.choices[0]?.message.role, 'assistant');
    assert.notEqual(completion.choices[0]?.finish_reason, null);
  });
}

// a response has a refusal's explanation as a part; a message has it beside its content
for (const name of complete.filter((candidate) => !/server-tool|refusal-explained/.test(candidate))) {
  test(`${name} is a response to OpenAI's client, and equals the message`, async () => {
    const [response, message] = await Promise.all([readResponse(name), readMessage(name)]);
    const texts = response.output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .map((part) => (part.type === 'refusal' ? part.refusal : part.text));
    const calls = response.output.filter((item) => item.type === 'function_call');
    assert.equal(texts.join(''), message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''));
    assert.deepEqual(
      calls.map((call) => [call.name, JSON.parse(call.arguments)]),
      message.content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : [])),
    );
    const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = message.usage;
    assert.deepEqual(
      [response.usage?.input_tokens, response.usage?.output_tokens],
      [input + (read ?? 0) + (written ?? 0), message.usage.output_tokens],
    );
  });
}

test('parallel and interleaved tool calls arrive whole', async () => {
  const calls = async (name: string): Promise<unknown[]> =>
    (await readMessage(name)).content
      .filter((block) => block.type === 'tool_use')
      .map(({ name, input }) => [name, input]);
  assert.deepEqual(await calls('openai/parallel-tools'), [
    ['get_weather', { city: 'Paris' }],
    ['get_weather', { city: 'Oslo' }],
  ]);
  assert.deepEqual(await calls('openai/interleaved-tools'), [
    ['lookup', { id: Number('12345678901234567890') }],
    ['lookup', { id: 2 }],
  ]);
  assert.deepEqual(await calls('gemini/calls-all-index-0'), [
    ['add', { a: 1, b: 2 }],
    ['mul', { a: 3, b: 4 }],
  ]);
  const completion = await readCompletion('anthropic/tools');
  assert.deepEqual(
    completion.choices[0]?.message.tool_calls?.map(
      (call) => call.type === 'function' && [call.id, call.function.name, call.function.arguments],
    ),
    [
      ['toolu_01T', 'get_weather', '{"location": "San Francisco, CA", "id": 12345678901234567890}'],
      ['toolu_02T', 'get_time', '{}'],
    ],
  );
  assert.equal(completion.choices[0]?.finish_reason, 'tool_calls');
});

test('texts and usage arrive whole', async () => {
  const message = await readMessage('openai/text');
  assert.deepEqual(message.content, [{ type: 'text', text: 'Grüße aus 東京 🗼.' }]);
  assert.deepEqual(
    [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
    [176, 1024, 9],
  );
  const completion = await readCompletion('anthropic/cache');
  assert.equal(completion.choices[0]?.message.content, 'Cached.');
  assert.deepEqual(
    [
      completion.usage?.prompt_tokens,
      completion.usage?.prompt_tokens_details?.cached_tokens,
      completion.usage?.completion_tokens,
    ],
    [25000, 20000, 500],
  );
});

test("a provider's error within a stream has the client's own error class", async () => {
  await assert.rejects(readMessage('openai/error-midway'), Anthropic.APIError);
  await assert.rejects(readMessage('anthropic/overloaded'), /Overloaded/);
  await assert.rejects(readCompletion('anthropic/overloaded'), OpenAI.APIError);
});
