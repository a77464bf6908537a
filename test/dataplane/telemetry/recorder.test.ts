/** The text format of the metrics' page, where it is easily wrong: escapes, cumulative buckets, values that look alike. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { METRICS } from '../../../dataplane/telemetry/metric-table.ts';
import { createRecorder } from '../../../dataplane/telemetry/recorder.ts';

function linesOf(page: string, name: string): string[] {
  return page.split('\n').filter((line) => line.startsWith(name));
}

describe('the page', () => {
  it('has help and type of every metric, once, and ends with a line break', () => {
    const page = createRecorder().render();
    for (const [name, { type, help }] of Object.entries(METRICS)) {
      assert.equal(page.split(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`).length, 2, name);
    }
    assert.ok(page.endsWith('\n') && !page.includes('\n\n'));
  });

  it('shows what has no labels from the start, and nothing else', () => {
    const samples = createRecorder().render().split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.ok(samples.includes('modelgateway_config_rejected_total 0'));
    assert.ok(samples.every((line) => !line.includes('{')), samples.join('\n'));
  });

  it('escapes label values', () => {
    const recorder = createRecorder();
    recorder.add('modelgateway_upstream_retries_total', { channel: 'a"b\\c\nd' }, 1);
    assert.deepEqual(linesOf(recorder.render(), 'modelgateway_upstream_retries_total{'), ['modelgateway_upstream_retries_total{channel="a\\"b\\\\c\\nd"} 1']);
  });

  it('keeps series apart whose values read alike when joined', () => {
    const recorder = createRecorder();
    recorder.add('modelgateway_cost_usd_total', { model: 'a', group: 'b' }, 1);
    recorder.add('modelgateway_cost_usd_total', { model: 'ab', group: '' }, 2);
    recorder.add('modelgateway_cost_usd_total', { model: 'a', group: 'b' }, 0.5);
    assert.deepEqual(linesOf(recorder.render(), 'modelgateway_cost_usd_total{'),
      ['modelgateway_cost_usd_total{model="a",group="b"} 1.5', 'modelgateway_cost_usd_total{model="ab",group=""} 2']);
  });

  it('counts a value at a bound into its bucket, and buckets into those above', () => {
    const recorder = createRecorder();
    for (const value of [0.01, 0.011, 3, 100]) recorder.observe('gen_ai_server_time_per_output_token_seconds', {}, value);
    const lines = linesOf(recorder.render(), 'gen_ai_server_time_per_output_token_seconds');
    const labels = 'gen_ai_operation_name="",gen_ai_provider_name="",gen_ai_request_model=""';
    assert.equal(lines[0], `gen_ai_server_time_per_output_token_seconds_bucket{${labels},le="0.01"} 1`);
    assert.equal(lines[1], `gen_ai_server_time_per_output_token_seconds_bucket{${labels},le="0.025"} 2`);
    assert.deepEqual(lines.slice(-4), [
      `gen_ai_server_time_per_output_token_seconds_bucket{${labels},le="2.5"} 2`,
      `gen_ai_server_time_per_output_token_seconds_bucket{${labels},le="+Inf"} 4`,
      `gen_ai_server_time_per_output_token_seconds_sum{${labels}} 103.021`,
      `gen_ai_server_time_per_output_token_seconds_count{${labels}} 4`,
    ]);
  });
});
