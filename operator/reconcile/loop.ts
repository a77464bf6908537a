/**
 * One piece of work, done whenever something has changed: after a moment's wait for more, one run at a time, and once more for
 * what came meanwhile. It wakes itself for what time changes, and tries again, later and later, what failed.
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
  /** How long the first change waits after a time of quiet; default: as long as any. */
  readonly firstHoldOffMs?: number;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'error'>;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Node's timers take no more than 2^31 - 1 ms; a day is looked at anew. */
const LONGEST_SLEEP_MS = 86_400_000;

export class Loop {
  readonly #options: LoopOptions;
  #wake: { readonly atMs: number; readonly cancel: () => void } | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #endedMs = Number.NEGATIVE_INFINITY;
  #retryMs = FIRST_RETRY_MS;

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
    const { timers, holdOffMs, firstHoldOffMs = holdOffMs } = this.#options;
    const isQuiet = !this.#running && timers.nowMs() - this.#endedMs >= holdOffMs;
    this.#wakeIn(isQuiet ? firstHoldOffMs : holdOffMs);
  }

  /** Resolves when the run that is under way has ended. Nothing runs after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake?.cancel();
    await this.#running;
  }

  #wakeIn(ms: number): void {
    if (this.#stopped) return;
    const { timers } = this.#options;
    const atMs = timers.nowMs() + Math.min(ms, LONGEST_SLEEP_MS);
    if (this.#wake && this.#wake.atMs <= atMs) return;
    this.#wake?.cancel();
    const cancel = timers.after(Math.max(0, atMs - timers.nowMs()), () => {
      this.#wake = undefined;
      this.#run();
    });
    this.#wake = { atMs, cancel };
  }

  #run(): void {
    if (this.#stopped) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.#runUntilQuiet();
  }

  async #runUntilQuiet(): Promise<void> {
    do {
      this.#again = false;
      try {
        const { againInMs, retry } = await this.#options.run();
        if (againInMs !== undefined) this.#wakeIn(againInMs);
        if (retry) this.#retry();
        else this.#retryMs = FIRST_RETRY_MS;
      } catch (error) {
        this.#options.log.error({ err: error }, 'the configuration could not be published; it is tried again');
        this.#retry();
      }
    } while (this.#again && !this.#stopped);
    this.#running = undefined;
    this.#endedMs = this.#options.timers.nowMs();
  }

  #retry(): void {
    this.#wakeIn(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}
