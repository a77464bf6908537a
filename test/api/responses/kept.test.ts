/**
 * Responses that the gateway keeps, where the platform wants it: the next turn by the id of the last on every provider,
 * its bill, and everything else that an id opens.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { keyManifest, KEYS } from '../../support/manifests.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { anthropicMessage, anthropicStream, openaiChat, openaiError } from '../../support/provider-answers.ts';
import { openaiResponse } from '../../support/response-answers.ts';
import { post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

const OTHERS_KEY = 'sk-test-others-000000000000000000000000000000';
const NARROW_KEY = 'sk-test-narrow-too-00000000000000000000000000';
const ELSEWHERE_KEY = 'sk-test-elsewhere-0000000000000000000000000000';
const PENNILESS_KEY = 'sk-test-penniless-0000000000000000000000000000';
const KEY_MANIFESTS = `
${keyManifest('penniless', PENNILESS_KEY, 'quota: {limitUsd: "0"}')}
${keyManifest('others', OTHERS_KEY, 'accountRef: {name: others}')}
${keyManifest('elsewhere', ELSEWHERE_KEY, 'groupRef: {name: elsewhere}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: elsewhere}
spec:
  allowedNamespaces: {from: All}
  routes: [{routeSelector: {matchLabels: {offers: nothing}}}]
---
${keyManifest('narrow-too', NARROW_KEY, 'models: [chat-model]')}
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

async function call(method: string, path: string, key: string = KEYS.main): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${world.gateway.url}/v1/responses/${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, body: JSON.parse((await response.text()) || 'null') };
}

async function made(more: object = {}): Promise<string> {
  world.anthropic.script(anthropicMessage({ content: 'Hello, Ada.' }));
  const answer = await ask(more);
  assert.equal(answer.status, 200, answer.text);
  world.anthropic.clear();
  return answer.json().id;
}

const TURNS = [
  { role: 'user', content: 'My name is Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'What is it?' },
];

/** The texts of the messages that Anthropic's provider got. */
async function turnsAt(index: number): Promise<unknown> {
  const { messages } = (await world.anthropic.request(index)).json() as Json;
  return messages.map(({ role, content }: Json) => ({
    role,
    content: typeof content === 'string' ? content : content.map(({ text }: Json) => text).join(''),
  }));
}

describe('a response that the gateway keeps', () => {
  it('says so, and is continued by its id, whole and streamed', async () => {
    const id = await made({ metadata: { a: 'b' } });
    assert.match(id, /^resp_[0-9a-f]{32}$/);
    world.anthropic.script(anthropicMessage({ content: 'Ada.' }), anthropicStream(['Still ', 'Ada.']));
    const second = await ask({ previous_response_id: id, input: 'What is it?' });
    assert.equal(second.status, 200, second.text);
    const { store, previous_response_id: previous, id: secondId } = second.json();
    assert.deepEqual([store, previous], [true, id]);
    assert.deepEqual(await turnsAt(0), TURNS);
    const third = await ask({
      previous_response_id: secondId,
      input: [{ role: 'user', content: 'And now?' }],
      stream: true,
    });
    assert.deepEqual(await turnsAt(1), [
      ...TURNS,
      { role: 'assistant', content: 'Ada.' },
      { role: 'user', content: 'And now?' },
    ]);
    const [last] = third.text.split('\n').filter((line) => line.startsWith('data: {"type":"response.completed"'));
    const { response } = JSON.parse((last ?? '').slice('data: '.length));
    assert.deepEqual([response.store, response.previous_response_id], [true, secondId]);
    assert.deepEqual((await call('GET', response.id)).body, response, 'a streamed one is kept, too');
  });
  it('is billed and held with all that it continues', async () => {
    const id = await made({ input: 'x'.repeat(40_000) });
    world.anthropic.script(
      anthropicMessage({ content: 'Ada.', usage: { input_tokens: 10_050, output_tokens: 3 } }),
      anthropicMessage(),
    );
    const { spent } = await spending(world);
    const answer = await ask({ previous_response_id: id, input: 'What is it?' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await spending(world)).spent - spent, 10_050n * INPUT + 3n * OUTPUT);
    // 0.01 USD are three thousand tokens of input
    const refused = await ask({ previous_response_id: id, input: 'y' }, { 'x-api-key': KEYS.small });
    assert.deepEqual([refused.status, refused.json().error.code], [429, 'insufficient_quota'], refused.text);
    assert.equal(world.anthropic.requests.length, 1);
  });
  it('is continued by models of other providers', async () => {
    const id = await made();
    world.openai.script(openaiChat({ content: 'Ada.' }), openaiResponse('Ada.'));
    for (const model of ['chat-model', 'gpt-model'])
      assert.equal((await ask({ model, previous_response_id: id, input: 'What is it?' })).status, 200);
    assert.deepEqual((await world.openai.request(0)).json()['messages'], TURNS);
    const { input, previous_response_id: previous } = (await world.openai.request(1)).json() as Json;
    assert.equal(previous, undefined);
    assert.deepEqual([input[0], input[1].content[0].text, input[2]], [TURNS[0], 'Hello, Ada.', TURNS[2]]);
  });
  it('is continued without its reasoning by another provider, which never gave that an id', async () => {
    const message = { role: 'assistant', content: 'Hello, Ada.', reasoning_content: 'A name.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    world.openai.script(openaiChat({ extra: { choices } }), openaiResponse('Ada.'));
    const { id, output } = (await ask({ model: 'chat-model' })).json();
    assert.deepEqual(
      output.map(({ type }: Json) => type),
      ['reasoning', 'message'],
    );
    const answer = await ask({ model: 'gpt-model', previous_response_id: id, input: 'What is it?' });
    assert.equal(answer.status, 200, answer.text);
    const { input } = (await world.openai.request(1)).json() as Json;
    assert.deepEqual(
      input.map(({ type, id: itemId }: Json) => [type, itemId]),
      [
        [undefined, undefined],
        ['message', undefined],
        [undefined, undefined],
      ],
    );
  });
  it('keeps calls of tools for their results', async () => {
    world.anthropic.script(
      anthropicMessage({ toolUses: [{ id: 'call_one', name: 'get_weather', input: { city: 'Oslo' } }] }),
      anthropicMessage({ content: 'Cold.' }),
    );
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }];
    const { id } = (await ask({ tools })).json();
    const output = [{ type: 'function_call_output', call_id: 'call_one', output: '-3' }];
    const answer = await ask({ tools, previous_response_id: id, input: output });
    assert.equal(answer.json().output[0].content[0].text, 'Cold.', answer.text);
    const { messages } = (await world.anthropic.request(1)).json() as Json;
    assert.deepEqual(
      messages.map(({ role, content }: Json) => [role, content[0].type]),
      [
        ['user', 'text'],
        ['assistant', 'tool_use'],
        ['user', 'tool_result'],
      ],
    );
  });
  it('is fetched, listed and deleted by keys of its account', async () => {
    const first = await made();
    world.anthropic.script(anthropicMessage({ content: 'Ada.' }));
    const answer = await ask({ previous_response_id: first, input: 'What is it?' });
    const { id } = answer.json();
    assert.deepEqual(await call('GET', id), { status: 200, body: answer.json() });
    const { body: list } = await call('GET', `${id}/input_items?order=asc&limit=2`);
    assert.deepEqual(
      list.data.map(({ type, role, content }: Json) => [type, role, content[0].type, content[0].text]),
      [
        ['message', 'user', 'input_text', 'My name is Ada.'],
        ['message', 'assistant', 'output_text', 'Hello, Ada.'],
      ],
    );
    assert.deepEqual([list.object, list.has_more, list.last_id], ['list', true, list.data[1].id]);
    const { body: rest } = await call('GET', `${id}/input_items?order=asc&after=${list.last_id}`);
    assert.deepEqual([rest.data.length, rest.data[0].content[0].text, rest.has_more], [1, 'What is it?', false]);
    assert.equal((await call('GET', `${id}/input_items`)).body.data[0].content[0].text, 'What is it?');
    for (const wrong of ['limit=0', 'limit=x', 'after=msg_none'])
      assert.equal((await call('GET', `${id}/input_items?${wrong}`)).status, 400);
    assert.equal((await call('POST', `${id}/cancel`)).status, 400);
    assert.equal((await call('GET', `${id}?stream=true`)).body.error.param, 'stream');
    assert.deepEqual(await call('DELETE', id), { status: 200, body: { id, object: 'response', deleted: true } });
    assert.equal((await call('GET', id)).status, 404);
    assert.equal((await call('DELETE', id)).status, 404);
    assert.equal((await call('GET', first)).status, 200, 'the one before it stays');
    const { code, param } = (await ask({ previous_response_id: id })).json().error;
    assert.deepEqual([code, param], ['unsupported_parameter', 'previous_response_id']);
  });
  it('is nothing to other accounts, and to keys that may not call its model', async () => {
    const id = await made();
    for (const key of [OTHERS_KEY, NARROW_KEY, ELSEWHERE_KEY]) {
      assert.equal((await call('GET', id, key)).status, 404);
      assert.equal((await call('DELETE', id, key)).status, 404);
      const model = 'chat-model';
      const refused = await ask({ model, previous_response_id: id }, { authorization: `Bearer ${key}` });
      assert.deepEqual([refused.status, refused.json().error.param], [400, 'previous_response_id']);
    }
    assert.equal((await call('GET', id)).status, 200);
  });
  it('expires', async () => {
    const id = await made();
    nowMs += 30 * DAY_MS - 1;
    assert.equal((await call('GET', id)).status, 200);
    nowMs += 1;
    assert.equal((await call('GET', id)).status, 404);
  });
  it('is counted with what it continues', async () => {
    const id = await made({ input: 'word '.repeat(2_000) });
    world.anthropic.script(openaiError(404, 'none'));
    const count = await post(world, '/v1/responses/input_tokens', {
      model: 'chat-model',
      previous_response_id: id,
      input: 'y',
    });
    assert.ok(count.json().input_tokens > 2_000, count.text);
  });
  it('of a large body is read on the other thread, and continued', async () => {
    const id = await made({ input: 'x'.repeat(300_000) });
    world.anthropic.script(anthropicMessage({ content: 'Ada.' }));
    const answer = await ask({ previous_response_id: id, input: 'z'.repeat(20_000) });
    assert.equal(answer.status, 200, answer.text);
    const { messages } = (await world.anthropic.request(0)).json() as Json;
    assert.equal(messages.length, 3);
    const { body } = await call('GET', `${answer.json().id}/input_items?order=asc`);
    assert.deepEqual(
      body.data.map(({ content }: Json) => content[0].text.length),
      [300_000, 'Hello, Ada.'.length, 20_000],
    );
    const { status, body: refused } = await call('GET', `${answer.json().id}/input_items?limit=101`);
    assert.deepEqual([status, refused.error.param], [400, 'limit']);
  });
});

describe('a response that the gateway keeps, with an image', () => {
  it('is continued by models that take images only', async () => {
    const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
    const id = await made({ input: [{ role: 'user', content: [image] }] });
    const refused = await ask({ model: 'deepseek-model', previous_response_id: id, input: 'y' });
    assert.deepEqual([refused.status, refused.json().error.code], [400, 'unsupported_image']);
    world.openai.script(openaiChat());
    assert.equal((await ask({ model: 'chat-model', previous_response_id: id, input: 'y' })).status, 200);
  });
});

describe('the memory of calls that are kept and continued', () => {
  it('is given back, however they end', async () => {
    const stack = await startTestStack({ keeping: { days: 1 }, maxBodyBytes: 2 ** 20, maxBufferedBytes: 2 * 2 ** 20 });
    const input = 'x'.repeat(100_000);
    const send = (more: object): Promise<Answer> =>
      post(stack, '/v1/responses', { model: 'claude-model', input, ...more });
    try {
      stack.anthropic.script(anthropicMessage());
      const { id: previous } = (await send({})).json();
      // each takes some hundred KiB, of which a key may have one MiB
      for (let round = 0; round < 10; round++) {
        stack.anthropic.script(
          anthropicMessage(),
          anthropicStream(['a']),
          openaiError(400, 'no'),
          openaiError(500, 'no'),
        );
        const seen: number[] = [];
        for (const more of [{ previous_response_id: previous }, { stream: true }, {}, {}, { model: 'none' }])
          seen.push((await send(more)).status);
        const gone = { previous_response_id: `resp_${'0'.repeat(32)}` };
        assert.deepEqual([...seen, (await send(gone)).status], [200, 200, 400, 502, 404, 400]);
        const response = await fetch(`${stack.gateway.url}/v1/responses/${previous}/input_items`, {
          headers: { authorization: `Bearer ${KEYS.main}` },
        });
        const list: Json = await response.json();
        assert.equal(list.data.length, 1);
      }
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
});

describe('a call without memory to keep its input', () => {
  it('is served, and its response not kept', async () => {
    const stack = await startTestStack({ keeping: { days: 1 }, maxBodyBytes: 2 ** 20, maxBufferedBytes: 2 * 2 ** 20 });
    try {
      stack.anthropic.script(anthropicMessage({ content: 'Hello.' }));
      const answer = await post(stack, '/v1/responses', { model: 'claude-model', input: 'x'.repeat(600_000) });
      assert.equal(answer.status, 200, answer.text);
      assert.ok(stack.gateway.logs.some((line) => line.includes('cannot store a response')));
      const response = await fetch(`${stack.gateway.url}/v1/responses/${answer.json().id}`, {
        headers: { authorization: `Bearer ${KEYS.main}` },
      });
      assert.equal(response.status, 404);
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
});

describe('a store that does not answer', () => {
  it('takes no response from its client, and refuses calls that continue one', async () => {
    const away = (): Promise<never> => Promise.reject(new LedgerUnavailable('the store is away'));
    const store = { put: away, sizeOf: away, get: away, delete: away, close: () => Promise.resolve() };
    const stack = await startTestStack({ keeping: { days: 1, store } });
    try {
      stack.anthropic.script(anthropicMessage({ content: 'Hello.' }));
      const answer = await post(stack, '/v1/responses', { model: 'claude-model', input: 'x' });
      assert.equal(answer.json().output[0].content[0].text, 'Hello.', answer.text);
      assert.ok(stack.gateway.logs.some((line) => line.includes('cannot store a response')));
      const { id } = answer.json();
      const next = await post(stack, '/v1/responses', { model: 'claude-model', input: 'x', previous_response_id: id });
      assert.deepEqual([next.status, next.json().error.code], [503, 'ledger_unavailable']);
      const response = await fetch(`${stack.gateway.url}/v1/responses/${id}`, {
        headers: { authorization: `Bearer ${KEYS.main}` },
      });
      assert.equal(response.status, 503);
      assert.equal(stack.anthropic.requests.length, 1);
      tidyUp(stack);
    } finally {
      await stack.stop();
    }
  });
});

describe('a call that continues a response', () => {
  it('of a key without money is refused before that is looked for', async () => {
    let reads = 0;
    const none = async (): Promise<undefined> => undefined;
    const sizeOf = async (): Promise<undefined> => {
      reads++;
    };
    const store = { put: none, sizeOf, get: none, delete: async () => false, close: none };
    const stack = await startTestStack({
      files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls), 'more.yaml': KEY_MANIFESTS }),
      keeping: { days: 1, store },
    });
    const send = (key: string): Promise<Answer> =>
      post(
        stack,
        '/v1/responses',
        { model: 'claude-model', input: 'x', previous_response_id: `resp_${'0'.repeat(32)}` },
        { authorization: `Bearer ${key}` },
      );
    try {
      const refused = await send(PENNILESS_KEY);
      assert.deepEqual([refused.status, refused.json().error.code], [429, 'insufficient_quota'], refused.text);
      assert.equal(reads, 0);
      assert.equal((await send(KEYS.main)).status, 400);
      assert.equal(reads, 1);
    } finally {
      await stack.stop();
    }
  });
});

describe('a response that the gateway does not keep', () => {
  it('is one that the client wants stored nowhere', async () => {
    const first = await made();
    world.anthropic.script(anthropicMessage({ content: 'Ada.' }));
    const answer = await ask({ previous_response_id: first, input: 'What is it?', store: false });
    const { id, store, previous_response_id: previous } = answer.json();
    assert.deepEqual([store, previous], [false, first]);
    assert.equal((await call('GET', id)).status, 404);
  });
  it('is one that failed, and one that is too large', async () => {
    world.anthropic.script(openaiError(400, 'no'));
    assert.equal((await ask()).status, 400);
    const id = await made({ input: 'x'.repeat(5 * 2 ** 20), model: 'claude-model' }).catch(() => undefined);
    if (id !== undefined) assert.equal((await call('GET', id)).status, 404);
  });
  it('is one that turns out too large with its input, as the log says', async () => {
    world.anthropic.script(anthropicMessage({ content: 'y'.repeat(2 ** 18) }));
    const answer = await ask({ input: 'x'.repeat(4 * 2 ** 20 - 200) });
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    const { id, store } = answer.json();
    assert.equal(store, true);
    assert.equal((await call('GET', id)).status, 404);
    const said = world.gateway.logs.filter((line) => line.includes('cannot store a response'));
    assert.equal(said.length, 1);
    assert.match(said[0] ?? '', /larger than 4 MiB/);
  });
  it('is one of a provider that keeps it', async () => {
    world.openai.script(openaiResponse());
    const { id } = (await ask({ model: 'gpt-model' })).json();
    assert.match(id, /^mgw1_response_/);
  });
});
