/**
 * Runs a function after changes: debounced, one run at a time, and once more for changes that came during a run. It
 * also runs at the times that a run asks for, and retries failed runs with exponential backoff.
 */
import { createBackoff } from './backoff.ts';
import type { Backoff } from './backoff.ts';
import type { TimerClock } from './clock.ts';

export interface RunResult {
  /** When to run again even if nothing changes; absent or Infinity: never. */
  readonly againInMs?: number;
}

interface ReconcileLoopOptions {
  readonly run: () => Promise<RunResult>;
  /** How long a change waits for further changes. */
  readonly debounceMs: number;
  /**
   * After each run the loop pauses for as long as the run took, but never longer than this, so that the process has time
   * to read further changes. Default: no pause.
   */
  readonly maxRestMs?: number;
  /** The longest pause before a failed run is retried. Default: a minute. */
  readonly longestRetryMs?: number;
  /** Called with the error of a failed run; it must not throw. */
  readonly onFailed: (error: unknown) => void;
  readonly clock: TimerClock;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/** Timers pause while the machine sleeps, and ignore that the clock is set, so long waits are divided. */
const LONGEST_SLEEP_MS = 60_000;

type Cancel = () => void;

export class ReconcileLoop {
  readonly #options: ReconcileLoopOptions;
  /** Cancels the debounce timer. */
  #debounce: Cancel | undefined;
  /** Cancels the timer of the next retry or scheduled run. */
  #later: Cancel | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  readonly #backoff: Backoff;
  /** When the pause after the last run ends. */
  #restedAtMs = 0;
  #settling: (() => void)[] = [];

  constructor(options: ReconcileLoopOptions) {
    const { longestRetryMs = LONGEST_RETRY_MS } = options;
    this.#options = options;
    this.#backoff = createBackoff({ firstMs: FIRST_RETRY_MS, longestMs: longestRetryMs });
  }

  /**
   * Runs without a wait, and once more if a run is in progress. Resolves when the runs have ended, successfully or not.
   */
  async runNow(): Promise<void> {
    this.#run();
    await this.#running;
  }

  /** Call it when something has changed. */
  changed(): void {
    if (this.#stopped || this.#debounce) return;
    this.#runAfter(Math.max(this.#options.debounceMs, this.#restMs()));
  }

  #runAfter(ms: number): void {
    this.#debounce = this.#options.clock.after(ms, () => {
      this.#debounce = undefined;
      this.#run();
    });
  }

  /** How much of the pause is left; a clock that is set back does not make it longer. */
  #restMs(): number {
    const { clock, maxRestMs = 0 } = this.#options;
    return Math.min(maxRestMs, this.#restedAtMs - clock.nowMs());
  }

  /** Resolves when all changes so far have been processed, successfully or not. */
  async settled(): Promise<void> {
    while (this.#debounce || this.#running)
      await new Promise<void>((resolve) => {
        this.#settling.push(resolve);
      });
  }

  /** Resolves when the current run has ended. Nothing runs after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#forget();
    await this.#running;
    this.#settle();
  }

  #run(): void {
    if (this.#stopped) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#forget();
    this.#running = this.#runUntilQuiet();
  }

  async #runUntilQuiet(): Promise<void> {
    const { clock, onFailed, run } = this.#options;
    do {
      this.#again = false;
      const startedMs = clock.nowMs();
      try {
        const { againInMs = Infinity } = await run();
        this.#backoff.reset();
        this.#wakeAfter(againInMs);
      } catch (error) {
        onFailed(error);
        this.#wakeAfter(this.#backoff.next());
      }
      this.#restedAtMs = 2 * clock.nowMs() - startedMs;
    } while (this.#again && !this.#stopped && this.#restMs() <= 0);
    this.#running = undefined;
    if (this.#again && !this.#stopped && !this.#debounce) this.#runAfter(this.#restMs());
    this.#settle();
  }

  #wakeAfter(ms: number): void {
    this.#later?.();
    this.#later = undefined;
    if (!this.#stopped && ms !== Infinity) this.#sleep(ms, this.#options.clock.nowMs() + ms);
  }

  /** Waits until `leftMs` have passed or the clock shows `untilMs`, whichever is first: the clock may be set back. */
  #sleep(leftMs: number, untilMs: number): void {
    const { clock } = this.#options;
    const sliceMs = Math.min(leftMs, LONGEST_SLEEP_MS);
    this.#later = clock.after(sliceMs, () => {
      if (sliceMs === leftMs || clock.nowMs() >= untilMs) this.#run();
      else this.#sleep(leftMs - sliceMs, untilMs);
    });
  }

  #forget(): void {
    this.#debounce?.();
    this.#later?.();
    this.#debounce = this.#later = undefined;
  }

  #settle(): void {
    for (const resolve of this.#settling.splice(0)) resolve();
  }
}
