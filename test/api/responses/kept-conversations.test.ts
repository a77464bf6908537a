/**
 * Conversations that the gateway keeps, where the platform wants it: turns of models of every provider, their bill, calls
 * at once, and the requests about them and their items.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { MAX_CONVERSATION_BYTES } from '../../../dataplane/kept/kept-conversations.ts';
import type { KeptStore } from '../../../dataplane/kept/store.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { keyManifest, KEYS } from '../../support/manifests.ts';
import { anthropicMessage, anthropicStream, json, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const OTHERS_KEY = 'sk-test-others-000000000000000000000000000000';
const KEY_MANIFESTS = `
${keyManifest('others', OTHERS_KEY, 'accountRef: {name: others}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: others, namespace: team}
spec: {grants: [{name: start, usd: "1000"}]}
`;
/** Nano-USD per token of claude-model. */
const INPUT = 3_000n;
const OUTPUT = 15_000n;
const DAY_MS = 86_400_000;

let world: TestStack;
let nowMs = 1_800_000_000_000;
beforeAll(async () => {
  world = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls), 'more.yaml': KEY_MANIFESTS }),
    keeping: { days: 30 },
    nowMs: () => nowMs,
  });
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

const ask = (more: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  post(world, '/v1/responses', { model: 'claude-model', input: 'My name is Ada.', ...more }, headers);

interface Asked {
  readonly body?: object;
  readonly key?: string;
}

async function call(
  method: string,
  path: string,
  { body, key = KEYS.main }: Asked = {},
): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${world.gateway.url}/v1/conversations${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse((await response.text()) || 'null') };
}

async function made(body: object = {}): Promise<string> {
  const created = await call('POST', '', { body });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  return created.body.id;
}

const user = (content: string): object => ({ role: 'user', content });

/** The texts of its items, in their order. */
async function textsOf(id: string): Promise<readonly string[]> {
  const { body } = await call('GET', `/${id}/items?order=asc&limit=100`);
  return body.data.map(({ content }: Json) => content.map(({ text }: Json) => text).join(''));
}

/** The texts of the messages that Anthropic's provider got. */
async function turnsAt(index: number): Promise<readonly string[]> {
  const { messages } = (await world.anthropic.request(index)).json() as Json;
  return messages.map(({ content }: Json) =>
    typeof content === 'string' ? content : content.map(({ text }: Json) => text).join('|'),
  );
}

describe('a conversation that the gateway keeps', () => {
  it('gets the input and the output of each call, whole and streamed', async () => {
    const id = await made({ items: [user('Hello.'), { role: 'assistant', content: 'Hi.' }] });
    assert.match(id, /^conv_[0-9a-f]{32}$/);
    world.anthropic.script(anthropicMessage({ content: 'Hello, Ada.' }), anthropicStream(['A', 'da.']));
    const first = await ask({ conversation: id });
    assert.deepEqual(first.json().conversation, { id }, first.text);
    const second = await ask({ conversation: { id }, input: [user('What is my name?')], stream: true, store: false });
    assert.match(second.text, /"conversation":\{"id":"conv_/);
    assert.deepEqual(await turnsAt(1), ['Hello.', 'Hi.', 'My name is Ada.', 'Hello, Ada.', 'What is my name?']);
    assert.deepEqual(await textsOf(id), [
      'Hello.',
      'Hi.',
      'My name is Ada.',
      'Hello, Ada.',
      'What is my name?',
      'Ada.',
    ]);
  });
  it('goes on with models of every provider', async () => {
    const id = await made();
    world.anthropic.script(anthropicMessage({ content: 'Hello, Ada.' }));
    const message = { role: 'assistant', content: 'Ada.', reasoning_content: 'A name.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    world.openai.script(openaiChat({ extra: { choices } }), openaiResponse('Ada, again.'));
    for (const model of ['claude-model', 'chat-model', 'gpt-model']) {
      const answer = await ask({ model, conversation: id, input: `To ${model}.` });
      assert.equal(answer.status, 200, answer.text);
    }
    const { input, conversation } = (await world.openai.request(1)).json() as Json;
    assert.equal(conversation, undefined);
    // the reasoning of another provider is left out, and what was made with it has no id
    assert.deepEqual(
      input.map(({ role, id: itemId }: Json) => [role, itemId !== undefined]),
      [
        ['user', false],
        ['assistant', true],
        ['user', false],
        ['assistant', false],
        ['user', false],
      ],
    );
    const { body } = await call('GET', `/${id}/items?order=asc`);
    assert.deepEqual(
      body.data.map(({ type, role }: Json) => role ?? type),
      ['user', 'assistant', 'user', 'reasoning', 'assistant', 'user', 'assistant'],
    );
  });
  it('is held and billed as a part of the call', async () => {
    const id = await made({ items: [user('x'.repeat(40_000))] });
    world.anthropic.script(anthropicMessage({ content: 'Ada.', usage: { input_tokens: 10_050, output_tokens: 3 } }));
    const { spent } = await spending(world);
    assert.equal((await ask({ conversation: id })).status, 200);
    assert.equal((await spending(world)).spent - spent, 10_050n * INPUT + 3n * OUTPUT);
    // 0.01 USD are three thousand tokens of input
    const refused = await ask({ conversation: id }, { 'x-api-key': KEYS.small });
    assert.deepEqual([refused.status, refused.json().error.code], [429, 'insufficient_quota'], refused.text);
    const count = await post(world, '/v1/responses/input_tokens', {
      model: 'deepseek-model',
      conversation: id,
      input: 'y',
    });
    assert.ok(count.json().input_tokens > 2_000, count.text);
    assert.equal((await textsOf(id)).length, 3, 'what is refused or counted is no turn');
  });
  it('gets nothing of calls that fail', async () => {
    const id = await made();
    world.anthropic.script(openaiError(400, 'no'), openaiError(500, 'no'));
    assert.deepEqual([(await ask({ conversation: id })).status, (await ask({ conversation: id })).status], [400, 502]);
    assert.deepEqual(await textsOf(id), []);
  });
  it('gets whole turns of calls at once, one after the other', async () => {
    const id = await made();
    const turns = Array.from({ length: 8 }, (_, index) => `turn ${index}`);
    for (const _ of turns) world.anthropic.script(anthropicMessage({ content: 'Yes.' }));
    const answers = await Promise.all(turns.map((input) => ask({ conversation: id, input })));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const texts = await textsOf(id);
    assert.deepEqual(
      texts.filter((_, index) => index % 2 === 1),
      turns.map(() => 'Yes.'),
    );
    assert.deepEqual(texts.filter((_, index) => index % 2 === 0).toSorted(), turns);
  });
  it('is shown, changed and deleted by keys of its account only', async () => {
    const id = await made({ metadata: { topic: 'x' } });
    const { body } = await call('GET', `/${id}`);
    assert.deepEqual(body, { id, object: 'conversation', created_at: nowMs / 1000, metadata: { topic: 'x' } });
    const update = { metadata: { topic: 'y' } };
    assert.deepEqual((await call('POST', `/${id}`, { body: update })).body.metadata, update.metadata);
    for (const [method, path, given] of [
      ['GET', `/${id}`],
      ['POST', `/${id}`, update],
      ['DELETE', `/${id}`],
      ['GET', `/${id}/items`],
      ['POST', `/${id}/items`, { items: [user('x')] }],
    ] as const) {
      const asked = { key: OTHERS_KEY, ...(given && { body: given }) };
      assert.equal((await call(method, path, asked)).status, 404, `${method} ${path}`);
    }
    const refused = await ask({ conversation: id }, { authorization: `Bearer ${OTHERS_KEY}` });
    assert.deepEqual([refused.status, refused.json().error.param], [400, 'conversation']);
    assert.deepEqual((await call('DELETE', `/${id}`, { key: KEYS.small })).body, {
      id,
      object: 'conversation.deleted',
      deleted: true,
    });
    assert.equal((await call('GET', `/${id}`)).status, 404);
    assert.equal((await call('DELETE', `/${id}`)).status, 404);
    assert.equal((await ask({ conversation: id })).json().error.code, 'unsupported_parameter');
  });
  it('has items that are added, listed, shown and deleted', async () => {
    const id = await made();
    const added = await call('POST', `/${id}/items`, { body: { items: ['a', 'b', 'c'].map(user) } });
    assert.deepEqual(
      [added.body.object, added.body.has_more, added.body.data.map(({ content }: Json) => content[0].text)],
      ['list', false, ['a', 'b', 'c']],
    );
    const [first, second, third] = added.body.data.map(({ id: item }: Json) => item);
    const page = await call('GET', `/${id}/items?limit=2`);
    assert.deepEqual([page.body.first_id, page.body.last_id, page.body.has_more], [third, second, true]);
    assert.deepEqual((await call('GET', `/${id}/items?after=${second}`)).body.last_id, first);
    assert.deepEqual((await call('GET', `/${id}/items/${second}`)).body, added.body.data[1]);
    assert.equal((await call('DELETE', `/${id}/items/${second}`)).body.id, id);
    assert.deepEqual(await textsOf(id), ['a', 'c']);
    for (const method of ['GET', 'DELETE']) assert.equal((await call(method, `/${id}/items/${second}`)).status, 404);
    for (const [method, path, given] of [
      ['GET', '?limit=0'],
      ['GET', '?after=none'],
      ['POST', '', {}],
      ['POST', '', { items: [{ type: 'item_reference', id: 'msg_1' }] }],
      ['POST', '', { items: 'x' }],
    ] as const)
      assert.equal((await call(method, `/${id}/items${path}`, given && { body: given })).status, 400, path);
  });
  it('expires after the days since its last change', async () => {
    const id = await made();
    nowMs += 30 * DAY_MS - 1;
    assert.equal((await call('POST', `/${id}/items`, { body: { items: [user('x')] } })).status, 200);
    nowMs += 30 * DAY_MS - 1;
    assert.equal((await call('GET', `/${id}`)).status, 200);
    nowMs += 1;
    assert.equal((await call('GET', `/${id}`)).status, 404);
  });
  it('that is large is worked on in the other thread, and takes no more once it is full', async () => {
    const id = await made({ items: [user('x'.repeat(600_000))] });
    world.anthropic.script(anthropicMessage({ content: 'Long.' }));
    assert.equal((await ask({ conversation: id, input: 'y'.repeat(300_000) })).status, 200);
    assert.deepEqual(
      (await textsOf(id)).map(({ length }) => length),
      [600_000, 300_000, 5],
    );
    const full = { items: [user('z'.repeat(MAX_CONVERSATION_BYTES - 901_000))] };
    assert.equal((await call('POST', `/${id}/items`, { body: full })).status, 200);
    const refused = await call('POST', `/${id}/items`, { body: { items: [user('z'.repeat(2_000))] } });
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'conversation']);
    const more = await ask({ conversation: id, input: 'z'.repeat(2_000) });
    assert.deepEqual([more.status, more.json().error.param], [400, 'conversation'], more.text);
  });
  it('is continued neither with a response nor in the background', async () => {
    const id = await made();
    const both = await ask({ conversation: id, previous_response_id: `resp_${'0'.repeat(32)}` });
    assert.deepEqual([both.status, both.json().error.param], [400, 'conversation'], both.text);
    const later = await ask({ model: 'gpt-model', conversation: id, background: true });
    assert.deepEqual([later.status, later.json().error.param], [400, 'background'], later.text);
    const compacted = await post(world, '/v1/responses/compact', { model: 'gpt-model', conversation: id });
    assert.deepEqual([compacted.status, compacted.json().error.param], [400, 'conversation'], compacted.text);
    const input = [user('x'), { type: 'compaction_trigger' }];
    const trigger = await ask({ model: 'gpt-model', conversation: id, input });
    assert.deepEqual([trigger.status, trigger.json().error.param], [400, 'input'], trigger.text);
    assert.deepEqual(await textsOf(id), []);
  });
});

describe('a turn of a call whose client gets an error, because its bill is not on disk', () => {
  it('is not added', async () => {
    const { ledger } = world.gateway;
    const settle: typeof ledger.settle = ledger.settle.bind(ledger);
    const late: typeof ledger.settle = async (...given) => {
      await settle(...given);
      throw new LedgerUnavailable('late');
    };
    const id = await made();
    world.anthropic.script(anthropicMessage({ content: 'Hello.' }));
    Object.assign(ledger, { settle: late });
    try {
      const answer = await ask({ conversation: id });
      assert.equal(answer.status, 503, answer.text);
    } finally {
      Reflect.deleteProperty(ledger, 'settle');
    }
    assert.deepEqual(await textsOf(id), []);
  });
});

describe('a turn that the store has no place for', () => {
  it('is named in the log with its conversation', async () => {
    const kept = new Map<string, Uint8Array>();
    const store: KeptStore = {
      put: async ({ id, bytes, replaces }) => {
        if (replaces) return 'StoreFull';
        kept.set(id, bytes);
        return undefined;
      },
      sizeOf: async ({ id }) => kept.get(id)?.length,
      get: async ({ id }) => kept.get(id),
      delete: async ({ id }) => kept.delete(id),
      close: async () => undefined,
    };
    const stack = await startTestStack({ keeping: { days: 1, store } });
    try {
      const created = await post(stack, '/v1/conversations', {});
      const { id: conversation } = created.json();
      stack.anthropic.script(anthropicMessage());
      const answer = await post(stack, '/v1/responses', { model: 'claude-model', input: 'x', conversation });
      assert.equal(answer.status, 200, answer.text);
      assert.ok(stack.gateway.logs.some((line) => line.includes('has a gap') && line.includes(conversation)));
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
});

describe('a conversation for a model whose provider keeps conversations', () => {
  it('is kept by the provider', async () => {
    world.openai.script(json({ id: 'conv_provider', object: 'conversation', created_at: 7, metadata: {} }));
    const created = await call('POST', '', { body: { model: 'gpt-model' } });
    assert.match(created.body.id, /^mgw1_conversation_/, JSON.stringify(created.body));
    assert.equal((await call('POST', '', { body: { model: 'none' } })).status, 404);
    assert.match(await made({ model: 'claude-model' }), /^conv_/);
  });
});

describe('the memory of calls that are turns of a conversation', () => {
  it('is given back, however they end', async () => {
    const stack = await startTestStack({ keeping: { days: 1 }, maxBodyBytes: 2 ** 20, maxBufferedBytes: 2 * 2 ** 20 });
    const send = (more: object): Promise<Answer> =>
      post(stack, '/v1/responses', { model: 'claude-model', input: 'x'.repeat(10_000), ...more });
    try {
      for (let round = 0; round < 8; round++) {
        const created = await post(stack, '/v1/conversations', { items: [user('x'.repeat(60_000))] });
        const { id: conversation } = created.json();
        stack.anthropic.script(
          anthropicMessage(),
          anthropicStream(['a']),
          openaiError(400, 'no'),
          openaiError(500, 'no'),
        );
        const seen: number[] = [];
        for (const more of [{}, { stream: true }, {}, {}, { model: 'none' }])
          seen.push((await send({ conversation, ...more })).status);
        assert.deepEqual(seen, [200, 200, 400, 502, 404]);
      }
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
  it('is needed, or the call is refused before it is sent', async () => {
    const stack = await startTestStack({ keeping: { days: 1 }, maxBodyBytes: 2 ** 20, maxBufferedBytes: 2 * 2 ** 20 });
    try {
      const created = await post(stack, '/v1/conversations', { items: [user('x'.repeat(190_000))] });
      const { id: conversation } = created.json();
      const answer = await post(stack, '/v1/responses', {
        model: 'claude-model',
        conversation,
        input: 'y'.repeat(60_000),
      });
      assert.deepEqual([answer.status, answer.json().error.code], [429, 'rate_limit_exceeded'], answer.text);
      assert.equal(stack.anthropic.requests.length, 0);
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
});
