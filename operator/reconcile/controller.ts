/**
 * The operator's control loop on a single machine: after a change it creates the keys that are due, translates,
 * publishes and updates the statuses. A refused snapshot changes nothing at the proxy.
 */
import type { Logger } from 'pino';
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { Resources } from '#objects/resources.ts';
import { translate } from '../translate/translate.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import type { RunResult } from './reconcile-loop.ts';
import type { MintResult } from './mint-keys.ts';
import type { StatusTracker } from './status-tracker.ts';

export type PublishResult =
  { readonly accepted: true } | { readonly accepted: false; readonly rejected: readonly SnapshotFault[] };

interface ControllerOptions {
  readonly gatewayNamespace: string;
  readonly publish: (snapshot: Snapshot) => Promise<PublishResult>;
  readonly mint: (resources: Resources, nowMs: number) => Promise<MintResult>;
  /** Called for each refused snapshot, and with an empty list when one is accepted again. */
  readonly onRejected: (faults: readonly SnapshotFault[]) => void;
  readonly tracker: StatusTracker;
  readonly clock: TimerClock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** How long a change waits for further changes. */
  readonly debounceMs: number;
  /** See TranslateOptions. */
  readonly sealingKeys?: readonly string[];
  /** The labels that usage records carry. */
  readonly usageLabels?: readonly string[] | undefined;
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

  /** Runs for the first time, without a wait. Resolves when its snapshot was accepted or refused. */
  start(): Promise<void> {
    return this.#loop.start();
  }

  /** Call it after a change; without resources, something else that each run reads has changed. */
  update(resources?: Resources): void {
    if (resources) this.#resources = resources;
    this.#loop.changed();
  }

  /** Resolves when all changes so far are published, refused or failed. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  /** Resolves when the current run has ended. Nothing runs after it. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #reconcile(): Promise<RunResult> {
    const { mint, publish, tracker, clock, log, gatewayNamespace, sealingKeys = [], usageLabels } = this.#options;
    const minted = await mint(this.#resources, clock.nowMs());
    const nowMs = clock.nowMs();
    const { snapshot, statuses, nextChangeMs } = translate(minted.resources, {
      gatewayNamespace,
      nowMs,
      sealingKeys,
      ...(usageLabels && { usageLabels }),
      ...(minted.failures.size > 0 && { mintFailures: minted.failures }),
    });
    tracker.observe(statuses, nowMs);
    const result = await publish(snapshot);
    const answeredMs = clock.nowMs();
    if (result.accepted) tracker.programmed(answeredMs);
    else tracker.rejected(result.rejected, answeredMs);
    this.#tell(result);
    for (const [apiKey, failure] of minted.failures)
      log.warn({ object: `ApiKey ${apiKey}`, failure }, 'a key could not be generated');
    const dueMs = Math.min(nextChangeMs ?? Number.POSITIVE_INFINITY, minted.retryAtMs ?? Number.POSITIVE_INFINITY);
    return { retry: minted.retry, ...(dueMs < Number.POSITIVE_INFINITY && { againInMs: dueMs - nowMs }) };
  }

  #tell(result: PublishResult): void {
    if (!result.accepted || this.#refused) this.#options.onRejected(result.accepted ? [] : result.rejected);
    this.#refused = !result.accepted;
  }
}
