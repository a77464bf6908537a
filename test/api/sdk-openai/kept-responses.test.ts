/**
 * The official OpenAI client, unchanged: conversations, and responses of Anthropic's provider, that the gateway keeps,
 * over restarts of `mgw run`, in a file and in Valkey.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createScene, keyOf } from '../../support/api/scene.ts';
import type { Scene } from '../../support/api/scene.ts';
import type { GatewayProcess } from '../../support/api/process.ts';
import { caught } from '../../support/api/sdk.ts';
import { anthropicMessage, anthropicStream } from '../../support/provider-answers.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';

const MODEL = 'claude-model';
const SECRET = 'My name is Ada Lovelace.';

let scene: Scene;
let server: ValkeyServer | undefined;
beforeAll(async () => {
  scene = await createScene({ keys: [{ name: 'one' }, { name: 'two' }], creditUsd: '100' });
  server = valkey.skip ? undefined : await startValkey();
  await server?.start();
});
afterAll(async () => {
  await scene.remove();
  await server?.[Symbol.asyncDispose]();
});

function clientOf({ url }: GatewayProcess, key = keyOf('one')): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: `${url}/v1`, organization: null, project: null, maxRetries: 0 });
}

/** How many turns the provider got in its latest request. */
function turnsSent(): number {
  const body = scene.provider.requests.at(-1)?.json()['messages'];
  return Array.isArray(body) ? body.length : 0;
}

async function continues(...flags: readonly string[]): Promise<GatewayProcess> {
  const keeping = ['--store-responses-days', '30', ...flags];
  const first = await scene.home.start(...keeping);
  scene.provider.script(anthropicMessage({ content: 'Hello, Ada.' }));
  const made = await clientOf(first).responses.create({ model: MODEL, input: SECRET });
  assert.equal(made.output_text, 'Hello, Ada.');
  await first.terminate();

  const second = await scene.home.start(...keeping);
  const client = clientOf(second);
  scene.provider.script(anthropicStream(['Ada', '.']), anthropicMessage({ content: 'Lovelace.' }));
  const next = await client.responses
    .stream({ model: MODEL, input: 'What is my name?', previous_response_id: made.id })
    .finalResponse();
  assert.deepEqual([next.output_text, next.previous_response_id, turnsSent()], ['Ada.', made.id, 3]);
  const last = await client.responses.create({ model: MODEL, input: 'And then?', previous_response_id: next.id });
  assert.deepEqual([last.output_text, turnsSent()], ['Lovelace.', 5]);
  // whichever key of the account asks
  const another = clientOf(second, keyOf('two'));
  assert.equal((await another.responses.retrieve(last.id)).output_text, 'Lovelace.');
  const texts: string[] = [];
  for await (const item of another.responses.inputItems.list(last.id, { order: 'asc', limit: 2 }))
    if (item.type === 'message') texts.push(item.content.map((part) => ('text' in part ? part.text : '')).join(''));
  assert.deepEqual(texts, [SECRET, 'Hello, Ada.', 'What is my name?', 'Ada.', 'And then?']);
  await another.responses.delete(last.id);
  await caught(client.responses.retrieve(last.id), OpenAI.NotFoundError);
  const refused = client.responses.create({ model: MODEL, input: 'x', previous_response_id: last.id });
  assert.equal((await caught(refused, OpenAI.BadRequestError)).param, 'previous_response_id');
  return second;
}

async function converses(...flags: readonly string[]): Promise<void> {
  const keeping = ['--store-responses-days', '30', ...flags];
  const first = await scene.home.start(...keeping);
  const { id, metadata } = await clientOf(first).conversations.create({
    metadata: { topic: 'names' },
    items: [{ type: 'message', role: 'user', content: SECRET }],
  });
  assert.deepEqual(metadata, { topic: 'names' });
  scene.provider.script(anthropicMessage({ content: 'Hello, Ada.' }), anthropicStream(['Ada', '.']));
  const said = await clientOf(first).responses.create({ model: MODEL, input: 'Hello.', conversation: id });
  assert.deepEqual([said.conversation?.id, turnsSent()], [id, 1]);
  await first.terminate();

  const second = await scene.home.start(...keeping);
  const { conversations, responses } = clientOf(second, keyOf('two'));
  const next = await responses
    .stream({ model: MODEL, input: 'What is my name?', conversation: { id } })
    .finalResponse();
  assert.deepEqual([next.output_text, turnsSent()], ['Ada.', 3]);
  const texts: string[] = [];
  for await (const item of conversations.items.list(id, { order: 'asc', limit: 2 }))
    if (item.type === 'message') texts.push(item.content.map((part) => ('text' in part ? part.text : '')).join(''));
  assert.deepEqual(texts, [SECRET, 'Hello.', 'Hello, Ada.', 'What is my name?', 'Ada.']);
  const { data } = await conversations.items.create(id, { items: [{ role: 'user', content: 'Bye.' }] });
  const [added] = data;
  assert.ok(added && 'id' in added && typeof added.id === 'string');
  await conversations.items.retrieve(added.id, { conversation_id: id });
  assert.equal((await conversations.items.delete(added.id, { conversation_id: id })).id, id);
  assert.deepEqual((await conversations.update(id, { metadata: { a: 'b' } })).metadata, { a: 'b' });
  assert.equal((await conversations.delete(id)).deleted, true);
  await caught(conversations.retrieve(id), OpenAI.NotFoundError);
  await second.terminate();
}

describe('a conversation that the gateway keeps', () => {
  it('goes on after a restart, from a file', () => converses());
  it.skipIf(valkey.skip)('goes on after a restart, from Valkey', async () => {
    assert.ok(server);
    await converses('--ledger', server.url);
    await server.command('FLUSHALL');
  });
});

describe('a conversation by the ids of its responses', () => {
  it('goes on after a restart, from a file that shows nothing of it and ends with the setting', async () => {
    const running = await continues();
    const path = join(scene.home.dataDir, 'responses.db');
    await running.terminate();
    const files = ['', '-wal'].map((suffix) => path + suffix).filter((file) => existsSync(file));
    assert.ok(files.length > 0);
    for (const file of files) assert.doesNotMatch(readFileSync(file, 'latin1'), /Ada|Lovelace/);
    const off = await scene.home.start();
    assert.equal(existsSync(path), false);
    const made = scene.provider.requests.length;
    const refused = clientOf(off).responses.create({
      model: MODEL,
      input: 'x',
      previous_response_id: `resp_${'0'.repeat(32)}`,
    });
    assert.match((await caught(refused, OpenAI.BadRequestError)).message, /whole conversation in "input"/);
    assert.equal(scene.provider.requests.length, made);
    await off.terminate();
  });
  it.skipIf(valkey.skip)('goes on after a restart, from Valkey', async () => {
    assert.ok(server);
    const running = await continues('--ledger', server.url);
    const keys = await server.command('KEYS', '*kept:*');
    assert.ok(Array.isArray(keys));
    // two responses, their order, their ends and their sizes
    assert.equal(keys.length, 5);
    for (const key of keys.map(String)) {
      assert.ok(Number(await server.command('PTTL', key)) > 29 * 86_400_000, `${key} expires`);
      if (!key.includes(':response:')) continue;
      const bytes = Buffer.from(String(await server.command('GET', key)), 'base64');
      assert.doesNotMatch(bytes.toString('latin1'), /Ada|Lovelace/);
    }
    await running.terminate();
  });
});
