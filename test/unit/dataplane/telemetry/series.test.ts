/** A registry writes the metrics of a table as it writes prom-client's own. */
import assert from 'node:assert/strict';
import { Counter, Histogram, Registry } from 'prom-client';
import { test } from 'vitest';
import { registerMetrics } from '../../../../dataplane/telemetry/metric-set.ts';
import type { MetricTable } from '../../../../dataplane/telemetry/metric-set.ts';

const TABLE = {
  calls_total: { type: 'counter', labels: ['model', 'status'], help: 'Calls.' },
  plain_total: { type: 'counter', labels: [], help: 'Counted\nwithout labels.' },
  seconds: { type: 'histogram', labels: ['model', 'status'], buckets: [0.1, 1, 10], help: 'Durations.' },
  plain_seconds: { type: 'histogram', labels: [], buckets: [0.5], help: 'Durations without labels.' },
} as const satisfies MetricTable;

function ours() {
  const registry = new Registry();
  return { registry, ...registerMetrics(registry, TABLE) };
}

function promClients() {
  const registry = new Registry();
  const registers = [registry];
  const configOf = (name: keyof typeof TABLE) => {
    const { help, labels: labelNames } = TABLE[name];
    return { name, help, labelNames, registers };
  };
  return {
    registry,
    calls_total: new Counter(configOf('calls_total')),
    plain_total: new Counter(configOf('plain_total')),
    seconds: new Histogram({ ...configOf('seconds'), buckets: [0.1, 1, 10] }),
    plain_seconds: new Histogram({ ...configOf('plain_seconds'), buckets: [0.5] }),
  };
}

test('the page before anything was counted', async () => {
  assert.equal(await ours().registry.metrics(), await promClients().registry.metrics());
});

test('the page after additions, of values on, between and beyond the bounds, and after a removal', async () => {
  const pages = [ours(), promClients()].map(({ registry, ...metrics }) => {
    for (const status of [200, 503, '']) {
      const labels = { status, model: 'a "b"\\c\n' };
      metrics.calls_total.inc(labels);
      metrics.calls_total.inc({ model: 'm', status }, 0.1);
      metrics.calls_total.inc({ model: 'm', status }, 0.2);
      for (const value of [0, 0.1, 0.2, 10, 11.5, 1e9]) metrics.seconds.observe(labels, value);
      metrics.plain_seconds.observe({}, 0.5);
      metrics.plain_total.inc({}, 2.5);
    }
    if ('series' in metrics.calls_total) {
      metrics.calls_total.series.removeWhere(({ model, status }) => model === 'm' && status === 503);
    } else metrics.calls_total.remove({ model: 'm', status: 503 });
    return registry.metrics();
  });
  const [page, promPage] = await Promise.all(pages);
  assert.equal(page, promPage);
  assert.match(page ?? '', /^seconds_bucket\{le="\+Inf",status="200",model="a \\"b\\"\\\\c\\n"\} 6$/m);
});

test('a registry takes a metric of one name once', () => {
  const { registry } = ours();
  assert.throws(() => registerMetrics(registry, TABLE), /already been registered/);
});
