import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { LedgerGauges } from '../../../../dataplane/ledger/ledger.ts';
import type { EndpointName } from '../../../../dataplane/telemetry/call-report.ts';
import type { MetricRow } from '../../../../dataplane/telemetry/metric-set.ts';
import { METRICS } from '../../../../dataplane/telemetry/metric-table.ts';
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts';
import type { Metrics } from '../../../../dataplane/telemetry/metrics.ts';
import { attemptOf, reportOf } from './report.ts';

/** The samples of a page, by name and sorted labels. */
async function samplesAfter(
  work: (metrics: Metrics) => void,
  ledger?: () => LedgerGauges,
): Promise<Map<string, number>> {
  const metrics = createMetrics({ version: '1.2.3', process, ...(ledger ? { ledger } : {}) });
  work(metrics);
  const page = await metrics.registry.metrics();
  metrics.close();
  const samples = new Map<string, number>();
  for (const line of page.split('\n')) {
    const match = /^([a-z0-9_]+)(?:\{(.*)\})? (.+)$/.exec(line);
    if (match) samples.set(`${match[1]}{${(match[2] ?? '').split(',').sort().join(',')}}`, Number(match[3]));
  }
  return samples;
}

function assertSamples(
  samples: ReadonlyMap<string, number>,
  expected: Readonly<Record<string, number | undefined>>,
): void {
  for (const [name, value] of Object.entries(expected)) assert.equal(samples.get(name), value, name);
}

const GEN_AI = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-5"';

test('a successful call is counted', async () => {
  const samples = await samplesAfter((metrics) => metrics.call(reportOf()));
  assertSamples(samples, {
    'modelgateway_requests_total{dialect="OpenAI",endpoint="chat_completions",error_code="",status="200"}': 1,
    'modelgateway_request_duration_seconds_count{endpoint="chat_completions",stream="true"}': 1,
    'modelgateway_calls_total{call_status="Succeeded",group="auto-a",model="gpt-5",usage_source="Provider"}': 1,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="input"}': 1000,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="cached"}': 200,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="cache_write_5m"}': 30,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="cache_write_1h"}': 4,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="output"}': 101,
    'modelgateway_cost_usd_total{group="auto-a",model="gpt-5"}': 0.03375,
    'modelgateway_unbilled_usd_total{group="auto-a",model="gpt-5"}': undefined,
    'modelgateway_upstream_attempts_total{channel="openai/direct",outcome="ok"}': 1,
    'modelgateway_upstream_attempt_duration_seconds_sum{channel="openai/direct"}': 0.5,
    'modelgateway_upstream_retries_total{channel="openai/direct"}': undefined,
    [`gen_ai_server_request_duration_seconds_count{error_type="",${GEN_AI}}`]: 1,
    [`gen_ai_server_time_to_first_token_seconds_sum{${GEN_AI}}`]: 0.5,
    [`gen_ai_server_time_to_first_token_seconds_bucket{${GEN_AI},le="0.25"}`]: 0,
    [`gen_ai_server_time_to_first_token_seconds_bucket{${GEN_AI},le="0.5"}`]: 1,
    [`gen_ai_client_token_usage_sum{${GEN_AI},gen_ai_token_type="input"}`]: 1234,
    [`gen_ai_client_token_usage_sum{${GEN_AI},gen_ai_token_type="output"}`]: 101,
  });
  const perToken = samples.get(`gen_ai_server_time_per_output_token_seconds_sum{${GEN_AI}}`) ?? 0;
  assert.equal(perToken.toFixed(6), '0.010001');
});

test('a session has the times of its responses, and none of its own', async () => {
  const labels = GEN_AI.replace('"chat"', '"realtime"');
  const { model = '' } = reportOf();
  const response = { model, protocol: 'OpenAI', outputTokens: 101, durationMs: 1500, firstOutputMs: 500 } as const;
  const samples = await samplesAfter((metrics) => {
    metrics.responded(response);
    metrics.responded({ ...response, firstOutputMs: undefined });
    metrics.call(reportOf({ endpoint: 'realtime' }));
  });
  assertSamples(samples, {
    [`gen_ai_server_time_to_first_token_seconds_count{${labels}}`]: 1,
    [`gen_ai_server_time_to_first_token_seconds_sum{${labels}}`]: 0.5,
    [`gen_ai_server_time_per_output_token_seconds_sum{${labels}}`]: 0.01,
    [`gen_ai_server_request_duration_seconds_count{error_type="",${labels}}`]: 1,
  });
});

test('retries, full channels and unbilled money are counted', async () => {
  const { billing } = reportOf();
  const samples = await samplesAfter((metrics) =>
    metrics.call(
      reportOf({
        attempts: [
          attemptOf('full', 'a/1'),
          attemptOf('status_503', 'a/2'),
          attemptOf('short', 'a/3'),
          attemptOf('connect', 'a/4'),
          attemptOf('ok', 'a/2'),
        ],
        billing: billing && { ...billing, tokens: { ...billing.tokens, cached: 0 }, unbilledNanoUsd: 5_000_000n },
      }),
    ),
  );
  assertSamples(samples, {
    'modelgateway_upstream_attempts_total{channel="a/1",outcome="full"}': 1,
    'modelgateway_upstream_attempts_total{channel="a/2",outcome="status_503"}': 1,
    'modelgateway_upstream_attempts_total{channel="a/4",outcome="connect"}': 1,
    'modelgateway_upstream_attempt_duration_seconds_count{channel="a/1"}': undefined,
    'modelgateway_upstream_attempt_duration_seconds_count{channel="a/2"}': 2,
    'modelgateway_upstream_retries_total{channel="a/2"}': 1,
    'modelgateway_upstream_retries_total{channel="a/3"}': undefined,
    'modelgateway_upstream_retries_total{channel="a/4"}': 1,
    'modelgateway_unbilled_usd_total{group="auto-a",model="gpt-5"}': 0.005,
    'modelgateway_tokens_total{group="auto-a",model="gpt-5",token_type="cached"}': undefined,
  });
});

test('a refused call counts as a request, and as a model call only if its model is configured', async () => {
  const refused = {
    httpStatus: 401,
    errorCode: 'invalid_api_key',
    key: undefined,
    model: undefined,
    group: undefined,
    attempts: [],
    billing: undefined,
    stream: false,
    firstByteMs: undefined,
  };
  const samples = await samplesAfter((metrics) => {
    metrics.call(reportOf(refused));
    metrics.call(reportOf({ ...refused, httpStatus: 429, errorCode: 'insufficient_quota', model: 'gpt-5' }));
    metrics.call(reportOf({ ...refused, endpoint: 'models', httpStatus: 200, errorCode: undefined }));
  });
  const names = [...samples.keys()].filter((name) => name.startsWith('gen_ai') && name.includes('_count{'));
  const labels =
    'error_type="insufficient_quota",gen_ai_operation_name="chat",gen_ai_provider_name="",' +
    'gen_ai_request_model="gpt-5"';
  assert.deepEqual(names, [`gen_ai_server_request_duration_seconds_count{${labels}}`]);
  const requests = 'modelgateway_requests_total{dialect="OpenAI"';
  assertSamples(samples, {
    [`${requests},endpoint="chat_completions",error_code="invalid_api_key",status="401"}`]: 1,
    [`${requests},endpoint="models",error_code="",status="200"}`]: 1,
  });
});

test('every endpoint that calls a model has an operation of OpenTelemetry', async () => {
  const operations: readonly (readonly [EndpointName, string | undefined])[] = [
    ['chat_completions', 'chat'],
    ['messages', 'chat'],
    ['responses', 'chat'],
    ['generate_content', 'generate_content'],
    ['embeddings', 'embeddings'],
    ['images', 'generate_content'],
    ['image_edits', 'generate_content'],
    ['embed_content', 'embeddings'],
    ['predict', 'generate_content'],
    ['image_variations', 'generate_content'],
    ['videos', 'generate_content'],
    ['speech', 'speech'],
    ['transcriptions', 'transcription'],
    ['translations', 'transcription'],
    ['count_tokens', undefined],
  ];
  for (const [endpoint, operation] of operations) {
    const samples = await samplesAfter((metrics) => metrics.call(reportOf({ endpoint })));
    const told = [...samples.keys()].find((name) => name.startsWith('gen_ai_server_request_duration_seconds_count'));
    assert.equal(/gen_ai_operation_name="(\w+)"/.exec(told ?? '')?.[1], operation, endpoint);
  }
});

test('ledger, configuration, build and process', async () => {
  const slots = { Key: 1, Group: 2, Channel: 3 };
  const ledger = (): LedgerGauges => ({ holds: 3, heldNanoUsd: 1_500_000_000n, slots });
  const samples = await samplesAfter((metrics) => {
    metrics.ledger('hold', 2, 'Held');
    metrics.configApplied(7, 1_700_000_000_500);
    metrics.configRejected();
  }, ledger);
  assertSamples(samples, {
    'modelgateway_ledger_duration_seconds_sum{operation="hold",outcome="Held"}': 0.002,
    'modelgateway_holds{}': 3,
    'modelgateway_held_usd{}': 1.5,
    'modelgateway_slots_in_use{scope="Group"}': 2,
    'modelgateway_config_generation{}': 7,
    'modelgateway_config_last_applied_timestamp_seconds{}': 1_700_000_000.5,
    'modelgateway_config_rejected_total{}': 1,
    [`modelgateway_build_info{node_version="${process.versions.node}",version="1.2.3"}`]: 1,
  });
  for (const name of [
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'nodejs_heap_size_used_bytes',
  ])
    assert.ok((samples.get(`${name}{}`) ?? 0) > 0, name);
  for (const quantile of ['0.5', '0.99', '1']) {
    const name = `modelgateway_event_loop_lag_seconds{quantile="${quantile}"}`;
    assert.ok((samples.get(name) ?? -1) >= 0, name);
  }
});

test('jobs by how they ended', async () => {
  const samples = await samplesAfter((metrics) => {
    for (const end of ['Completed', 'GivenUp', 'Completed'] as const) {
      metrics.jobEnded({ model: 'sora', group: 'g', end });
    }
  });
  assertSamples(samples, {
    'modelgateway_jobs_ended_total{end="Completed",group="g",model="sora"}': 2,
    'modelgateway_jobs_ended_total{end="GivenUp",group="g",model="sora"}': 1,
  });
});

test('a configuration that arrives over the network', async () => {
  const distribution = {
    connected: true,
    connections: 2,
    lastUpdateMs: 1_700_000_000_500,
    resources: 7,
    refused: 1,
    expiresInMs: 3_600_000,
  };
  const metrics = createMetrics({ version: '1', distribution: () => distribution });
  await metrics.registry.metrics();
  distribution.connections = 3;
  const page = await metrics.registry.metrics();
  metrics.close();
  const lines = page.split('\n').filter((line) => line.startsWith('modelgateway_xds_'));
  assert.deepEqual(lines, [
    'modelgateway_xds_connected 1',
    'modelgateway_xds_connections_total 3',
    'modelgateway_xds_last_update_timestamp_seconds 1700000000.5',
    'modelgateway_xds_config_expires_in_seconds 3600',
    'modelgateway_xds_resources 7',
    'modelgateway_xds_refused_resources 1',
  ]);
});

test('the registry has the metrics of the table and no others, those without labels from the start', async () => {
  const metrics = createMetrics({ version: '1' });
  const registered = await metrics.registry.getMetricsAsJSON();
  metrics.close();
  assert.deepEqual(
    registered.map(({ name, type, help }) => [name, String(type), help]),
    Object.entries(METRICS).map(([name, { type, help }]) => [name, type, help]),
  );
  for (const { name, values } of registered) {
    const { labels } = METRICS[name as keyof typeof METRICS];
    if (labels.length === 0)
      assert.deepEqual(
        values.map(({ labels: of }) => of),
        [{}],
        name,
      );
  }
  assert.equal(registered.find(({ name }) => name === 'modelgateway_config_rejected_total')?.values[0]?.value, 0);
});

test('label values are escaped', async () => {
  const metrics = createMetrics({ version: '1' });
  metrics.call(reportOf({ attempts: [attemptOf('ok', 'a"b\\c\nd')] }));
  const page = await metrics.registry.metrics();
  metrics.close();
  assert.ok(page.includes('\nmodelgateway_upstream_attempts_total{channel="a\\"b\\\\c\\nd",outcome="ok"} 1\n'), page);
});

test('gateways in one process share no metrics', async () => {
  const [one, other] = [createMetrics({ version: '1' }), createMetrics({ version: '1' })];
  one.configRejected();
  const page = await other.registry.metrics();
  one.close();
  other.close();
  assert.ok(page.includes('\nmodelgateway_config_rejected_total 0\n'));
});

test('a counter that is scraped again does not start over', async () => {
  const metrics = createMetrics({ version: '1', process });
  const cpu = async () => Number(/^process_cpu_seconds_total (.*)$/m.exec(await metrics.registry.metrics())?.[1]);
  const [first, second] = [await cpu(), await cpu()];
  metrics.close();
  assert.ok(first > 0 && second >= first, `${first} then ${second}`);
});

test("names and labels follow Prometheus' conventions, and only one metric has a label for a key", () => {
  const units = /_(seconds|bytes|usd|total|info|usage|holds|generation|in_use|connected|resources)$/;
  for (const [name, { type, labels, buckets }] of Object.entries<MetricRow>(METRICS)) {
    assert.match(name, /^(gen_ai|modelgateway|process|nodejs)_[a-z_]+$/);
    assert.match(name, units);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.equal(buckets !== undefined, type === 'histogram', name);
    assert.deepEqual(buckets, buckets && [...new Set(buckets)].sort((a, b) => a - b), name);
    // the one metric by key has a fixed number of series
    if (name === 'modelgateway_key_timeouts_total') assert.deepEqual(labels, ['key']);
    else for (const label of labels) assert.doesNotMatch(label, /key|account|path|request_id/);
  }
});

test('timeouts are told by key, for no more keys than fit', async () => {
  const metrics = createMetrics({ version: 'test' });
  const count = (name: string, timedOut: boolean): void =>
    metrics.call(reportOf({ timedOut, key: { uid: 'u1', namespace: 'team', name, prefix: 'sk-', account: 'team/a' } }));
  count('none', false);
  for (let n = 0; n < 5; n++) count('worst', true);
  for (let n = 0; n < 200; n++) count(`many-${n}`, true);
  const text = await metrics.registry.metrics();
  metrics.close();
  const lines = text.split('\n').filter((line) => line.startsWith('modelgateway_key_timeouts_total{'));
  assert.equal(lines.length, 50);
  assert.ok(lines.includes('modelgateway_key_timeouts_total{key="team/worst"} 5'));
  assert.ok(lines.includes('modelgateway_key_timeouts_total{key="team/many-199"} 1'));
  assert.ok(!text.includes('team/none') && !text.includes('team/many-3"'));
});
