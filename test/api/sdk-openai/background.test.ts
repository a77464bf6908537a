/** The official OpenAI client, unchanged: responses in the background, fetched, cancelled and read on as a stream. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveBackground } from '../../support/background-provider.ts';
import type { BackgroundResponses } from '../../support/background-provider.ts';
import { CUT } from '../../support/mock-provider.ts';
import { caught, openaiClient } from '../../support/api/sdk.ts';
import { nothingLeaks, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';

/** Nano-USD per token of renamed-model, in and out. */
const PRICE = 2_000n;
const ASKED = { model: 'renamed-model', input: 'hello', background: true, max_output_tokens: 500 } as const;
const USAGE = { input_tokens: 40, output_tokens: 9 } as const;

let stack: TestStack;
let client: OpenAI;
let provider: BackgroundResponses;

beforeAll(async () => {
  stack = await startTestStack();
  client = openaiClient(stack);
});
afterAll(() => stack.stop());
beforeEach(() => {
  provider = serveBackground(stack.openai);
});
afterEach(() => {
  stack.openai.clear();
  assert.ok(nothingLeaks(stack));
});

const ownId = (): string => provider.made.at(-1) ?? '';
const spent = async (): Promise<bigint> => (await spending(stack)).spent;

describe('a background response', () => {
  it('is created, fetched while it runs, and fetched when it is done', async () => {
    const before = await spent();
    const { id, status } = await client.responses.create(ASKED);
    assert.equal(status, 'queued');
    assert.equal((await client.responses.retrieve(id)).status, 'in_progress');
    provider.end(ownId(), { status: 'completed', text: 'hi', usage: USAGE });
    const done = await client.responses.retrieve(id);
    assert.deepEqual([done.id, done.status, done.output_text], [id, 'completed', 'hi']);
    assert.equal((await spent()) - before, 49n * PRICE);
    await client.responses.delete(id);
    await caught(client.responses.retrieve(id), OpenAI.NotFoundError);
  });
  it('is cancelled', async () => {
    const before = await spent();
    const { id } = await client.responses.create(ASKED);
    provider.cancelsAs = { status: 'cancelled', usage: { input_tokens: 40, output_tokens: 1 } };
    assert.equal((await client.responses.cancel(id)).status, 'cancelled');
    assert.equal((await spent()) - before, 41n * PRICE);
  });
  it('is read on after its stream broke off', async () => {
    const before = await spent();
    provider.streamsAs = CUT;
    const types: string[] = [];
    let id = '';
    await assert.rejects(async () => {
      for await (const event of await client.responses.create({ ...ASKED, stream: true })) {
        types.push(event.type);
        if (event.type === 'response.created') ({ id } = event.response);
      }
    });
    assert.deepEqual(types, ['response.created', 'response.in_progress', 'response.output_text.delta']);
    provider.end(ownId(), { status: 'completed', text: 'hi', usage: USAGE });
    const rest = await Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after: 2 }));
    const last = rest.at(-1);
    assert.ok(last?.type === 'response.completed');
    assert.equal(last.response.id, id);
    assert.equal((await spent()) - before, 49n * PRICE);
  });
});
