/** The lag of the event loop, since the last reading and over a window. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { measureEventLoopLag } from '../../../../dataplane/telemetry/event-loop.ts';

describe('the lag of the event loop', () => {
  it('is reported for the last complete window', async ({ onTestFinished }) => {
    let endWindow = (): void => undefined;
    const lag = measureEventLoopLag((_ms, tick) => {
      endWindow = tick;
      return () => undefined;
    });
    onTestFinished(() => lag.close());
    assert.equal(lag.recentSeconds, 0);
    // the monitor's own timer must have started, and must tick again afterwards
    const longest = (): number => lag.read().find(([quantile]) => quantile === '1')?.[1] ?? 0;
    let seen = 0;
    while (seen < 0.05) {
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
      seen = Math.max(seen, longest());
    }
    assert.equal(lag.recentSeconds, 0);
    endWindow();
    assert.ok(lag.recentSeconds > 0.05, String(lag.recentSeconds));
    assert.equal(longest() < seen, true);
  });
});
