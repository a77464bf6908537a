/**
 * Measures the delay of the event loop: since the last reading for the metric, and over the last seconds for readiness.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Every } from '../clock.ts';

type Monitor = ReturnType<typeof monitorEventLoopDelay>;

export interface EventLoopLag {
  /** The delay in seconds since the last reading, by quantile: 0.5, 0.99 and 1. */
  read(): readonly (readonly [quantile: string, seconds: number])[];
  /** The 99th percentile of the last full window, in seconds. */
  readonly recentSeconds: number;
  close(): void;
}

const RESOLUTION_MS = 10;
const WINDOW_MS = 10_000;

/** Starts to measure. */
export function measureEventLoopLag(every: Every): EventLoopLag {
  const [sinceReading, window] = [start(), start()];
  let recentSeconds = 0;
  const stop = every(WINDOW_MS, () => {
    recentSeconds = lagOf(window, window.percentile(99));
    window.reset();
  });
  return {
    get recentSeconds() {
      return recentSeconds;
    },
    read() {
      const delays = [
        ['0.5', sinceReading.percentile(50)],
        ['0.99', sinceReading.percentile(99)],
        ['1', sinceReading.max],
      ] as const;
      const lags = delays.map(([quantile, delay]) => [quantile, lagOf(sinceReading, delay)] as const);
      sinceReading.reset();
      return lags;
    },
    close() {
      stop();
      for (const monitor of [sinceReading, window]) monitor.disable();
    },
  };
}

function start(): Monitor {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  return monitor;
}

/** The monitor measures the time between two ticks of a timer, which is RESOLUTION_MS without any delay. */
function lagOf({ count }: Monitor, nanoseconds: number): number {
  return count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3);
}
