/**
 * A kind of provider that is one folder: through the whole gateway, for clients of several dialects, as
 * docs/contributing/adding-a-provider.md has it.
 */
import assert from 'node:assert/strict';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it, vi } from 'vitest';
import { startTestStack } from '../../../support/api/test-stack.ts';
import type { TestStack } from '../../../support/api/test-stack.ts';
import { anthropicClient, Books, caught, collect, free, GPT, openaiClient, paid } from '../../../support/api/sdk.ts';
import type { Reply } from '../../../support/mock-provider.ts';

// it replaces another kind, since a new name would need a change of the custom resources
vi.mock('../../../../dataplane/protocol/openai/provider.ts', async () => {
  const { parrot } = await import('./parrot/provider.ts');
  return { openai: parrot };
});

let stack: TestStack;
let books: Books;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  stack = await startTestStack();
  books = new Books(stack);
  openai = openaiClient(stack, { maxRetries: 0 });
  anthropic = anthropicClient(stack, { maxRetries: 0 });
});
afterAll(async () => {
  await stack.stop();
});
beforeEach(() => books.open());
afterEach(() => books.assertChecked());

const WHOLE: Reply = { steps: [JSON.stringify({ said: 'Hello back.', bird: 'grey', counts: { heard: 10, said: 3 } })] };
const events = (...data: object[]): Reply => ({
  headers: { 'content-type': 'text/event-stream' },
  steps: data.map((each) => `data: ${JSON.stringify(each)}\n\n`),
});
const STREAM = events({ word: 'Hello ' }, { word: 'back.' }, { counts: { heard: 10, said: 3 } });
const COST = 10n * GPT.input + 3n * GPT.output;

describe('the sample provider Parrot', () => {
  it('answers an OpenAI client', async () => {
    stack.openai.script(WHOLE, STREAM);
    const asks = {
      model: 'gpt-model',
      messages: [{ role: 'user' as const, content: 'hello' }],
      max_completion_tokens: 20,
    };
    const completion = await openai.chat.completions.create(asks);
    assert.deepEqual(
      [completion.choices[0]?.message.content, completion.model, completion.usage?.total_tokens],
      ['Hello back.', 'grey', 13],
    );
    const sent = await stack.openai.request(0);
    const { path, headers } = sent;
    assert.equal(path, '/v1/say');
    assert.deepEqual(sent.json(), {
      bird: 'gpt-model',
      lines: [{ who: 'user', what: 'hello' }],
      most: 20,
      live: false,
    });
    assert.ok(
      headers['x-parrot-key'] !== undefined &&
        headers.authorization === undefined &&
        headers['x-parrot-version'] === '1',
    );
    assert.equal(await openai.chat.completions.stream(asks).finalContent(), 'Hello back.');
    await books.check(paid(COST), paid(COST));
  });

  it('answers an Anthropic client', async () => {
    stack.openai.script(WHOLE, STREAM);
    const asks = {
      model: 'gpt-model',
      system: 'Be brief.',
      messages: [{ role: 'user' as const, content: 'hello' }],
      max_tokens: 20,
    };
    const message = await anthropic.messages.create(asks);
    assert.deepEqual(
      [message.content, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens],
      [[{ type: 'text', text: 'Hello back.' }], 'end_turn', 10, 3],
    );
    assert.deepEqual((await stack.openai.request(0)).json()['lines'], [
      { who: 'system', what: 'Be brief.' },
      { who: 'user', what: 'hello' },
    ]);
    const streamed = await anthropic.messages.stream(asks).finalMessage();
    assert.deepEqual(
      [streamed.content, streamed.usage.input_tokens, streamed.usage.output_tokens],
      [[{ type: 'text', text: 'Hello back.' }], 10, 3],
    );
    await books.check(paid(COST), paid(COST));
  });

  it("refuses by name, reports errors in the client's dialect, and is cut off as any other", async () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' as const } }];
    const asks = { model: 'gpt-model', messages: [{ role: 'user' as const, content: 'hello' }], max_tokens: 20 };
    assert.match((await caught(anthropic.messages.create({ ...asks, tools }), Error)).message, /\\"tools\[0\]\\"/);
    stack.openai.script({ status: 400, steps: ['{"message":"no seeds"}'] });
    assert.match((await caught(openai.chat.completions.create(asks), Error)).message, /no seeds/);
    stack.openai.script(events({ word: 'Hel' }, { squawk: { message: 'tired', type: 'overloaded_error' } }));
    assert.match((await caught(anthropic.messages.stream(asks).finalMessage(), Error)).message, /tired/);
    stack.openai.script(events({ word: 'Hel' }));
    await caught(collect(await openai.chat.completions.create({ ...asks, stream: true })), Error);
    const input = (body: object): bigint => BigInt(Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4) + 3);
    const cut = { ...asks, stream: true };
    await books.check(
      free(400),
      free(400),
      {
        status: 200,
        costNanoUsd: input(cut) * GPT.input + GPT.output,
        source: 'Partial',
      },
      { status: 200, costNanoUsd: input(cut) * GPT.input + GPT.output, source: 'Partial' },
    );
  });
});
