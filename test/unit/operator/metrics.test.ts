import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createOperatorMetrics, OPERATOR_METRICS } from '../../../operator/metrics.ts';

test('the registry has the metrics of the table and no others', async () => {
  const registered = await createOperatorMetrics().registry.getMetricsAsJSON();
  assert.deepEqual(
    registered.map(({ name, type, help }) => [name, String(type), help]),
    Object.entries(OPERATOR_METRICS).map(([name, { type, help }]) => [name, type, help]),
  );
});

test('the meter writes counters, gauges and histograms', async () => {
  const { registry, meter } = createOperatorMetrics();
  meter.add('modelgateway_operator_events_total', { outcome: 'ok' }, 2);
  meter.add('modelgateway_operator_events_total', { outcome: 'ok' }, 1);
  meter.add('modelgateway_operator_reconcile_errors_total', {}, 1);
  meter.set('modelgateway_operator_leader', {}, 1);
  meter.observe('modelgateway_operator_reconcile_duration_seconds', {}, 0.2);
  const lines = (await registry.metrics()).split('\n');
  for (const line of [
    'modelgateway_operator_events_total{outcome="ok"} 3',
    'modelgateway_operator_reconcile_errors_total 1',
    'modelgateway_operator_leader 1',
    'modelgateway_operator_reconcile_duration_seconds_bucket{le="0.1"} 0',
    'modelgateway_operator_reconcile_duration_seconds_bucket{le="0.25"} 1',
    'modelgateway_operator_reconcile_duration_seconds_sum 0.2',
    'modelgateway_operator_status_queue 0',
  ])
    assert.ok(lines.includes(line), line);
});

test('gauges with a collector are read at each scrape', async () => {
  let proxies = 1;
  const { registry } = createOperatorMetrics({
    modelgateway_operator_proxies: (gauge) => gauge.set({ at: 'here' }, proxies),
  });
  assert.match(await registry.metrics(), /^modelgateway_operator_proxies\{at="here"\} 1$/m);
  proxies = 2;
  assert.match(await registry.metrics(), /^modelgateway_operator_proxies\{at="here"\} 2$/m);
});
