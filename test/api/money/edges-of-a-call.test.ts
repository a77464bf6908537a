/**
 * Moments at which a call could be billed or routed wrongly: edits while it runs, clients that leave early, odd
 * providers.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS, keyManifest } from '../../support/manifests.ts';
import { gate, CUT, STALL } from '../../support/mock-provider.ts';
import { json, openaiChat, openaiError, openaiStream, sseReply } from '../../support/provider-answers.ts';
import { chat, get, message, post, spending, startWorld, tidyUp } from '../../support/api/world.ts';
import type { World } from '../../support/api/world.ts';

const MOVING = 'sk-test-moving-0000000000000000000000000000';
const TWICE = 'sk-test-twice-00000000000000000000000000000';
const movingKey = (account: string): string =>
  keyManifest('moving', MOVING, `groupRef: {name: twice}\naccountRef: {name: ${account}}`);
let world: World;

beforeAll(async () => {
  world = await startWorld({ files: ({ openaiUrl, anthropicUrl }) => ({
    'moving.yaml': movingKey('team'),
    'twice.yaml': `${keyManifest('twice', TWICE, 'groupRef: {name: smart}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: rich, namespace: team}
spec: {grants: [{name: start, usd: "5000"}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: small}
spec:
  models: [{name: flat-model, contextTokens: 1000, maxOutputTokens: 100}, {name: shared-model, contextTokens: 1000, maxOutputTokens: 100}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${openaiUrl}/v1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: large}
spec:
  models: [{name: flat-model, contextTokens: 9000, maxOutputTokens: 8000}]
  channels: [{name: only, protocol: OpenAI, baseUrl: ${anthropicUrl}/v1, priority: 1}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: twice}
spec: {allowedNamespaces: {from: All}, routes: [{routeRef: {name: small}}, {routeRef: {name: large}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: dear}
spec: {priceRatio: "2", allowedNamespaces: {from: All}, routes: [{routeRef: {name: small}}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: smart}
spec: {type: Automatic, allowedNamespaces: {from: All}, members: [{name: twice}, {name: dear}]}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: flat}
spec:
  models:
  - {name: flat-model, vendor: V, quotaType: Request, requestUsd: "0.01"}
  - {name: shared-model, vendor: V, quotaType: Token, modelRatio: "1"}
`,
  }) });
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

describe('a retry', () => {
  it('after the key moved to another account is refused, and leaves both accounts as they were', async () => {
    const waiting = gate();
    world.openai.script({ ...openaiError(500), beforeHead: [waiting] });
    world.anthropic.script(openaiChat());
    const call = post(world, '/v1/chat/completions', chat('flat-model', { max_tokens: 50 }), { 'x-api-key': MOVING });
    await waiting.reached;
    await world.gateway.write('moving.yaml', movingKey('rich'));
    waiting.open();
    // one price for both channels: nothing has to be held again, or else it is refused
    assert.ok([200, 401].includes((await call).status));
    world.openai.script(openaiChat());
    assert.equal(
      (await post(world, '/v1/chat/completions', chat('gpt-model'))).status, 200, 'the old account is locked out',
    );
    await world.gateway.write('moving.yaml', movingKey('team'));
  });
  it('asks no channel twice, although two members share it', async () => {
    world.openai.script(openaiError(500));
    const answer =
      await post(world, '/v1/chat/completions', chat('shared-model', { max_tokens: 50 }), { 'x-api-key': TWICE });
    assert.equal(answer.status, 502);
    assert.equal(world.openai.requests.length, 1);
  });
  it('is sent with the next model\'s own output limit', async () => {
    world.openai.script(openaiError(500));
    world.anthropic.script(openaiChat());
    assert.equal((await post(world, '/v1/chat/completions', chat('flat-model'), { 'x-api-key': MOVING })).status, 200);
    assert.equal((await world.openai.request(0)).json()['max_completion_tokens'], 100);
    assert.equal((await world.anthropic.request(0)).json()['max_completion_tokens'], 8000);
  });
});

describe('a client that leaves', () => {
  it('while its money is being held is not served, and owes nothing', async () => {
    const { ledger } = world.gateway;
    const hold = ledger.hold.bind(ledger);
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    ledger.hold = async (request) => { asked.resolve(); await release.promise; return hold(request); };
    const before = await spending(world);
    try {
      const leaving = new AbortController();
      const call = fetch(`${world.gateway.url}/v1/chat/completions`, {
        method: 'POST', signal: leaving.signal, headers: { authorization: `Bearer ${KEYS.main}` }, body:
          JSON.stringify(chat('gpt-model', { stream: true })),
      });
      const gone = assert.rejects(call);
      await asked.promise;
      leaving.abort();
      await gone;
      // the server hears of it by its socket
      while (world.gateway.ledger.gauges().holds > 0) await new Promise((resolve) => { setImmediate(resolve); });
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    } finally {
      ledger.hold = hold;
      release.resolve();
    }
    while (!world.gateway.logs.some((line) => line.includes('"status":499')))
      await new Promise((resolve) => { setImmediate(resolve); });
    assert.equal(world.openai.requests.length, 0);
    assert.deepEqual(await spending(world), before);
  });
});

describe('a provider', () => {
  it('that only says that it is busy before it breaks off has produced nothing', async () => {
    const before = await spending(world);
    world.openai.script({
      headers: { 'content-type': 'text/event-stream' }, steps: [': PROCESSING\n\n', ': PROCESSING\n\n', CUT],
    });
    const answer = await post(world, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.match(answer.text, /"error"/);
    assert.deepEqual(await spending(world), before);
  });
  it('that says nothing of usage is not believed to have written more than it was allowed', async () => {
    world.openai.script(openaiChat({ content: 'x'.repeat(2100), usage: null }));
    const answer = await post(world, '/v1/chat/completions', chat('gpt-model', { max_tokens: 300 }));
    const usage = (await get(world, `/v1/usage/${answer.headers.get('x-request-id')}`)).json();
    assert.deepEqual([usage.usage_source, usage.output_tokens], ['Estimated', 300]);
  });
  it('that does not close a stream it has ended is left', async () => {
    world.openai.script({ ...openaiStream(['hi']), steps: [...openaiStream(['hi']).steps, STALL] });
    const answer = await post(world, '/v1/chat/completions', chat('gpt-model', { stream: true }));
    assert.ok(answer.text.endsWith('data: [DONE]\n\n'));
    const request = await world.openai.request(0);
    await request.over;
    assert.equal(request.clientGone, true);
  });
  it('that is overloaded says so in its first event, and the status still can', async () => {
    world.anthropic.script(sseReply({
      event: 'error', data: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    }));
    const answer = await post(world, '/v1/messages', message('claude-model', { stream: true }));
    assert.equal(answer.status, 529);
    assert.equal(answer.json().error.type, 'overloaded_error');
  });
});

describe('a header', () => {
  it('cannot lift the context that bounds the price', async () => {
    world.anthropic.script(json({}));
    const answer = await post(world, '/v1/messages', message(), {
      'x-api-key': KEYS.main, 'anthropic-beta': 'token-efficient-tools-2025-02-19, context-1m-2025-08-07',
    });
    assert.equal(answer.status, 400);
    assert.match(answer.json().error.message, /anthropic-beta/);
    assert.equal(world.anthropic.requests.length, 0);
  });
});
