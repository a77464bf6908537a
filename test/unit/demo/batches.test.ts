/** The demo provider's files and batches, by the official SDKs. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { startDemoProvider } from '../../../demo/provider.ts';
import type { DemoProvider } from '../../../demo/provider.ts';

const [quick, slow] = [1, 60_000];
const providers = new Map<number, DemoProvider>();
beforeAll(async () => {
  for (const videoMs of [quick, slow])
    providers.set(videoMs, await startDemoProvider({ host: '127.0.0.1', port: 0, videoMs }));
});
afterAll(() => Promise.all([...providers.values()].map((provider) => provider.stop())));

const openai = (takesMs: number): OpenAI =>
  new OpenAI({ apiKey: 'x', baseURL: `${providers.get(takesMs)?.url}/v1`, maxRetries: 0 });
const anthropic = (takesMs: number): Anthropic =>
  new Anthropic({ apiKey: 'x', baseURL: providers.get(takesMs)?.url, maxRetries: 0 });

async function makeBatch(client: OpenAI, prompts: readonly string[]): Promise<OpenAI.Batch> {
  const lines = prompts.map((content, index) => {
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    return JSON.stringify({ custom_id: String(index), method: 'POST', url: '/v1/chat/completions', body });
  });
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'a.jsonl'),
    purpose: 'batch',
  });
  const created = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  return client.batches.create(created);
}

async function ended<T>(ask: () => Promise<T>, isEnded: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask();
    if (isEnded(value)) return value;
  }
}

describe('a batch of OpenAI', () => {
  it('has the responses that its requests would have alone', async () => {
    const client = openai(quick);
    const { id } = await makeBatch(client, ['hello', 'fail 500']);
    const { output_file_id: output, request_counts: counts } = await ended(
      () => client.batches.retrieve(id),
      ({ status }) => status === 'completed',
    );
    assert.deepEqual(counts, { total: 2, completed: 1, failed: 1 });
    const [line = ''] = (await (await client.files.content(output ?? '')).text()).split('\n');
    const alone = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });
    const { custom_id: custom, response } = JSON.parse(line);
    assert.deepEqual([custom, response.body.choices[0].message.content], ['0', alone.choices[0]?.message.content]);
    assert.ok((await client.files.list()).data.length >= 2);
    assert.equal((await client.batches.list({ limit: 1 })).data.length, 1);
    await client.files.delete(output ?? '');
    await assert.rejects(async () => client.files.retrieve(output ?? ''), OpenAI.NotFoundError);
  });
  it('is cancelled while it runs', async () => {
    const client = openai(slow);
    const { id, status } = await makeBatch(client, ['hello']);
    assert.equal(status, 'in_progress');
    assert.equal((await client.batches.cancel(id)).status, 'cancelled');
  });
  it('of no file is refused', async () => {
    const created = { input_file_id: 'none', endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
    await assert.rejects(async () => openai(quick).batches.create(created), OpenAI.BadRequestError);
  });
});

describe('a batch of Anthropic', () => {
  const requests = ['hello', 'fail 500'].map((content, index) => ({
    custom_id: String(index),
    params: { model: 'm', max_tokens: 100, messages: [{ role: 'user' as const, content }] },
  }));
  it('has results', async () => {
    const client = anthropic(quick);
    const { id } = await client.messages.batches.create({ requests });
    const { request_counts: counts } = await ended(
      () => client.messages.batches.retrieve(id),
      ({ processing_status: status }) => status === 'ended',
    );
    assert.deepEqual([counts.succeeded, counts.errored], [1, 1]);
    const types: string[] = [];
    for await (const { result } of await client.messages.batches.results(id)) types.push(result.type);
    assert.deepEqual(types, ['succeeded', 'errored']);
    assert.ok((await client.messages.batches.list()).data.length > 0);
    assert.equal((await client.messages.batches.delete(id)).type, 'message_batch_deleted');
  });
  it('is cancelled while it runs', async () => {
    const client = anthropic(slow);
    const { id } = await client.messages.batches.create({ requests });
    await client.messages.batches.cancel(id);
    const types: string[] = [];
    for await (const { result } of await client.messages.batches.results(id)) types.push(result.type);
    assert.deepEqual(types, ['canceled', 'canceled']);
  });
});
