/** The activity of finished calls in a proxy: bounded, and lossless except at the bounds. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { LATENCY_CLASSES_MS } from '#activity/activity.ts';
import type { ActivityBatch, ProxyStats } from '#activity/activity.ts';
import { ChannelMonitor } from '../../../../dataplane/activity/channel-monitor.ts';
import { entryOf } from '../../../../dataplane/activity/entry-of.ts';
import { createActivityRecorder } from '../../../../dataplane/activity/recorder.ts';
import { attemptOf, reportOf } from '../telemetry/report.ts';
import { NOON_MS } from './entries.ts';

const REFUSED = {
  httpStatus: 429,
  errorCode: 'insufficient_quota',
  errorMessage: 'This key has used up its quota.',
  billing: undefined,
  attempts: [],
  durationMs: 2,
  firstByteMs: undefined,
  stream: false,
};

function stand(write: (batch: ActivityBatch) => Promise<void>) {
  const ticks: (() => void)[] = [];
  const faults: unknown[] = [];
  const figures: ProxyStats[] = [];
  let closed = 0;
  const recorder = createActivityRecorder({
    writer: {
      write,
      writeChannels: async (told) => {
        figures.push(told);
      },
      close: async () => {
        closed++;
      },
    },
    clock: { nowMs: () => NOON_MS },
    inFlight: () => ['openai/direct'],
    every: (_ms, tick) => {
      ticks.push(tick);
      return () => {
        ticks.length = 0;
      };
    },
    onFault: (error) => faults.push(error),
  });
  return { recorder, faults, figures, closed: () => closed, tick: () => ticks.forEach((tick) => tick()) };
}

describe('the entry of a call', () => {
  it('has attempts and the time to the first byte', () => {
    const entry = entryOf(
      reportOf({
        admitted: true,
        attempts: [attemptOf('status_529', 'openai/a'), attemptOf('ok')],
      }),
      NOON_MS,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(entry)), {
      callId: 'req_1',
      keyUid: 'u1',
      account: 'team-a/team-a',
      atMs: NOON_MS - 1500,
      refused: false,
      endpoint: 'chat_completions',
      stream: true,
      httpStatus: 200,
      model: 'gpt-5',
      durationMs: 1500,
      firstByteMs: 500,
      attempts: [
        { channel: 'openai/a', outcome: 'status_529', durationMs: 500 },
        { channel: 'openai/direct', outcome: 'ok', durationMs: 500 },
      ],
    });
  });

  it('is refused if it had no hold, and contains the shortened message', () => {
    const entry = entryOf(
      reportOf({ ...REFUSED, errorMessage: 'x'.repeat(5_000), exceededLimitNanoUsd: 25n, fundsOf: 'AccountLimit' }),
      NOON_MS,
    );
    assert.equal(entry?.fundsOf, 'AccountLimit');
    assert.equal(entry.exceededLimitNanoUsd, '25');
    assert.equal(entry.refused, true);
    assert.equal(entry.message?.length, 600);
  });

  it('is not written for unknown keys, requests without a model, and requests without admission', () => {
    assert.equal(entryOf(reportOf({ ...REFUSED, key: undefined }), NOON_MS), undefined);
    assert.equal(entryOf(reportOf({ ...REFUSED, endpoint: 'models' }), NOON_MS), undefined);
    assert.equal(entryOf(reportOf({ billing: undefined }), NOON_MS), undefined);
  });
});

describe('the recorder', () => {
  it('writes a batch at each tick, one at a time, and the rest when it is closed', async () => {
    const batches: ActivityBatch[] = [];
    const gate = Promise.withResolvers<void>();
    const { recorder, tick, closed } = stand(async (batch) => {
      batches.push(batch);
      await gate.promise;
    });
    tick();
    recorder.finished(reportOf({ ...REFUSED, requestId: 'a' }));
    recorder.finished(reportOf({ ...REFUSED, requestId: 'b' }));
    tick();
    recorder.finished(reportOf({ requestId: 'c', admitted: true }));
    tick(); // the first write is not done
    assert.equal(batches.length, 1);
    assert.deepEqual(
      batches[0]?.entries.map(({ callId }) => callId),
      ['a', 'b'],
    );
    assert.deepEqual(batches[0]?.refusals, [
      {
        account: 'team-a/team-a',
        day: Math.floor(NOON_MS / 86_400_000),
        keyUid: 'u1',
        errorCode: 'insufficient_quota',
        calls: 2,
      },
    ]);
    gate.resolve();
    await recorder.close();
    assert.deepEqual(
      batches[1]?.entries.map(({ callId }) => callId),
      ['c'],
    );
    assert.equal(closed(), 1);
  });

  it('keeps a bounded number of entries, and counts the rest', async () => {
    const batches: ActivityBatch[] = [];
    const { recorder } = stand(async (batch) => {
      batches.push(batch);
    });
    for (let at = 0; at < 50_000; at++) recorder.finished(reportOf(REFUSED));
    for (let at = 0; at < 50_000; at++) {
      const key = { uid: `k${at}`, namespace: 'n', name: 'k', prefix: 'sk-', account: 'n/a' };
      recorder.finished(reportOf({ ...REFUSED, key }));
    }
    await recorder.close();
    assert.equal(batches[0]?.entries.length, 500);
    assert.equal(batches[0]?.entries.filter(({ keyUid }) => keyUid === 'u1').length, 20);
    assert.equal(batches[0]?.refusals.find(({ keyUid }) => keyUid === 'u1')?.calls, 50_000);
    assert.equal(batches[0]?.refusals.length, 10_000);
  });

  it('continues after a failed write, and logs it once', async () => {
    let down = true;
    const written: ActivityBatch[] = [];
    const { recorder, tick, faults } = stand(async (batch) => {
      if (down) throw new Error('down');
      written.push(batch);
    });
    for (const requestId of ['a', 'b', 'c']) {
      recorder.finished(reportOf({ ...REFUSED, requestId }));
      tick();
      await new Promise(setImmediate);
      down = requestId !== 'b';
    }
    await recorder.close();
    assert.equal(faults.length, 1);
    assert.deepEqual(
      written.flatMap(({ entries }) => entries.map(({ callId }) => callId)),
      ['c'],
    );
  });
});

describe('the report on channels', () => {
  it("has calls in flight, the provider's failures and durations of the last five minutes", () => {
    const monitor = new ChannelMonitor();
    monitor.observe([attemptOf('status_529', 'openai/a'), attemptOf('ok')], NOON_MS);
    monitor.observe([{ ...attemptOf('ok'), durationMs: 999_999 }, attemptOf('full', 'openai/a')], NOON_MS + 60_000);
    for (const outcome of ['status_400', 'aborted']) monitor.observe([attemptOf(outcome)], NOON_MS + 60_000);
    const figures = monitor.figures(NOON_MS + 120_000, ['openai/direct', 'openai/direct', 'idle/one']);
    const of = (name: string) => figures.find(({ channel }) => channel === name) ?? assert.fail(name);
    const { latency, ...direct } = of('openai/direct');
    assert.deepEqual(direct, {
      channel: 'openai/direct',
      inFlight: 2,
      attempts: 4,
      failed: 0,
      skipped: 0,
      lastFailure: undefined,
    });
    assert.equal(latency[LATENCY_CLASSES_MS.indexOf(500)], 3);
    assert.equal(latency.at(-1), 1);
    const { lastFailure, attempts, failed, skipped } = of('openai/a');
    assert.deepEqual([lastFailure, attempts, failed, skipped], [{ atMs: NOON_MS, outcome: 'status_529' }, 1, 1, 1]);
    assert.equal(of('idle/one').inFlight, 1);
    // five minutes after its first call, only the second is reported, then nothing
    const later = monitor.figures(NOON_MS + 310_000, []);
    assert.equal(later.find(({ channel }) => channel === 'openai/direct')?.attempts, 3);
    assert.equal(later.find(({ channel }) => channel === 'openai/a')?.lastFailure?.outcome, 'status_529');
    assert.deepEqual(monitor.figures(NOON_MS + 500_000, []), []);
  });

  it('is written while there are calls', async () => {
    const { recorder, tick, figures } = stand(async () => undefined);
    recorder.finished(reportOf());
    tick();
    assert.equal(figures[0]?.atMs, NOON_MS);
    assert.deepEqual(
      figures[0]?.channels.map(({ channel, inFlight }) => [channel, inFlight]),
      [['openai/direct', 1]],
    );
    await recorder.close();
  });
});
