/** The clock and timers of the data plane. Functions take them as arguments, so that tests can control time. */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  nowMs(): number;
  /** Milliseconds of a clock that is never set back, for durations. */
  monotonicMs(): number;
}

export const SYSTEM_CLOCK: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

/** Calls `tick` every `intervalMs` until the function that it returns is called. */
export type Every = (intervalMs: number, tick: () => void) => () => void;

/** Runs a tick at each interval; the timer does not keep the process alive. */
export const every: Every = (intervalMs, tick) => {
  const timer = setInterval(tick, intervalMs).unref();
  return () => clearInterval(timer);
};

/** The timers of code that waits. */
export interface Timers {
  readonly every: Every;
  /** Rejects with a timeout error if the work takes longer; see PipelineDeps. */
  readonly withTimeout: <T>(ms: number, work: Promise<T>) => Promise<T>;
}
