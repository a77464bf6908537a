/** Batches outlive the gateway that made them, with either ledger. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { serveBatches, serveMessageBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { KEYS, keysManifest, platformManifest } from '../../support/manifests.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import { createHome, eventually } from '../../support/api/process.ts';
import type { GatewayHome } from '../../support/api/process.ts';
import type { Json } from '../../support/api/test-stack.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import { BATCH_PRICE, batchesManifest } from './batches-manifest.ts';

const AUTHORIZATION = { authorization: `Bearer ${KEYS.main}` };
const USAGE = { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 };
const COMPLETION = { object: 'chat.completion', choices: [], usage: USAGE };
const MESSAGE = { type: 'message', content: [], usage: { input_tokens: 5, output_tokens: 1 } };

interface World {
  readonly home: GatewayHome;
  readonly openai: BatchProvider;
  readonly anthropic: BatchProvider;
}

async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  const [openai, anthropic] = await Promise.all([startMockProvider(), startMockProvider()]);
  const urls = { openaiUrl: openai.url, anthropicUrl: anthropic.url };
  const home = await createHome({
    'keys.yaml': keysManifest(),
    'platform.yaml': platformManifest(urls),
    'batches.yaml': batchesManifest(urls),
  });
  try {
    await use({ home, openai: serveBatches(openai), anthropic: serveMessageBatches(anthropic) });
  } finally {
    await home.remove();
    await Promise.all([openai.stop(), anthropic.stop()]);
  }
}

async function call(url: string, method: string, path: string, body?: unknown): Promise<Json> {
  const isForm = body instanceof FormData;
  const response = await fetch(url + path, {
    method,
    headers: { ...AUTHORIZATION, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  const answer: Json = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return { ...answer, callId: response.headers.get('x-request-id') };
}

async function makeBatch(url: string): Promise<Json> {
  const body = { model: 'batch-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 };
  const form = new FormData();
  form.set('purpose', 'batch');
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
  form.set('file', new Blob([line]), 'requests.jsonl');
  const { id } = await call(url, 'POST', '/v1/files', form);
  const created = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  return call(url, 'POST', '/v1/batches', created);
}

function makeMessages(url: string): Promise<Json> {
  const params = { model: 'claude-batch', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
  return call(url, 'POST', '/v1/messages/batches', { requests: [{ custom_id: 'a', params }] });
}

const spentUsd = async (url: string): Promise<number> => Number((await call(url, 'GET', '/v1/key')).spent_usd);

/** Makes batches, kills the gateway, ends them, and expects the next gateway to bill them exactly. */
async function surviveRestart({ home, openai, anthropic }: World, ...flags: readonly string[]): Promise<void> {
  const first = await home.start(...flags);
  const batch = await makeBatch(first.url);
  const messages = await makeMessages(first.url);
  const polled = await makeBatch(first.url);
  await first.kill();
  for (const id of openai.made) openai.end(id, { status: 'completed', responses: { a: COMPLETION } });
  anthropic.end(anthropic.made[0] ?? '', { status: 'expired', responses: { a: MESSAGE } });

  const second = await home.start(...flags);
  assert.equal((await call(second.url, 'GET', `/v1/batches/${batch.id}`)).status, 'completed');
  assert.equal((await call(second.url, 'GET', `/v1/messages/batches/${messages.id}`)).processing_status, 'ended');
  await eventually('the batch that nobody asks for is billed', async () => {
    const { status } = await call(second.url, 'GET', `/v1/usage/${polled.callId}`);
    return status === 'Succeeded';
  });
  const usage = await call(second.url, 'GET', `/v1/usage/${batch.callId}`);
  assert.deepEqual([usage.status, usage.input_tokens, usage.output_tokens], ['Succeeded', 40, 9]);
  const cost = 2n * 49n * BATCH_PRICE + 6n * BATCH_PRICE;
  assert.equal(BigInt(Math.round((await spentUsd(second.url)) * 1e9)), cost);
  await second.kill();
}

describe('a batch', () => {
  it('is billed after its gateway was killed', () => withWorld((world) => surviveRestart(world)));
  it.skipIf(valkey.skip)('is billed after its gateway was killed, with the ledger on Valkey', async () => {
    await using server = await startValkey({ settings: [['appendonly', 'yes']] });
    await withWorld((world) => surviveRestart(world, '--ledger', server.url));
  });
});
