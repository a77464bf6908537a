/** The official OpenAI client, unchanged: files and batches, to their results. */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { KEYS } from '../../support/manifests.ts';
import { openaiChat } from '../../support/provider-answers.ts';
import { caught, collect, openaiClient } from '../../support/api/sdk.ts';
import { nothingLeaks, spending, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { BATCH_PRICE, batchesManifest } from '../batches/batches-manifest.ts';

let stack: TestStack;
let client: OpenAI;
let provider: BatchProvider;

beforeAll(async () => {
  stack = await startTestStack({ files: (urls) => ({ 'batches.yaml': batchesManifest(urls) }) });
  client = openaiClient(stack);
});
afterAll(() => stack.stop());
beforeEach(() => {
  provider = serveBatches(stack.openai);
});
afterEach(() => {
  stack.openai.clear();
  assert.ok(nothingLeaks(stack));
});

const spent = async (): Promise<bigint> => (await spending(stack)).spent;

function lines(...ids: readonly string[]): string {
  const body = { model: 'batch-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 };
  return ids
    .map((id) => JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body }))
    .join('\n');
}

async function upload(...ids: readonly string[]): Promise<OpenAI.FileObject> {
  const file = await toFile(Buffer.from(lines(...ids)), 'requests.jsonl');
  return client.files.create({ file, purpose: 'batch', expires_after: { anchor: 'created_at', seconds: 86_400 } });
}

function create(file: OpenAI.FileObject): Promise<OpenAI.Batch> {
  const { id: input_file_id } = file;
  return client.batches.create({ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' });
}

const RESPONSE = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 },
};

describe('a batch', () => {
  it('is made of a file, waited for, and read', async () => {
    const before = await spent();
    const file = await upload('a', 'b');
    assert.deepEqual([file.filename, file.status], ['requests.jsonl', 'processed']);
    assert.equal((await client.files.retrieve(file.id)).id, file.id);
    const batch = await create(file);
    assert.deepEqual([batch.status, batch.input_file_id], ['in_progress', file.id]);
    provider.end(provider.made[0] ?? '', { status: 'completed', responses: { a: RESPONSE, b: RESPONSE } });
    const ended = await client.batches.retrieve(batch.id);
    assert.deepEqual([ended.id, ended.status, ended.request_counts?.completed], [batch.id, 'completed', 2]);
    assert.equal((await spent()) - before, 20n * BATCH_PRICE);
    const content = await (await client.files.content(ended.output_file_id ?? '')).text();
    assert.deepEqual(
      content
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).response.body.choices[0].message.content),
      ['hi', 'hi'],
    );
    assert.equal((await client.files.delete(file.id)).deleted, true);
    await caught(client.files.retrieve(file.id), OpenAI.NotFoundError);
  });
  it('is cancelled', async () => {
    const batch = await create(await upload('a'));
    assert.equal((await client.batches.cancel(batch.id)).status, 'cancelled');
  });
  it('is listed with others, over several pages', async () => {
    for (const id of ['a', 'b', 'c']) await create(await upload(id));
    const batches = await collect(client.batches.list({ limit: 2 }));
    assert.equal(new Set(batches.map(({ id }) => id)).size, 3);
    const files = await collect(client.files.list({ purpose: 'batch', limit: 2 }));
    assert.deepEqual(
      files.map(({ filename }) => filename),
      ['requests.jsonl', 'requests.jsonl', 'requests.jsonl'],
    );
    for (const { id } of batches) await client.batches.cancel(id);
  });
  it("is another account's to nobody else", async () => {
    const batch = await create(await upload('a'));
    const other = openaiClient(stack, { apiKey: KEYS.poor, maxRetries: 0 });
    await caught(other.batches.retrieve(batch.id), OpenAI.NotFoundError);
    await caught(other.files.content(batch.input_file_id), OpenAI.NotFoundError);
    await client.batches.cancel(batch.id);
  });
  it('of what cannot be checked is a bad request with its line', async () => {
    const file = await toFile(Buffer.from(`${lines('a')}\n{}`), 'requests.jsonl');
    const error = await caught(client.files.create({ file, purpose: 'batch' }), OpenAI.BadRequestError);
    assert.match(error.message, /In line 2 of the batch/);
  });
});

it('a call beside batches is served by the same channel', async () => {
  stack.openai.script(openaiChat({ content: 'hello' }));
  const answer = await client.chat.completions.create({
    model: 'batch-model',
    messages: [{ role: 'user', content: 'hi' }],
  });
  assert.equal(answer.choices[0]?.message.content, 'hello');
});
