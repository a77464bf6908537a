import assert from 'node:assert/strict';
import { it } from 'vitest';
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts';
import { reportOf } from './report.ts';

it('timeouts are counted by key, for a limited number of keys', async () => {
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
