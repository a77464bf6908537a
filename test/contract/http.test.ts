/** The endpoints as SDKs call them: api.md section 2, where no other suite has it. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { LedgerUnavailable } from '../../dataplane/ledger/ledger.ts';
import { KEYS, keyManifest } from '../support/manifests.ts';
import {
  breakAt, gated, insertAt, json, openaiChat, openaiEmbeddings, openaiError, openaiImages, openaiStream,
  anthropicMessage, sseReply,
} from '../support/provider-answers.ts';
import { CUT, gate } from '../support/mock-provider.ts';
import { chat, get, message, post, spending, startWorld, tidyUp } from '../http/support.ts';
import type { Answer, Json, World } from '../http/support.ts';

const KEY = (name: string): string => `sk-test-${name}-`.padEnd(43, '0');
const as = (name: string): Record<string, string> => ({ 'x-api-key': KEY(name) });
/** A Tuesday afternoon, UTC. */
const NOW = Date.parse('2026-03-31T15:00:00Z');
let nowMs = NOW;
let world: World;

before(async () => {
  world = await startWorld({
    nowMs: () => nowMs,
    maxBodyBytes: 100_000,
    files: ({ anthropicUrl }) => ({
      'more.yaml': `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: slashed}
spec:
  models: [{name: vendor/model-1.0, contextTokens: 200000, maxOutputTokens: 64000}]
  channels: [{name: direct, protocol: Anthropic, baseUrl: ${anthropicUrl}, models: [{name: vendor/model-1.0, upstreamName: upstream-1}]}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: slashed}
spec: {models: [{name: vendor/model-1.0, vendor: Slash, quotaType: Token, modelRatio: "1"}]}
---
${keyManifest('daily', KEY('daily'), 'quota: {limitUsd: "5", period: Daily}')}
${keyManifest('monthly', KEY('monthly'), 'quota: {limitUsd: "5.5", period: Monthly}\nexpirationTime: ' +
  '"2027-01-01T00:00:00Z"\nmodels: [text-model, gpt-model]')}`,
    }),
  });
});
after(() => world.stop());
afterEach(() => {
  nowMs = NOW;
  tidyUp(world);
});

const usageOf = async (id: string | null, headers: Record<string, string> = {}): Promise<Json> =>
  (await get(world, `/v1/usage/${id}`, headers)).json();

describe('GET /v1/models', () => {
  const priced = [
    'claude-model', 'embed-model', 'gpt-model', 'image-model', 'old-field-model', 'renamed-model', 'text-model',
    'tools-model', 'vendor/model-1.0',
  ];
  const ids = (answer: Answer): string[] => answer.json().data.map(({ id }: Json) => id);

  it('lists what this key can call: neither models without a price nor prices without a route', async () => {
    const answer = await get(world, '/v1/models');
    assert.equal(answer.json().object, 'list');
    assert.deepEqual(ids(answer), priced);
    assert.deepEqual(ids(await get(world, '/v1/models', { 'x-api-key': KEYS.narrow })), ['text-model']);
    assert.deepEqual(ids(await get(world, '/v1/models', as('monthly'))), ['gpt-model', 'text-model']);
  });
  it('has OpenAI\'s shape, with the vendor as owner, one by one too', async () => {
    const [first] = (await get(world, '/v1/models')).json().data;
    assert.deepEqual({
      ...first, created: typeof first.created,
    }, { id: 'claude-model', object: 'model', created: 'number', owned_by: 'Anthropic' });
    assert.deepEqual((await get(world, '/v1/models/claude-model')).json(), first);
    assert.equal((await get(world, '/v1/models/vendor/model-1.0')).json().owned_by, 'Slash');
    assert.equal((await get(world, '/v1/models/vendor%2Fmodel-1.0')).json().id, 'vendor/model-1.0');
  });
  it('has Anthropic\'s shape when the request carries anthropic-version', async () => {
    const version = { 'anthropic-version': '2023-06-01' };
    const page = (await get(world, '/v1/models?limit=2', version)).json();
    assert.deepEqual([
      page.data.map(({ id }: Json) => id), page.has_more, page.first_id, page.last_id,
    ], [priced.slice(0, 2), true, 'claude-model', 'embed-model']);
    assert.equal(page.data[0].type, 'model');
    const next = (await get(world, `/v1/models?limit=20&after_id=${page.last_id}`, version)).json();
    assert.deepEqual([next.data.map(({ id }: Json) => id), next.has_more], [priced.slice(2), false]);
    const one = (await get(world, '/v1/models/vendor/model-1.0', version)).json();
    assert.deepEqual(
      [one.type, one.id, one.max_input_tokens, one.max_tokens], ['model', 'vendor/model-1.0', 200_000, 64_000],
    );
  });
  it('answers HEAD without a body', async () => {
    const response =
      await fetch(`${world.gateway.url}/v1/models`, { method: 'HEAD', headers: { 'x-api-key': KEYS.main } });
    assert.deepEqual([response.status, await response.text()], [200, '']);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
    assert.equal((await fetch(`${world.gateway.url}/v1/models`, { method: 'HEAD' })).status, 401);
  });
});

describe('a model\'s name', () => {
  it('is taken exactly as it stands', async () => {
    world.openai.script(openaiChat());
    for (const name of ['GPT-model', ' gpt-model', 'gpt-model ', 'openai/gpt-model', 'gpt-model-latest']) {
      assert.equal((await post(world, '/v1/chat/completions', chat(name))).status, 404, name);
      assert.equal((await get(world, `/v1/models/${encodeURIComponent(name)}`)).status, 404, name);
    }
    assert.equal((await post(world, '/v1/chat/completions', chat('gpt-model'))).status, 200);
  });
});

describe('GET /v1/key', () => {
  it('tells the calling key, with what is held while a call runs', async () => {
    const waiting = gated(openaiChat({ usage: { prompt_tokens: 1000, completion_tokens: 100 } }));
    world.openai.script(waiting.reply);
    const call = post(world, '/v1/chat/completions', chat('text-model', { max_tokens: 100 }), as('monthly'));
    await waiting.gate.reached;
    const running = (await get(world, '/v1/key', as('monthly'))).json();
    assert.ok(Number(running.held_usd) >= 0.001, running.held_usd);
    assert.deepEqual(
      [running.spent_usd, running.remaining_usd], ['0.00', '5.50'], 'remaining is limit less spent, whatever is held',
    );
    waiting.gate.open();
    await call;
    const { balance_usd: balance, ...rest } = (await get(world, '/v1/key', as('monthly'))).json();
    assert.match(balance, /^999\.9\d+$/);
    assert.deepEqual(rest, {
      object: 'key', namespace:
        'team', name: 'monthly', key_prefix: KEY('monthly').slice(0, 8), account: 'team', group: 'main', enabled: true,
      models: [
        'gpt-model', 'text-model',
      ], quota: { limit_usd: '5.50', period: 'Monthly', resets_at: '2026-04-01T00:00:00Z' },
      spent_usd: '0.0035', held_usd: '0.00', remaining_usd: '5.4965', expires_at: '2027-01-01T00:00:00Z',
    });
  });
  it('says Unlimited, or null, for what there is not', async () => {
    const key = (await get(world, '/v1/key')).json();
    assert.deepEqual([
      key.quota, key.remaining_usd, key.models, key.expires_at,
    ], [{ limit_usd: 'Unlimited', period: 'Never', resets_at: null }, 'Unlimited', null, null]);
  });
  it('starts a new period at midnight UTC; a call belongs to the period it was admitted in', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 100 };
    const waiting = gated(openaiChat({ usage }));
    world.openai.script(waiting.reply);
    const call = post(world, '/v1/chat/completions', chat('gpt-model', { max_tokens: 100 }), as('daily'));
    await waiting.gate.reached;
    nowMs = Date.parse('2026-04-01T00:00:05Z');
    waiting.gate.open();
    const answer = await call;
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.0035');
    const today = (await get(world, '/v1/key', as('daily'))).json();
    assert.deepEqual(
      [today.spent_usd, today.remaining_usd, today.quota.resets_at], ['0.00', '5.00', '2026-04-02T00:00:00Z'],
    );
  });
  it('refuses a key from the moment it expires', async () => {
    world.openai.script(openaiChat());
    nowMs = Date.parse('2026-12-31T23:59:59.999Z');
    assert.equal((await post(world, '/v1/chat/completions', chat(), as('monthly'))).status, 200);
    nowMs = Date.parse('2027-01-01T00:00:00Z');
    const answer = await post(world, '/v1/chat/completions', chat(), as('monthly'));
    assert.equal(answer.status, 401);
    assert.match(answer.json().error.message, /expired/);
  });
});

describe('POST /v1/messages/count_tokens', () => {
  const body = '{ "model": "claude-model",\n "messages":[{"role":"user","content":"h\\u00e9llo 1.0"}], "odd": 1.50 }';
  it('asks a provider that counts, byte for byte, and costs nothing', async () => {
    const before = await spending(world);
    world.anthropic.script(json({ input_tokens: 42 }));
    const answer = await post(world, '/v1/messages/count_tokens', body, { 'anthropic-beta': 'some-beta' });
    assert.deepEqual([answer.status, answer.json()], [200, { input_tokens: 42 }]);
    const asked = await world.anthropic.request(0);
    assert.deepEqual([
      asked.path, asked.body.toString(), asked.headers['anthropic-beta'],
    ], ['/v1/messages/count_tokens', body, 'some-beta']);
    assert.ok(!JSON.stringify(asked.headers).includes(KEYS.main));
    assert.deepEqual(await spending(world), before);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), null);
  });
  it('asks it under its own name of the model', async () => {
    world.anthropic.script(json({ input_tokens: 7 }));
    assert.deepEqual((await post(
      world, '/v1/messages/count_tokens', { model: 'vendor/model-1.0', messages: [{ role: 'user', content: 'x' }] },
    )).json(), { input_tokens: 7 });
    assert.equal((await world.anthropic.request(0)).json()['model'], 'upstream-1');
  });
  it('estimates for a provider of the other protocol, and for one that does not answer', async () => {
    const long = { messages: [{ role: 'user', content: 'word '.repeat(1000) }] };
    const other = await post(world, '/v1/messages/count_tokens', { model: 'gpt-model', ...long });
    assert.equal(world.openai.requests.length, 0);
    world.anthropic.script(json({}, { status: 500 }));
    const failed = await post(world, '/v1/messages/count_tokens', { model: 'claude-model', ...long });
    for (const answer of [other, failed]) {
      const { input_tokens: tokens } = answer.json();
      assert.ok(answer.status === 200 && tokens > 900 && tokens < 1200, answer.text);
    }
  });
  it('is refused like a call, in Anthropic\'s dialect', async () => {
    for (const [model, status, type] of [
      ['nothing', 404, 'not_found_error'], ['unpriced-model', 503, 'api_error'],
    ] as const) {
      const answer = await post(world, '/v1/messages/count_tokens', { ...message(model) });
      assert.deepEqual([answer.status, answer.json().type, answer.json().error.type], [status, 'error', type]);
    }
    assert.equal((await post(world, '/v1/messages/count_tokens', { model: 'claude-model' })).status, 400);
    assert.equal((await post(world, '/v1/messages/count_tokens', body, { 'no-key': '1' })).status, 401);
  });
});

describe('embeddings and images', () => {
  it('embeddings pass byte for byte, both ways', async () => {
    const reply = openaiEmbeddings([[0.1, 1e-7]], 4);
    world.openai.script(reply);
    const body = '{"input": ["caf\\u00e9", "b"], "model":"embed-model","encoding_format":"float", "odd": 1.0}';
    const answer = await post(world, '/v1/embeddings', body);
    assert.equal((await world.openai.request(0)).path, '/v1/embeddings');
    assert.equal((await world.openai.request(0)).body.toString(), body);
    const [sent] = reply.steps;
    assert.ok(typeof sent === 'object' && 'bytes' in sent);
    assert.equal(answer.text, sent.bytes);
  });
  it('a model of another endpoint is not found, a wrong field is named', async () => {
    assert.equal(
      (await post(world, '/v1/embeddings', { model: 'gpt-model', input: 'x' })).json().error.code, 'model_not_found',
    );
    assert.equal(
      (await post(world, '/v1/images/generations', { model: 'embed-model', prompt: 'x' })).json().error.code,
      'model_not_found',
    );
    for (const [path, body, param] of [
      ['/v1/embeddings', { model: 'embed-model' }, 'input'], ['/v1/embeddings', { input: 'x' }, 'model'],
      [
        '/v1/images/generations', { model: 'image-model' }, 'prompt',
      ], ['/v1/images/generations', { model: 'image-model', prompt: 'x', n: 0 }, 'n'],
    ] as const) {
      const answer = await post(world, path, body);
      assert.deepEqual(
        [answer.status, answer.json().error.type, answer.json().error.param], [400, 'invalid_request_error', param],
      );
    }
  });
  it('images with a price per token only are not priced, and the message says what is missing', async () => {
    await world.gateway.write('painter.yaml', `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: painter}
spec: {models: [{name: painter, endpoints: [Images]}], channels: [{name: c, protocol: OpenAI, baseUrl: ${world.openai.url}/v1}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: painter}
spec: {models: [{name: painter, vendor: V, quotaType: Token, modelRatio: "1"}]}
`);
    const answer = await post(world, '/v1/images/generations', { model: 'painter', prompt: 'x' });
    assert.deepEqual([answer.status, answer.json().error.code], [503, 'model_not_priced']);
    assert.match(answer.json().error.message, /quotaType Request/);
    await world.gateway.write('painter.yaml', '# nothing\n');
  });
  it('images cost their number, whatever the provider says of tokens, and pass byte for byte', async () => {
    const body = '{"prompt":"a \\u00e9", "model":"image-model","n":2, "size":"1024x1024"}';
    world.openai.script(openaiImages(2));
    const answer = await post(world, '/v1/images/generations', body);
    assert.equal((await world.openai.request(0)).body.toString(), body);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.08');
    assert.equal(answer.json().data.length, 2);
    assert.equal((await usageOf(answer.headers.get('x-request-id'))).usage_source, 'Provider');
  });
  it('images stream: drafts as they come, the last one once it is paid', async () => {
    const { ledger } = world.gateway;
    const settle = ledger.settle.bind(ledger);
    const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    ledger.settle = async (settlement) => { asked.resolve(); await release.promise; return settle(settlement); };
    const event = (type: string): { event: string; data: object } =>
      ({ event: `image_generation.${type}`, data: { type: `image_generation.${type}`, b64_json: 'iVBORw0KGgo=' } });
    world.openai.script(sseReply(event('partial_image'), event('completed')));
    const draft = Promise.withResolvers<void>();
    let text = '';
    try {
      const response = await fetch(`${world.gateway.url}/v1/images/generations`, {
        method: 'POST', headers: { 'x-api-key': KEYS.main },
        body: JSON.stringify({ model: 'image-model', prompt: 'a cat', stream: true, partial_images: 1 }),
      });
      const reading = (async () => { for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes('partial_image')) draft.resolve();
      } })();
      await Promise.all([asked.promise, draft.promise]);
      assert.ok(!text.includes('completed'), text);
      release.resolve();
      await reading;
      assert.ok(text.includes('image_generation.completed'));
      assert.equal((await usageOf(response.headers.get('x-request-id'))).cost_usd, '0.04');
    } finally {
      ledger.settle = settle;
      release.resolve();
    }
  });
});

describe('request ids', () => {
  it('are on every response, streams, refusals and free endpoints included, and are the gateway\'s own', async () => {
    world.openai.script(openaiStream());
    world.anthropic.script(anthropicMessage());
    const answers = await Promise.all([
      post(world, '/v1/chat/completions', chat('gpt-model', { stream: true })), post(world, '/v1/messages', message()),
      post(world, '/v1/messages/count_tokens', message()), post(world, '/v1/chat/completions', 'no json'),
      get(world, '/v1/models'), get(
        world, '/v1/key',
      ), get(world, '/v1/usage/nothing'), get(world, '/pricing'), get(world, '/pricing.json'), get(world, '/nothing'),
      get(world, '/v1/chat/completions'), get(world, '/v1/key', { 'no-key': '1' }), get(world, '/v1/models/%ZZ'),
    ]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '');
    for (const [index, id] of ids.entries()) {
      assert.match(id, /^req_[0-9a-f]{32}$/);
      assert.equal(answers[index]?.headers.get('request-id'), id);
    }
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe('GET /v1/usage/{id}', () => {
  it('tells of any call that money was held for, however it ended', async () => {
    const status = async (answer: Answer): Promise<unknown> => {
      const { status: ended, cost_usd: cost, usage_source: source } = await usageOf(answer.headers.get('x-request-id'));
      return [ended, Number(cost) > 0, source];
    };
    world.openai.script(openaiChat());
    assert.deepEqual(await status(await post(world, '/v1/chat/completions', chat())), ['Succeeded', true, 'Provider']);
    world.openai.script(openaiError(500));
    assert.deepEqual(await status(await post(world, '/v1/chat/completions', chat())), ['Failed', false, 'Provider']);
    world.openai.script(breakAt(openaiStream(['a', 'b']), 2, CUT));
    assert.deepEqual(await status(await post(world, '/v1/chat/completions', chat('gpt-model', { stream: true }))), [
      'ProviderCut', true, 'Partial',
    ]);
  });
  it('has exactly the fields of the contract', async () => {
    world.anthropic.script(anthropicMessage({ usage: { input_tokens:
      5, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 } }));
    const answer = await post(world, '/v1/messages', message());
    const { duration_ms: duration, ...rest } = await usageOf(answer.headers.get('x-request-id'));
    assert.equal(typeof duration, 'number');
    assert.deepEqual(rest, {
      object: 'usage', id: answer.headers.get('x-request-id'), created_at:
        '2026-03-31T15:00:00Z', model: 'claude-model', group: 'main', channel: 'anthropic/direct',
      status: 'Succeeded', input_tokens:
        5, cached_tokens: 3, cache_write_tokens: 4, cache_write_5m_tokens: 4, cache_write_1h_tokens: 0,
        output_tokens: 2, usage_source: 'Provider',
      cost_usd: answer.headers.get('x-modelgateway-cost-usd'), unbilled_usd: '0.00',
    });
  });
  it('unknown: 404 not_found', async () => {
    const answer = await get(world, '/v1/usage/req_00000000000000000000000000000000');
    assert.deepEqual([answer.status, answer.json().error.code], [404, 'not_found']);
  });
});

describe('a ledger that does not answer', () => {
  it('is 503 with retry-after on every endpoint that needs it; the others go on', async () => {
    const { ledger } = world.gateway;
    const [hold, readKey, readUsage] =
      [ledger.hold.bind(ledger), ledger.readKey.bind(ledger), ledger.readUsage.bind(ledger)];
    const unavailable = (): Promise<never> => Promise.reject(new LedgerUnavailable('gone'));
    Object.assign(ledger, { hold: unavailable, readKey: unavailable, readUsage: unavailable });
    try {
      const openai = [await post(
        world, '/v1/chat/completions', chat(),
      ), await get(world, '/v1/key'), await get(world, '/v1/usage/req_1')];
      for (const answer of openai) assert.deepEqual([
        answer.status, answer.json().error.type, answer.json().error.code,
      ], [503, 'server_error', 'ledger_unavailable']);
      const anthropic = await post(world, '/v1/messages', message());
      assert.deepEqual([anthropic.status, anthropic.json().error.type], [503, 'api_error']);
      for (const answer of [...openai, anthropic]) assert.ok(Number(answer.headers.get('retry-after')) >= 1);
      assert.equal(world.openai.requests.length + world.anthropic.requests.length, 0);
      assert.equal((await get(world, '/v1/models')).status, 200);
      assert.equal((await get(world, '/pricing')).status, 200);
    } finally {
      Object.assign(ledger, { hold, readKey, readUsage });
    }
  });
});

describe('what the answer says of money', () => {
  it('a lowered limit is told in streams and in Anthropic\'s dialect too', async () => {
    world.openai.script(openaiStream());
    world.anthropic.script(anthropicMessage());
    for (const answer of [
      await post(world, '/v1/chat/completions', chat('gpt-model', { stream: true }), { 'x-api-key': KEYS.small }),
      await post(world, '/v1/messages', message('claude-model', { max_tokens: 4000 }), { 'x-api-key': KEYS.small }),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      const told = Number(answer.headers.get('x-modelgateway-max-tokens'));
      assert.ok(told >= 256 && told < 4000, String(told));
    }
    assert.equal((await world.anthropic.request(0)).json()['max_tokens'] as number < 4000, true);
  });
  it('streams and refusals carry no cost', async () => {
    const waiting = gate();
    world.openai.script(insertAt(openaiStream(), 2, waiting));
    waiting.open();
    const streamed = await post(world, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    const refused = await post(world, '/v1/chat/completions', chat('no-model'));
    for (const { headers } of [streamed, refused]) {
      assert.equal(headers.get('x-modelgateway-cost-usd'), null);
      assert.equal(headers.get('x-modelgateway-max-tokens'), null);
    }
  });
  it('`model` stays as the provider wrote it', async () => {
    world.openai.script(openaiChat({ model: 'upstream-name-7-2026' }));
    assert.equal(
      (await post(world, '/v1/chat/completions', chat('renamed-model'))).json().model, 'upstream-name-7-2026',
    );
  });
});
