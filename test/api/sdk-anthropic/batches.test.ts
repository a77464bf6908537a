/** The official Anthropic client, unchanged: batches of messages, to their results. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveMessageBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { KEYS } from '../../support/manifests.ts';
import { anthropicClient, caught, collect } from '../../support/api/sdk.ts';
import { nothingLeaks, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { BATCH_PRICE, batchesManifest } from '../batches/batches-manifest.ts';

let stack: TestStack;
let client: Anthropic;
let provider: BatchProvider;

beforeAll(async () => {
  stack = await startTestStack({ files: (urls) => ({ 'batches.yaml': batchesManifest(urls) }) });
  client = anthropicClient(stack);
});
afterAll(() => stack.stop());
beforeEach(() => {
  provider = serveMessageBatches(stack.anthropic);
});
afterEach(() => {
  stack.anthropic.clear();
  assert.ok(nothingLeaks(stack));
});

const spent = async (): Promise<bigint> => (await spending(stack)).spent;

function create(...ids: readonly string[]): Promise<Anthropic.Messages.MessageBatch> {
  const messages = [{ role: 'user', content: 'hello' }] as const;
  return client.messages.batches.create({
    requests: ids.map((id) => ({
      custom_id: id,
      params: { model: 'claude-batch', max_tokens: 50, messages: [...messages] },
    })),
  });
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-upstream-9',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 8, output_tokens: 2 },
};

describe('a batch of messages', () => {
  it('is made, waited for, and read', async () => {
    const before = await spent();
    const batch = await create('a', 'b');
    assert.deepEqual([batch.processing_status, batch.results_url], ['in_progress', null]);
    provider.end(provider.made[0] ?? '', { status: 'completed', responses: { a: MESSAGE }, errors: { b: 500 } });
    const ended = await client.messages.batches.retrieve(batch.id);
    assert.deepEqual([ended.id, ended.processing_status, ended.request_counts.succeeded], [batch.id, 'ended', 1]);
    assert.equal((await spent()) - before, 10n * BATCH_PRICE);
    const results = await collect(await client.messages.batches.results(batch.id));
    assert.deepEqual(
      results.map(({ custom_id: id, result }) => [id, result.type]),
      [
        ['a', 'succeeded'],
        ['b', 'errored'],
      ],
    );
    assert.deepEqual(await client.messages.batches.delete(batch.id), { id: batch.id, type: 'message_batch_deleted' });
    await caught(client.messages.batches.retrieve(batch.id), Anthropic.NotFoundError);
  });
  it('is cancelled, and listed over several pages', async () => {
    const made = [await create('a'), await create('b'), await create('c')];
    for (const { id } of made) assert.equal((await client.messages.batches.cancel(id)).processing_status, 'ended');
    const batches = await collect(client.messages.batches.list({ limit: 2 }));
    assert.equal(batches.length, 3);
    assert.deepEqual(
      batches.map(({ processing_status: status }) => status),
      ['ended', 'ended', 'ended'],
    );
  });
  it('of the beta client is the same', async () => {
    const messages = [{ role: 'user', content: 'hello' }] as const;
    const params = { model: 'claude-batch', max_tokens: 50, messages: [...messages] };
    const batch = await client.beta.messages.batches.create({ requests: [{ custom_id: 'a', params }] });
    assert.equal((await client.beta.messages.batches.cancel(batch.id)).processing_status, 'ended');
  });
  it("is another account's to nobody else", async () => {
    const batch = await create('a');
    const other = anthropicClient(stack, { apiKey: KEYS.poor, maxRetries: 0 });
    await caught(other.messages.batches.retrieve(batch.id), Anthropic.NotFoundError);
    await caught(other.messages.batches.results(batch.id), Anthropic.NotFoundError);
    await client.messages.batches.cancel(batch.id);
  });
});
