/** Responses that their provider keeps: the next turn by the id of the last, and everything else that an id opens. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { KEYS } from '../../support/manifests.ts';
import { json, openaiError } from '../../support/provider-answers.ts';
import { openaiResponse, openaiResponseStream } from '../../support/response-answers.ts';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

/** Nano-USD per token of renamed-model, in and out. */
const PRICE = 2_000n;
const ITEM = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAA-own' };

const TWICE_SERVED = ({ openaiUrl, anthropicUrl }: { openaiUrl: string; anthropicUrl: string }): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: twice}
spec:
  models: [{name: twice-served, contextTokens: 100000, maxOutputTokens: 4000}]
  channels:
  - {name: one, protocol: OpenAI, endpoints: [Chat, Responses], baseUrl: "${openaiUrl}/v1"}
  - {name: two, protocol: OpenAI, endpoints: [Chat, Responses], baseUrl: "${anthropicUrl}/v1"}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: twice}
spec: {models: [{name: twice-served, vendor: V, quotaType: Token, modelRatio: "1"}]}
`;

let world: TestStack;
beforeAll(async () => {
  world = await startTestStack({
    files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls), 'twice.yaml': TWICE_SERVED(urls) }),
  });
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

const ask = (more: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  post(world, '/v1/responses', { model: 'gpt-model', input: 'hello', ...more }, headers);

async function made(): Promise<string> {
  world.openai.script(openaiResponse());
  const { id } = (await ask()).json();
  assert.match(id, /^mgw1_response_/);
  world.openai.clear();
  return id;
}

async function call(method: string, path: string, key: string = KEYS.main): Promise<{ status: number; body: Json }> {
  const response = await fetch(world.gateway.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: JSON.parse((await response.text()) || 'null') };
}

describe("a provider's id", () => {
  it('leads to no other path, and to no request at all', async () => {
    for (const id of ['..', '.', 'a b', 'a\u0000b', 'é']) {
      world.openai.script(
        json({
          id,
          object: 'response',
          status: 'completed',
          output: [],
          usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
        }),
      );
      const { id: sealed } = (await ask()).json();
      world.openai.clear();
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/input_items'],
      ] as const) {
        const { status, body } = await call(method, `/v1/responses/${sealed}${path}`);
        assert.deepEqual([status, body.error.code], [404, 'not_found'], `${method} ${id}`);
      }
      assert.equal(world.openai.requests.length, 0);
    }
  });
});

describe('an earlier response', () => {
  it('goes back to its provider under its own id, and is held as a whole context', async () => {
    const id = await made();
    world.openai.script(openaiResponse());
    const answer = await ask({ previous_response_id: id });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await world.openai.request(0)).json()['previous_response_id'], 'resp_mock');
    const small = { 'x-api-key': KEYS.small };
    const { error } = (await ask({ previous_response_id: id }, small)).json();
    assert.equal(error.code, 'insufficient_quota', 'a context of 100,000 tokens is more than it has');
    world.openai.script(openaiResponse());
    assert.equal((await ask({}, small)).status, 200);
  });
  it("is no other model's, nor one that a client made up", async () => {
    const id = await made();
    // not the last character, whose last bits may be padding
    const forged = `${id.slice(0, -2)}${id.at(-2) === 'A' ? 'B' : 'A'}${id.slice(-1)}`;
    for (const [model, previous] of [
      ['chat-model', id],
      ['claude-model', id],
      ['gpt-model', forged],
    ] as const) {
      const answer = await ask({ model, previous_response_id: previous });
      const { code, message } = answer.json().error;
      assert.deepEqual([answer.status, code], [400, 'unsupported_parameter']);
      assert.match(message, /Send the whole conversation in "input"/);
    }
    assert.equal(world.openai.requests.length, 0);
  });
});

describe('what is kept of a response', () => {
  it('is asked of the channel that made it, and answered under the id that the client has', async () => {
    const id = await made();
    const kept = {
      id: 'resp_mock',
      object: 'response',
      previous_response_id: null,
      output: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA-own' }],
    };
    world.openai.script(
      json(kept),
      json({ object: 'list', data: [{ type: 'reasoning', encrypted_content: 'gAAAA-own' }] }),
      json({ ...kept, status: 'cancelled' }),
      json({ id: 'resp_mock', object: 'response.deleted', deleted: true }),
    );
    const { spent } = await spending(world);
    const got = await call('GET', `/v1/responses/${id}?include[]=reasoning.encrypted_content`);
    assert.deepEqual([got.status, got.body.id], [200, id]);
    assert.match(got.body.output[0].encrypted_content, /^mgw1_encrypted_/);
    const items = await call('GET', `/v1/responses/${id}/input_items?limit=5`);
    assert.match(items.body.data[0].encrypted_content, /^mgw1_encrypted_/);
    assert.equal((await call('POST', `/v1/responses/${id}/cancel`)).body.status, 'cancelled');
    assert.deepEqual((await call('DELETE', `/v1/responses/${id}`)).body, {
      id,
      object: 'response.deleted',
      deleted: true,
    });
    assert.deepEqual(
      world.openai.requests.map(({ method, path }) => `${method} ${path}`),
      [
        'GET /v1/responses/resp_mock?include[]=reasoning.encrypted_content',
        'GET /v1/responses/resp_mock/input_items?limit=5',
        'POST /v1/responses/resp_mock/cancel',
        'DELETE /v1/responses/resp_mock',
      ],
    );
    assert.equal((await spending(world)).spent, spent, 'it is free');
  });
  it("is nobody else's", async () => {
    const id = await made();
    for (const [path, key] of [
      [`/v1/responses/${id}`, KEYS.poor],
      ['/v1/responses/resp_mock', KEYS.main],
      [`/v1/responses/${id.replace('response', 'encrypted')}`, KEYS.main],
    ] as const) {
      const { status, body } = await call('GET', path, key);
      assert.deepEqual([status, body.error.code], [404, 'not_found']);
      assert.match(body.error.message, /send whole conversations in "input"/);
    }
    assert.equal((await call('GET', `/v1/responses/${id}`, 'sk-nobody')).status, 401);
    assert.equal(world.openai.requests.length, 0);
  });
  it('is gone when its provider says so, and its refusals are told', async () => {
    const id = await made();
    world.openai.script(openaiError(404, 'resp_mock not found'), openaiError(400, 'it is not in the background'));
    const gone = await call('GET', `/v1/responses/${id}`);
    assert.deepEqual([gone.status, gone.body.error.code], [404, 'not_found']);
    const refused = await call('POST', `/v1/responses/${id}/cancel`);
    assert.deepEqual([refused.status, refused.body.error.message], [400, 'it is not in the background']);
  });
  it('is streamed again under the id that the client has', async () => {
    const id = await made();
    world.openai.script(openaiResponseStream());
    const { spent } = await spending(world);
    const answer = await get(world, `/v1/responses/${id}?stream=true&starting_after=2`);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal((await world.openai.request(0)).path, '/v1/responses/resp_mock?stream=true&starting_after=2');
    const events = answer.text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line): Json => JSON.parse(line.slice(6)));
    const last = events.at(-1);
    assert.deepEqual([last.type, last.response.id], ['response.completed', id]);
    assert.doesNotMatch(answer.text, /resp_mock/);
    assert.equal((await spending(world)).spent, spent, 'it is free');

    world.openai.script(openaiResponseStream(['a'], { end: 'cut' }), openaiError(404, 'gone'));
    assert.match((await get(world, `/v1/responses/${id}?stream=true`)).text, /upstream_error/);
    assert.equal((await get(world, `/v1/responses/${id}?stream=true`)).status, 404);
  });
});

describe('a compaction', () => {
  const compact = (more: object = {}): Promise<Answer> =>
    post(world, '/v1/responses/compact', { model: 'renamed-model', input: [{ role: 'user', content: 'x' }], ...more });

  /** The warnings to the owner of its route. */
  const warnings = (): readonly string[] =>
    world.gateway.logs.filter((line) => line.includes('credential or the model name'));

  it('is made by the provider, billed by its figures, and sealed', async () => {
    world.openai.script(
      json({
        id: 'resp_c',
        object: 'response.compaction',
        created_at: 1,
        output: [ITEM],
        usage: { input_tokens: 100, output_tokens: 7, total_tokens: 107 },
      }),
      openaiResponse(),
    );
    const { spent } = await spending(world);
    const answer = await compact();
    assert.equal(answer.status, 200, answer.text);
    const { object, output } = answer.json();
    assert.equal(object, 'response.compaction');
    assert.match(output[0].encrypted_content, /^mgw1_encrypted_/);
    const { path, body } = await world.openai.request(0);
    assert.deepEqual(
      [path, JSON.parse(body.toString())],
      ['/v1/responses/compact', { model: 'upstream-name-7', input: [{ role: 'user', content: 'x' }] }],
    );
    assert.equal((await spending(world)).spent - spent, 107n * PRICE);
    assert.equal((await ask({ model: 'renamed-model', input: output })).status, 200);
    assert.deepEqual((await world.openai.request(1)).json()['input'], [ITEM], 'its account gets its own value back');
  });
  it('that a call asks for by its last item is bounded and billed alike', async () => {
    const usage = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
    world.openai.script(json({ id: 'resp_c', object: 'response', status: 'completed', output: [ITEM], usage }));
    const { spent } = await spending(world);
    const input = [{ role: 'user', content: 'x' }, { type: 'compaction_trigger' }];
    const answer = await ask({ model: 'renamed-model', input });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json().output[0].encrypted_content, /^mgw1_encrypted_/);
    assert.deepEqual((await world.openai.request(0)).json()['input'], input);
    assert.equal((await spending(world)).spent - spent, 107n * PRICE);
    const background = await ask({ model: 'renamed-model', input, background: true });
    assert.deepEqual([background.status, background.json().error.param], [400, 'background']);
  });
  it('is not made where a provider of responses has no such path, which warns nobody', async () => {
    const twice = [json({ detail: 'Not Found' }, { status: 404 }), openaiError(405, 'Method Not Allowed')];
    for (const refusal of twice) {
      world.openai.script(refusal);
      const { spent } = await spending(world);
      const answer = await compact();
      const { code, message } = answer.json().error;
      assert.deepEqual([answer.status, code], [404, 'not_found'], answer.text);
      assert.match(message, /compacts no conversations\..*summary/);
      assert.equal((await spending(world)).spent, spent, 'it is free');
    }
    assert.deepEqual(warnings(), []);
    world.openai.script(openaiError(404, 'The model `x` does not exist', { code: 'model_not_found' }));
    assert.equal((await compact()).status, 502, "a model's name is the route's");
    assert.equal(warnings().length, 1);
    const azure =
      'The API deployment for this resource does not exist. If you created it lately, please wait a moment.';
    world.openai.script(openaiError(404, azure, { code: 'DeploymentNotFound' }));
    assert.equal((await compact()).status, 502, 'and so is a deployment at Azure');
  });
  it('is made by another channel where one has no such path', async () => {
    world.openai.script(json({ detail: 'Not Found' }, { status: 404 }));
    const usage = { input_tokens: 100, output_tokens: 7, total_tokens: 107 };
    world.anthropic.script(json({ id: 'resp_c', object: 'response.compaction', output: [ITEM], usage }));
    const { spent } = await spending(world);
    for (let call = 0; call < 4; call++) assert.equal((await compact({ model: 'twice-served' })).status, 200);
    assert.equal((await spending(world)).spent - spent, 4n * 107n * PRICE);
  });
  it('is not made where the provider has none, nor streamed', async () => {
    for (const model of ['chat-model', 'claude-model']) {
      const answer = await compact({ model });
      assert.deepEqual([answer.status, answer.json().error.code], [404, 'not_found']);
      assert.match(answer.json().error.message, /summary/);
    }
    const streamed = await compact({ stream: true });
    assert.deepEqual([streamed.status, streamed.json().error.param], [400, 'stream']);
  });
});

describe('a count of tokens', () => {
  const count = (more: object): Promise<Answer> =>
    post(world, '/v1/responses/input_tokens', { input: 'hello', ...more });

  it("is the provider's", async () => {
    const id = await made();
    world.openai.script(json({ object: 'response.input_tokens', input_tokens: 12 }));
    const answer = await count({ model: 'renamed-model', previous_response_id: id });
    assert.deepEqual(
      [answer.status, answer.json(), answer.headers.get('x-modelgateway-usage')],
      [200, { object: 'response.input_tokens', input_tokens: 12 }, null],
    );
    const { path, body } = await world.openai.request(0);
    assert.deepEqual(
      [path, JSON.parse(body.toString())],
      [
        '/v1/responses/input_tokens',
        {
          input: 'hello',
          model: 'upstream-name-7',
          previous_response_id: 'resp_mock',
        },
      ],
    );
  });
  it('is estimated where the provider counts none, of everything that the model reads', async () => {
    const tokensOf = async (more: object): Promise<number> => {
      const answer = await count(more);
      assert.deepEqual([answer.status, answer.headers.get('x-modelgateway-usage')], [200, 'estimated'], answer.text);
      return answer.json().input_tokens;
    };
    const model = 'chat-model';
    const plain = await tokensOf({ model });
    assert.ok(plain > 0 && plain < 20);
    const words = 'several more words than before';
    for (const more of [
      { instructions: words },
      { input: [{ role: 'user', content: [{ type: 'input_text', text: words }] }] },
      { tools: [{ type: 'function', name: 'f', description: words }] },
      { input: [{ type: 'function_call_output', call_id: 'c', output: words }] },
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] }] },
      { text: { format: { type: 'json_schema', name: 'x', schema: { description: words } } } },
    ])
      assert.ok((await tokensOf({ model, ...more })) >= plain + 4, JSON.stringify(more));
    world.openai.script(openaiError(404));
    assert.ok((await tokensOf({ model: 'gpt-model' })) > 0, 'also where the provider has no such endpoint');
  });
  it('is refused for what the call would be refused for', async () =>
    assert.equal((await count({ model: 'nothing' })).json().error.code, 'model_not_found'));
});
