/** Series of models, groups and channels leave with them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'vitest';
import type { Configured } from '../../../../dataplane/telemetry/departed-series.ts';
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts';
import type { Metrics } from '../../../../dataplane/telemetry/metrics.ts';
import { attemptOf, reportOf } from './report.ts';

function configuredAs(models: readonly string[], groups: readonly string[], channels: readonly string[]): Configured {
  const offers = new Map(models.map((model) => [model, {}]));
  return {
    groups: new Map(groups.map((group) => [group, { offers }])),
    targets: new Map(channels.map((channel) => [channel, {}])),
  };
}

const WHOLE = configuredAs(['gpt-5', 'gpt-6'], ['auto-a', 'auto-b'], ['openai/direct', 'openai/spare']);
let configured: Configured;
let nowMs: number;
let metrics: Metrics;

beforeEach(() => {
  [configured, nowMs] = [WHOLE, 0];
  metrics = createMetrics({ version: '1', configured: () => configured, monotonicMs: () => nowMs });
});
afterEach(() => metrics.close());

function call(model = 'gpt-5', group = 'auto-a', channel = 'openai/direct'): void {
  const { billing } = reportOf();
  const attempts = [attemptOf('status_503', channel), attemptOf('ok', channel)];
  metrics.call(
    reportOf({ model, group, attempts, billing: billing && { ...billing, channel, upstreamCostNanoUsd: 1n } }),
  );
}

/** The names of metrics whose page has the text. */
async function namesWith(text: string): Promise<string[]> {
  const lines = (await metrics.scrape()).split('\n').filter((line) => line.includes(text));
  return [...new Set(lines.map((line) => line.replace(/[{ ].*/, '')))];
}

describe('series of what the configuration no longer has', () => {
  it('leave after the next scrape, which tells their last sums, and all others stay', async () => {
    call();
    call('gpt-6', 'auto-b', 'openai/spare');
    const before = await namesWith('"gpt-6"');
    assert.ok(before.length >= 10, before.join(', '));
    call();
    configured = configuredAs(['gpt-6'], ['auto-b'], ['openai/spare']);
    assert.match(await metrics.scrape(), /modelgateway_calls_total\{model="gpt-5",group="auto-a",.*\} 2$/m);
    assert.deepEqual(await namesWith('"gpt-5"'), []);
    assert.deepEqual(await namesWith('"auto-a"'), []);
    assert.deepEqual(await namesWith('"openai/direct"'), []);
    assert.deepEqual(await namesWith('"gpt-6"'), before);
    assert.ok((await namesWith('endpoint="chat_completions"')).includes('modelgateway_requests_total'));
  });

  it('leave again once a call that was running has added to them and was told', async () => {
    configured = configuredAs(['gpt-6'], ['auto-a'], ['openai/direct']);
    await metrics.scrape();
    nowMs = 900_000;
    call();
    assert.ok((await namesWith('"gpt-5"')).includes('modelgateway_cost_usd_total'));
    assert.deepEqual(await namesWith('"gpt-5"'), []);
  });

  it('start again at 0 once it is back', async () => {
    call();
    configured = configuredAs(['gpt-6'], ['auto-a'], ['openai/direct']);
    await metrics.scrape();
    configured = WHOLE;
    call();
    assert.match(await metrics.scrape(), /modelgateway_calls_total\{model="gpt-5",group="auto-a",.*\} 1$/m);
  });

  it('stay where only keys change, and series without a model stay always', async () => {
    metrics.call(reportOf({ model: undefined, group: undefined, attempts: [] }));
    call();
    const before = await metrics.scrape();
    configured = { ...WHOLE };
    assert.equal((await metrics.scrape()).match(/gpt-5/g)?.length, before.match(/gpt-5/g)?.length);
    configured = configuredAs([], [], []);
    assert.match(await metrics.scrape(), /modelgateway_calls_total\{model="",group="",/);
  });
});
