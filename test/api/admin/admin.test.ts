/** The admin port of a running process: health, readiness, metrics of calls, a configuration dump without secrets. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { KEYS, PROVIDER_KEYS, keyManifest } from '../../support/manifests.ts';
import { gated, openaiChat, openaiError, openaiStream } from '../../support/provider-answers.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import type { MockProvider } from '../../support/mock-provider.ts';
import { chat, get, post, startTestStack } from '../../support/api/test-stack.ts';
import type { Answer, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
let stack: TestStack;
let second: MockProvider;
beforeAll(async () => {
  second = await startMockProvider();
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'two.yaml': `${HEAD}ModelRoute
metadata: {name: two}
spec:
  models: [{name: two-model, contextTokens: 100000, maxOutputTokens: 100}]
  channels: [{name: a, protocol: OpenAI, baseUrl: ${openaiUrl}/v1, maxConcurrency: 1},
    {name: b, protocol: OpenAI, baseUrl: ${second.url}/v1, priority: 1}]
---
${HEAD}PriceCatalog
metadata: {name: two}
spec: {models: [{name: two-model, vendor: V, quotaType: Token, modelRatio: "1"}]}
`,
    }),
  });
});
afterAll(async () => {
  await stack.stop();
  await second.stop();
});

const admin = (path: string): Promise<Response> => fetch(stack.gateway.adminUrl + path);

/** Metrics by name and labels, as Prometheus reads them. */
async function metrics(): Promise<(name: string) => number> {
  const lines = (await (await admin('/metrics')).text())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const values = new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
  return (name) => values.get(name) ?? 0;
}

/** How much an action adds to each of these metrics. */
async function added(names: readonly string[], work: () => Promise<unknown>): Promise<number[]> {
  const before = await metrics();
  await work();
  const now = await metrics();
  return names.map((name) => Math.round((now(name) - before(name)) * 1e9) / 1e9);
}

const two = (more = {}): Promise<Answer> => post(stack, '/v1/chat/completions', chat('two-model', more));

/** A body of at most 1000 tokens. */
const LONG = [{ role: 'user', content: 'x'.repeat(1000) }];

describe('metrics', () => {
  it('count the requests, tokens, cost and time to first token of a call', async () => {
    stack.openai.script(
      openaiStream(['a', 'b'], {
        usage: { prompt_tokens: 1000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 400 } },
      }),
    );
    const labels = 'model="gpt-model",group="main"';
    const genAi = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-model"';
    assert.deepEqual(
      await added(
        [
          'modelgateway_requests_total{endpoint="chat_completions",dialect="OpenAI",status="200",error_code=""}',
          'modelgateway_request_duration_seconds_count{endpoint="chat_completions",stream="true"}',
          `modelgateway_calls_total{${labels},call_status="Succeeded",usage_source="Provider"}`,
          `modelgateway_tokens_total{${labels},token_type="input"}`,
          `modelgateway_tokens_total{${labels},token_type="cached"}`,
          `modelgateway_tokens_total{${labels},token_type="output"}`,
          `modelgateway_cost_usd_total{${labels}}`,
          `gen_ai_server_time_to_first_token_seconds_count{${genAi}}`,
          `gen_ai_server_request_duration_seconds_count{${genAi},error_type=""}`,
          `gen_ai_client_token_usage_sum{${genAi},gen_ai_token_type="input"}`,
          `gen_ai_client_token_usage_sum{${genAi},gen_ai_token_type="output"}`,
          'modelgateway_ledger_duration_seconds_count{operation="hold",outcome="Held"}',
          'modelgateway_ledger_duration_seconds_count{operation="settle",outcome="Settled"}',
        ],
        () => post(stack, '/v1/chat/completions', chat('gpt-model', { stream: true, messages: LONG })),
      ),
      [1, 1, 1, 600, 400, 200, 0.004, 1, 1, 1000, 200, 1, 1],
    );
  });
  it('show holds and slots while a call runs, and none after it', async () => {
    const waiting = gated(openaiChat());
    stack.openai.script(waiting.reply);
    const call = two();
    await waiting.gate.reached;
    const running = await metrics();
    assert.deepEqual([running('modelgateway_holds'), running('modelgateway_slots_in_use{scope="Channel"}')], [1, 1]);
    assert.ok(running('modelgateway_held_usd') > 0);
    waiting.gate.open();
    await call;
    const over = await metrics();
    assert.deepEqual(
      ['modelgateway_holds', 'modelgateway_held_usd', 'modelgateway_slots_in_use{scope="Channel"}'].map(over),
      [0, 0, 0],
    );
  });
  it('count attempts, retries, and channels that were full', async () => {
    second.script(openaiChat());
    stack.openai.script(openaiError(500));
    const names = [
      'channel="two/a",outcome="status_500"',
      'channel="two/a",outcome="full"',
      'channel="two/b",outcome="ok"',
    ].map((labels) => `modelgateway_upstream_attempts_total{${labels}}`);
    assert.deepEqual(
      await added([...names, 'modelgateway_upstream_retries_total{channel="two/b"}'], () => two()),
      [1, 0, 1, 1],
    );
    const waiting = gated(openaiChat());
    stack.openai.script(waiting.reply);
    assert.deepEqual(
      await added([...names, 'modelgateway_upstream_retries_total{channel="two/b"}'], async () => {
        const first = two();
        await waiting.gate.reached;
        await two();
        waiting.gate.open();
        await first;
      }),
      [0, 1, 1, 0],
    );
  });
  it('lose the series of a renamed model and a removed channel', async () => {
    const manifest = (model: string, channel: string): string => `${HEAD}ModelRoute
metadata: {name: passing}
spec:
  models: [{name: ${model}, contextTokens: 100000, maxOutputTokens: 100}]
  channels: [{name: ${channel}, protocol: OpenAI, baseUrl: ${second.url}/v1}]
---
${HEAD}PriceCatalog
metadata: {name: passing}
spec: {models: [{name: ${model}, vendor: V, quotaType: Token, modelRatio: "1"}]}
`;
    const page = async (): Promise<string> => (await admin('/metrics')).text();
    await stack.gateway.write('passing.yaml', manifest('old-name', 'old-channel'));
    const waiting = gated(openaiChat());
    second.script(openaiChat(), waiting.reply);
    assert.equal((await post(stack, '/v1/chat/completions', chat('old-name'))).status, 200);
    assert.match(await page(), /"old-name"[^]*"passing\/old-channel"/);
    const running = post(stack, '/v1/chat/completions', chat('old-name'));
    await waiting.gate.reached;
    await stack.gateway.write('passing.yaml', manifest('new-name', 'new-channel'));
    assert.match(await page(), /"old-name"/, 'told once more, with what came since the last scrape');
    assert.doesNotMatch(await page(), /old-name|old-channel/);
    waiting.gate.open();
    assert.equal((await running).status, 200);
    assert.match(await page(), /modelgateway_calls_total\{model="old-name".*\} 1$/m, 'the call that was running');
    assert.doesNotMatch(await page(), /old-name|old-channel/);
    second.script(openaiChat());
    assert.equal((await post(stack, '/v1/chat/completions', chat('new-name'))).status, 200);
    assert.match(await page(), /"new-name"/);
  });
  it('count unbilled money, refusals by error code, and edits', async () => {
    await stack.gateway.write(
      'tiny.yaml',
      keyManifest('tiny', 'sk-test-tiny-000000000000000000000000000000', 'quota: {limitUsd: "0.01"}'),
    );
    // a web search has no bound, so the provider's usage is believed
    const search = { max_tokens: 300, web_search_options: {} };
    stack.openai.script(openaiChat({ usage: { prompt_tokens: 4, completion_tokens: 1999 } }));
    assert.deepEqual(
      await added(
        [
          'modelgateway_unbilled_usd_total{model="tools-model",group="main"}',
          'modelgateway_requests_total{endpoint="chat_completions",dialect="OpenAI",status="429",' +
            'error_code="insufficient_quota"}',
          'modelgateway_requests_total{endpoint="other",dialect="OpenAI",status="404",error_code="not_found"}',
          'modelgateway_config_generation',
        ],
        async () => {
          const headers = { 'x-api-key': 'sk-test-tiny-000000000000000000000000000000' };
          assert.equal((await post(stack, '/v1/chat/completions', chat('tools-model', search), headers)).status, 200);
          assert.equal((await post(stack, '/v1/chat/completions', chat('tools-model', search), headers)).status, 429);
          await get(stack, '/somewhere/else');
          await stack.gateway.write(
            'tiny.yaml',
            keyManifest('tiny', 'sk-test-tiny-000000000000000000000000000000', 'quota: {limitUsd: "0.02"}'),
          );
        },
      ),
      [0.01, 1, 1, 1],
    );
  });
  it('have no label whose value a client can choose', async () => {
    await post(stack, '/v1/chat/completions', chat('a-model-that-nobody-has'));
    await get(stack, '/a-path-that-nobody-has');
    const text = await (await admin('/metrics')).text();
    for (const unbounded of ['nobody-has', 'team/main', 'sk-', 'req_']) assert.ok(!text.includes(unbounded), unbounded);
    assert.match(text, /^modelgateway_build_info\{version="test"/m);
    assert.match(text, /^modelgateway_event_loop_lag_seconds\{quantile="0\.99"\} \d/m);
  });
});

describe('config_dump', () => {
  it('shows the configuration in force with prefixes of keys, without hashes and secrets', async () => {
    const response = await admin('/config_dump');
    assert.equal(response.status, 200);
    const text = await response.text();
    const { snapshot } = JSON.parse(text);
    const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);
    assert.ok(
      names(snapshot.keys).includes('main') &&
        names(snapshot.routes).includes('two') &&
        names(snapshot.groups).includes('main'),
    );
    assert.match(text, /"prefix": "sk-/);
    assert.doesNotMatch(text, /[0-9a-f]{64}/);
    for (const secret of [...Object.values(KEYS), ...Object.values(PROVIDER_KEYS)]) assert.ok(!text.includes(secret));
  });
});

describe('the public port and the admin port', () => {
  it("serve none of each other's paths", async () => {
    for (const path of ['/metrics', '/healthz', '/readyz', '/config_dump'])
      assert.equal((await get(stack, path)).status, 404);
    for (const path of ['/v1/models', '/pricing']) assert.equal((await admin(path)).status, 404);
  });
});

describe('health', () => {
  it('reports alive and ready; while draining, alive and not ready', async () => {
    const own = await startTestStack();
    try {
      const ask = async (path: string): Promise<number> => (await fetch(own.gateway.adminUrl + path)).status;
      assert.deepEqual([await ask('/healthz'), await ask('/readyz')], [200, 200]);
      const waiting = gated(openaiChat());
      own.openai.script(waiting.reply);
      const running = post(own, '/v1/chat/completions', chat());
      await waiting.gate.reached;
      const drained = own.gateway.dataplane.drain();
      assert.deepEqual([await ask('/healthz'), await ask('/readyz')], [200, 503]);
      assert.match(await (await fetch(`${own.gateway.adminUrl}/readyz`)).text(), /shutting down/);
      waiting.gate.open();
      assert.equal((await running).status, 200);
      await drained;
      await assert.rejects(ask('/healthz'));
    } finally {
      await own.stop();
    }
  });
});
