/** Generates the keys that are due, while this replica leads, and remembers why some could not be. */
import type { Logger } from 'pino';
import type { Resources } from '#objects/resources.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { RunResult } from '#runtime/reconcile-loop.ts';
import type { MetricsRecorder } from '../metrics.ts';
import { sameEntries } from '../store/same.ts';
import { createMintBackoff } from './mint-backoff.ts';
import { mintKeys } from './mint-keys.ts';
import type { KeySecrets, MintedKey } from './mint-keys.ts';

export interface KeyMinterOptions {
  readonly gatewayNamespace: string;
  readonly resources: () => Resources;
  readonly keys: KeySecrets;
  readonly leading: () => boolean;
  readonly onMinted: (minted: MintedKey) => void;
  /** Called when `failures` has changed. */
  readonly onFailures: () => void;
  /** The maximum number of keys of one run. Default: all. */
  readonly atMost?: number | undefined;
  /**
   * Deletes the keys of deleted ApiKeys, and resolves with the time at which to call it again. Absent: a garbage
   * collector deletes them.
   */
  readonly releaseKeys?: ((resources: Resources, nowMs: number) => Promise<number | undefined>) | undefined;
  readonly clock: TimerClock;
  readonly meter?: MetricsRecorder | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

export class KeyMinter {
  readonly #options: KeyMinterOptions;
  #backoff = createMintBackoff();
  #failures: ReadonlyMap<string, string> = new Map();

  constructor(options: KeyMinterOptions) {
    this.#options = options;
  }

  /** Why a key could not be generated, by its ApiKey's "namespace/name". */
  get failures(): ReadonlyMap<string, string> {
    return this.#failures;
  }

  /** Tries all keys again without a pause, because this replica has become the leader. */
  resetBackoff(): void {
    this.#backoff = createMintBackoff();
  }

  /** Resolves when the keys that were due are durable or have failed, with when to run again. */
  async run(): Promise<RunResult> {
    const { gatewayNamespace, keys, leading, onMinted, atMost, clock, meter } = this.#options;
    if (!leading()) return {};
    const resources = this.#options.resources();
    const { failures, failedWrites, retryAtMs } = await mintKeys(resources, clock.nowMs(), {
      gatewayNamespace,
      minted: keys,
      onMinted,
      backoff: this.#backoff,
      ...(atMost !== undefined && { atMost }),
    });
    if (!leading()) return {}; // the next leader creates the missing keys
    meter?.add('modelgateway_operator_keys_made_total', { outcome: 'failed' }, failedWrites);
    this.#recordFailures(failures);
    const releaseAtMs = await this.#options.releaseKeys?.(resources, clock.nowMs());
    const dueMs = Math.min(retryAtMs ?? Infinity, releaseAtMs ?? Infinity);
    return { againInMs: Math.max(0, dueMs - clock.nowMs()) };
  }

  #recordFailures(failures: ReadonlyMap<string, string>): void {
    for (const [apiKey, failure] of failures) {
      if (this.#failures.get(apiKey) !== failure)
        this.#options.log.warn({ object: `ApiKey ${apiKey}`, failure }, 'a key could not be generated; retrying');
    }
    if (sameEntries(failures, this.#failures)) return;
    this.#failures = failures;
    this.#options.onFailures();
  }
}
