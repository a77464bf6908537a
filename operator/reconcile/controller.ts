/**
 * The operator's one loop on one machine: something changed → make the keys that are due → translate → publish →
 * statuses. A refused snapshot changes nothing at the proxy.
 */
import type { Logger } from 'pino';
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { TimerClock } from '../clock.ts';
import type { Resources } from '../store/resources.ts';
import { translate } from '../translate/translate.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import type { RunResult } from './reconcile-loop.ts';
import type { MintResult } from './mint-keys.ts';
import type { StatusTracker } from './status-tracker.ts';

export type PublishResult =
  | { readonly accepted: true } | { readonly accepted: false; readonly rejected: readonly SnapshotFault[] };

interface ControllerOptions {
  readonly gatewayNamespace: string;
  readonly publish: (snapshot: Snapshot) => Promise<PublishResult>;
  readonly mint: (resources: Resources, nowMs: number) => Promise<MintResult>;
  /** Told of each refused snapshot, and with an empty list when one is taken again. */
  readonly onRejected: (faults: readonly SnapshotFault[]) => void;
  readonly tracker: StatusTracker;
  readonly clock: TimerClock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** How long a change waits for more of its kind. */
  readonly debounceMs: number;
  /** See TranslateOptions. */
  readonly sealingKeys?: readonly string[];
}

export class Controller {
  readonly #options: ControllerOptions;
  readonly #loop: ReconcileLoop;
  #resources: Resources;
  #refused = false;

  constructor(resources: Resources, options: ControllerOptions) {
    this.#resources = resources;
    this.#options = options;
    this.#loop = new ReconcileLoop({ ...options, run: () => this.#reconcile() });
  }

  /** The first run, without a wait. Resolves when its snapshot is answered. */
  start(): Promise<void> {
    return this.#loop.start();
  }

  /** The world has changed; without resources: something that is read at each run has. */
  update(resources?: Resources): void {
    if (resources) this.#resources = resources;
    this.#loop.changed();
  }

  /** Resolves when all that was told so far is published, or was refused or failed. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  /** Resolves when the run that is under way has ended. Nothing runs after it. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #reconcile(): Promise<RunResult> {
    const { mint, publish, tracker, clock, log, gatewayNamespace, sealingKeys = [] } = this.#options;
    const minted = await mint(this.#resources, clock.nowMs());
    const nowMs = clock.nowMs();
    const { snapshot, statuses, nextChangeMs } = translate(minted.resources, {
      gatewayNamespace, nowMs, sealingKeys, ...minted.failures.size > 0 && { mintFailures: minted.failures },
    });
    tracker.observe(statuses, nowMs);
    const result = await publish(snapshot);
    const answeredMs = clock.nowMs();
    if (result.accepted) tracker.programmed(answeredMs);
    else tracker.rejected(result.rejected, answeredMs);
    this.#tell(result);
    for (const [apiKey, failure] of minted.failures)
      log.warn({ object: `ApiKey ${apiKey}`, failure }, 'a key could not be made');
    return { retry: minted.retry, ...nextChangeMs === undefined ? {} : { againInMs: nextChangeMs - nowMs } };
  }

  #tell(result: PublishResult): void {
    if (!result.accepted || this.#refused) this.#options.onRejected(result.accepted ? [] : result.rejected);
    this.#refused = !result.accepted;
  }
}
