/**
 * One piece of work, done whenever something has changed: after a moment's wait for more, one run at a time, and once
 * more for what came meanwhile. It wakes itself for what time changes, and tries again, later and later, what failed.
 */
import type { Logger } from 'pino';

/** Time, so that tests need not wait for it. */
export interface Timers {
  nowMs(): number;
  /** Runs something once, later; the result takes it back. */
  after(ms: number, run: () => void): () => void;
}

export interface RunResult {
  /** After how long time alone makes another run worth while; absent: never. */
  readonly againInMs?: number;
  /** Something failed that may work another time. */
  readonly retry: boolean;
}

interface LoopOptions {
  readonly run: () => Promise<RunResult>;
  /** How long a change waits for more of its kind. */
  readonly holdOffMs: number;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'error'>;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Timers do not count a time in which the machine slept, nor a clock that was set: the clock is looked at so often. */
const LONGEST_SLEEP_MS = 60_000;

type Cancel = () => void;

export class Loop {
  readonly #options: LoopOptions;
  /** Something has changed, and waits for more of its kind. */
  #holdOff: Cancel | undefined;
  /** What time will change, or what failed. */
  #later: Cancel | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #retryMs = FIRST_RETRY_MS;
  #settling: (() => void)[] = [];

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** The first run, without a wait. Resolves when it has ended. */
  async start(): Promise<void> {
    this.#run();
    await this.#running;
  }

  /** Something has changed. */
  changed(): void {
    if (this.#stopped || this.#holdOff) return;
    const { timers, holdOffMs } = this.#options;
    this.#holdOff = timers.after(holdOffMs, () => {
      this.#holdOff = undefined;
      this.#run();
    });
  }

  /** Resolves when a run has seen to all that has changed so far, well or badly; at once where nothing has. */
  async settled(): Promise<void> {
    while (this.#holdOff || this.#running) await new Promise<void>((resolve) => { this.#settling.push(resolve); });
  }

  /** Resolves when the run that is under way has ended. Nothing runs after it. */
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
    do {
      this.#again = false;
      try {
        this.#wakeAfter(await this.#options.run());
      } catch (error) {
        this.#options.log.error({ err: error }, 'the configuration could not be published; it is tried again');
        this.#wakeAfter({ retry: true });
      }
    } while (this.#again && !this.#stopped);
    this.#running = undefined;
    this.#settle();
  }

  #wakeAfter({ againInMs = Infinity, retry }: RunResult): void {
    this.#later?.();
    this.#later = undefined;
    if (this.#stopped) return;
    const { timers } = this.#options;
    if (retry) {
      this.#later = timers.after(Math.min(againInMs, this.#retryMs), () => this.#run());
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
      return;
    }
    this.#retryMs = FIRST_RETRY_MS;
    if (againInMs !== Infinity) this.#sleep(againInMs, timers.nowMs() + againInMs);
  }

  /** Until so much time has passed, or it is that late: what a clock says that was set back is not waited for. */
  #sleep(leftMs: number, untilMs: number): void {
    const { timers } = this.#options;
    const sliceMs = Math.min(leftMs, LONGEST_SLEEP_MS);
    this.#later = timers.after(sliceMs, () => {
      if (sliceMs === leftMs || timers.nowMs() >= untilMs) this.#run();
      else this.#sleep(leftMs - sliceMs, untilMs);
    });
  }

  /** A run sees to all of it. */
  #forget(): void {
    this.#holdOff?.();
    this.#later?.();
    this.#holdOff = this.#later = undefined;
  }

  #settle(): void {
    for (const resolve of this.#settling.splice(0)) resolve();
  }
}
