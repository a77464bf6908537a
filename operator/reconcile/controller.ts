/**
 * The operator's one loop: something changed → wait a moment for more → make the keys that are due → translate → publish →
 * statuses. One run at a time; what comes meanwhile leads to one more. A refused snapshot changes nothing at the proxies. Time
 * is a change too: the loop wakes itself for the next expiration, and tries again what failed.
 */
import type { Logger } from 'pino';
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Resources } from '../store/resources.ts';
import { translate } from '../translate/translate.ts';
import type { MintResult } from './mint-keys.ts';
import type { StatusBook } from './status-book.ts';

export type PublishResult = { readonly accepted: true } | { readonly accepted: false; readonly rejected: readonly SnapshotFault[] };

/** Time, so that tests need not wait for it. */
export interface Timers {
  nowMs(): number;
  /** Runs something once, later; the result takes it back. */
  after(ms: number, run: () => void): () => void;
}

export interface ControllerOptions {
  readonly gatewayNamespace: string;
  readonly publish: (snapshot: Snapshot) => Promise<PublishResult>;
  readonly mint: (resources: Resources, nowMs: number) => Promise<MintResult>;
  /** Told of each refused snapshot, and with an empty list when one is taken again. */
  readonly onRejected: (faults: readonly SnapshotFault[]) => void;
  readonly book: StatusBook;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** How long a change waits for more of its kind. */
  readonly holdOffMs: number;
}

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Node's timers take no more than 2^31 - 1 ms; a day is looked at anew. */
const LONGEST_SLEEP_MS = 86_400_000;

export class Controller {
  readonly #options: ControllerOptions;
  #resources: Resources;
  #wake: { readonly atMs: number; readonly cancel: () => void } | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #refused = false;
  #retryMs = FIRST_RETRY_MS;

  constructor(resources: Resources, options: ControllerOptions) {
    this.#resources = resources;
    this.#options = options;
  }

  /** The first run, without a wait. Resolves when its snapshot is answered. */
  async start(): Promise<void> {
    this.#run();
    await this.#running;
  }

  /** The world has changed; without resources: something that is read at each run has. */
  update(resources?: Resources): void {
    if (resources) this.#resources = resources;
    this.#wakeIn(this.#options.holdOffMs);
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
    const cancel = timers.after(atMs - timers.nowMs(), () => {
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
    this.#running = this.#reconcileUntilQuiet();
  }

  async #reconcileUntilQuiet(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#reconcile();
      } catch (error) {
        this.#options.log.error({ err: error }, 'the configuration could not be published; it is tried again');
        this.#retry();
      }
    } while (this.#again && !this.#stopped);
    this.#running = undefined;
  }

  async #reconcile(): Promise<void> {
    const { mint, publish, book, timers, gatewayNamespace } = this.#options;
    const minted = await mint(this.#resources, timers.nowMs());
    const nowMs = timers.nowMs();
    const { snapshot, statuses, nextChangeMs } = translate(minted.resources, { gatewayNamespace, nowMs, mintFailures: minted.failures });
    book.observe(statuses, nowMs);
    if (nextChangeMs !== undefined) this.#wakeIn(nextChangeMs - nowMs);
    this.#take(await publish(snapshot));
    for (const [apiKey, failure] of minted.failures) this.#options.log.warn({ apiKey, failure }, 'a key could not be made');
    if (minted.retry) this.#retry();
    else this.#retryMs = FIRST_RETRY_MS;
  }

  #take(result: PublishResult): void {
    const { book, timers, onRejected } = this.#options;
    if (result.accepted) book.programmed(timers.nowMs());
    else book.rejected(result.rejected, timers.nowMs());
    if (!result.accepted || this.#refused) onRejected(result.accepted ? [] : result.rejected);
    this.#refused = !result.accepted;
  }

  #retry(): void {
    this.#wakeIn(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }
}
