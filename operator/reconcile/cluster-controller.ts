/**
 * The operator's control loop in a cluster: after a change it translates, publishes to the proxies and updates the
 * statuses. Publishing never waits: keys are generated in a separate loop, and reports of proxies, providers and the
 * ledger are recorded as they come. Every replica runs this; only the leader generates keys and writes statuses.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import { objectId } from '#objects/resources.ts';
import type { Logger } from 'pino';
import type { Resource } from '#crds/types.gen.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import type { ClusterProvider } from '../sources/cluster/provider.ts';
import type { MetricsRecorder } from '../metrics.ts';
import type { UpstreamRefusal } from '../status/refusals.ts';
import type { StatusWriter } from '../status/writer.ts';
import { recordedSpendingStatus } from '../status/spending.ts';
import { translate } from '../translate/translate.ts';
import { publishable } from './last-good.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import type { RunResult } from './reconcile-loop.ts';
import { createMintBackoff } from './mint-backoff.ts';
import { mintKeys } from './mint-keys.ts';
import type { KeySecrets, MintedKey } from './mint-keys.ts';
import { createSpendingReader } from './read-spending.ts';
import { findUnserved } from './unserved-objects.ts';
import type { UnservedObject } from './unserved-objects.ts';
import { createStatusTracker, messagesByObject } from './status-tracker.ts';
import type { ObjectStatus, StatusTracker } from './status-tracker.ts';
import type { ProxyDistribution } from '../xds/distribution.ts';
import { ProgrammedEvaluator } from './programmed-evaluator.ts';

export interface ClusterControllerOptions {
  readonly gatewayNamespace: string;
  readonly provider: Pick<ClusterProvider, 'resources' | 'objects'>;
  readonly proxies: Pick<ProxyDistribution, 'publish' | 'progress'>;
  readonly keys: KeySecrets;
  readonly writer: Pick<StatusWriter, 'start' | 'stop' | 'changed'>;
  readonly onMinted: (minted: MintedKey) => void;
  /** Called every 50 minutes for each object whose gatewayNamespace no operator serves. */
  readonly onUnserved?: (unserved: UnservedObject) => void;
  /** Without a ledger, statuses contain no spending. */
  readonly ledger?: LedgerReader;
  readonly clock: OperatorClock;
  readonly meter: MetricsRecorder;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly debounceMs?: number;
  /** How long proxies may take to reconnect after a change of leader. */
  readonly settleMs?: number;
  /** See TranslateOptions. */
  readonly sealingKeys?: readonly string[];
  /** The labels that usage records carry. */
  readonly usageLabels?: readonly string[];
}

/** Edits within this time are translated together, and so are those that arrive during a translation. */
const DEBOUNCE_MS = 2;
/** The longest pause after a translation, during which the API server's next events are read. */
const MAX_REST_MS = 50;
const SETTLE_MS = 10_000;
/** After so many new keys it is looked again which are due, so that a tenant's thousands delay no other tenant's. */
const KEYS_AT_A_TIME = 16;
/** A status of Reconciling is written only if it lasts this long. */
const RECONCILING_DELAY_MS = 300;
/** How long a status waits for the spending of a new or edited object, so that one write has both. */
const SPENDING_DELAY_MS = 500;
const READ_SPENDING_EVERY_MS = 10_000;
const FIRST_SPENDING_WITHIN_MS = 5_000;
const EXPIRE_EVERY_MS = 60_000;
/** API servers delete Events after an hour. */
const REPORT_UNSERVED_EVERY_MS = 50 * 60_000;

export class ClusterController {
  readonly #options: ClusterControllerOptions;
  readonly #tracker: StatusTracker;
  readonly #loop: ReconcileLoop;
  readonly #minting: ReconcileLoop;
  readonly #spending: ReconcileLoop;
  #spendingReader: ReturnType<typeof createSpendingReader>;
  /** Objects whose status changed since the last flush to the writer. */
  readonly #changed = new Set<string>();
  readonly #evaluator: ProgrammedEvaluator;
  /** When each unserved object was last reported. */
  readonly #unserved = new Map<string, number>();
  #mintBackoff = createMintBackoff();
  #mintFailures: ReadonlyMap<string, string> = new Map();
  #faults: ReadonlyMap<string, string> = new Map();
  #lastGood: Snapshot | undefined;
  #leading = false;
  #started = false;
  #stopped = false;
  #expire: (() => void) | undefined;

  constructor(options: ClusterControllerOptions) {
    const { clock, log, debounceMs = DEBOUNCE_MS, settleMs = SETTLE_MS } = options;
    this.#options = options;
    this.#tracker = createStatusTracker((id) => this.#changed.add(id));
    this.#spendingReader = createSpendingReader(this.#tracker, options.gatewayNamespace);
    this.#loop = new ReconcileLoop({ run: () => this.#reconcile(), debounceMs, maxRestMs: MAX_REST_MS, clock, log });
    this.#minting = new ReconcileLoop({ run: () => this.#mint(), debounceMs: 0, clock, log });
    this.#spending = new ReconcileLoop({ run: () => this.#readSpending(), debounceMs, clock, log });
    this.#evaluator = new ProgrammedEvaluator({
      clock,
      tracker: this.#tracker,
      progress: (id) => options.proxies.progress(id),
      fault: (id) => this.#faults.get(id),
      onEvaluated: () => this.#flush(),
    });
    this.#evaluator.settle(settleMs);
  }

  /** Runs for the first time. Resolves when its snapshot has been published to the proxies. */
  async start(): Promise<void> {
    this.#expireLater();
    await this.#loop.start();
    this.#evaluator.recheck();
    this.#started = true;
    if (this.#leading) await this.#takeLead();
  }

  /** Call it when something that translate reads has changed. */
  resourcesChanged(): void {
    this.#loop.changed();
  }

  /** Call it when the live object has changed or was deleted. */
  liveChanged(id: string): void {
    this.#options.writer.changed(id);
  }

  /** Call it when the proxies' acknowledgements of these objects have changed. */
  progressed(ids: Iterable<string>): void {
    this.#evaluator.evaluateInSlices(ids);
  }

  /** Call it when other proxies are connected, or other ready proxies are connected to no operator, than before. */
  proxiesChanged(): void {
    this.#evaluator.proxiesChanged();
  }

  /** Records a proxy's report that a provider refused a call or cannot be reached. */
  refused({ route, ...refusal }: UpstreamRefusal): void {
    const { gatewayNamespace, clock } = this.#options;
    this.#tracker.refused(objectId('ModelRoute', { namespace: gatewayNamespace, name: route }), {
      ...refusal,
      atMs: clock.nowMs(),
    });
    this.#flush();
  }

  /** Starts or stops writing statuses and keys. */
  async lead(leading: boolean): Promise<void> {
    this.#leading = leading;
    if (!leading) return this.#options.writer.stop();
    if (this.#started) await this.#takeLead(); // otherwise start() does it
  }

  /** Continues from the live statuses, which the previous leader may have written. */
  async #takeLead(): Promise<void> {
    const { writer, clock, settleMs = SETTLE_MS, ledger } = this.#options;
    this.#tracker.clear();
    this.#mintBackoff = createMintBackoff();
    this.#spendingReader = createSpendingReader(this.#tracker, this.#options.gatewayNamespace);
    this.#evaluator.settle(settleMs);
    this.#evaluator.recheck();
    await this.#reconcile();
    if (ledger)
      await Promise.race([
        this.#spending.start(),
        new Promise<void>((resolve) => {
          clock.after(FIRST_SPENDING_WITHIN_MS, resolve);
        }),
      ]);
    if (!this.#isLeading()) return; // leadership may have been lost meanwhile
    writer.start();
    for (const status of this.#tracker.list()) writer.changed(objectId(status.kind, status));
  }

  /** True if a configuration has been published to the proxies. */
  get published(): boolean {
    return this.#lastGood !== undefined;
  }

  statuses(): readonly ObjectStatus[] {
    return this.#tracker.list();
  }

  status(id: string): ObjectStatus['status'] | undefined {
    return this.#tracker.get(id)?.status;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#leading = false;
    this.#evaluator.stop();
    this.#expire?.();
    await Promise.all([this.#loop.stop(), this.#minting.stop(), this.#spending.stop(), this.#options.writer.stop()]);
  }

  #isLeading(): boolean {
    return this.#leading && !this.#stopped;
  }

  async #reconcile(): Promise<RunResult> {
    const { provider, proxies, gatewayNamespace, clock, meter, sealingKeys = [], usageLabels } = this.#options;
    const nowMs = clock.nowMs();
    try {
      const resources = provider.resources();
      const { snapshot, statuses, nextChangeMs } = translate(resources, {
        gatewayNamespace,
        nowMs,
        sealingKeys,
        ...(usageLabels && { usageLabels }),
        mintFailures: this.#mintFailures,
      });
      const good = publishable(snapshot, this.#lastGood);
      const faultsBefore = this.#faults;
      this.#faults = good ? messagesByObject(good.faults) : new Map();
      if (good) proxies.publish((this.#lastGood = good.snapshot));
      else
        this.#options.log.error('the configuration is invalid as a whole; the last good configuration stays in effect');
      meter.observe('modelgateway_operator_reconcile_duration_seconds', {}, (clock.nowMs() - nowMs) / 1000);
      await immediate(); // sends the change to the proxies before the statuses are computed
      this.#tracker.observe(statuses, nowMs, (id) => provider.objects.live(id)?.status);
      this.#evaluator.evaluate([...this.#changed, ...faultsBefore.keys(), ...this.#faults.keys()]);
      this.#flush();
      if (this.#isLeading()) this.#minting.changed();
      return { retry: !good, ...(nextChangeMs === undefined ? {} : { againInMs: nextChangeMs - nowMs }) };
    } catch (error) {
      meter.add('modelgateway_operator_reconcile_errors_total', {}, 1);
      throw error;
    }
  }

  async #mint(): Promise<RunResult> {
    const { provider, gatewayNamespace, keys, onMinted, clock, log, meter } = this.#options;
    const resources = provider.resources();
    if (!this.#isLeading()) return { retry: false };
    const { failures, failedWrites, retryAtMs } = await mintKeys(resources, clock.nowMs(), {
      gatewayNamespace,
      minted: keys,
      onMinted,
      backoff: this.#mintBackoff,
      atMost: KEYS_AT_A_TIME,
    });
    if (!this.#isLeading()) return { retry: false }; // the next leader creates the missing keys
    meter.add('modelgateway_operator_keys_made_total', { outcome: 'failed' }, failedWrites);
    for (const [apiKey, failure] of failures) {
      if (this.#mintFailures.get(apiKey) !== failure)
        log.warn({ object: `ApiKey ${apiKey}`, failure }, 'a key could not be generated; retrying');
    }
    const same =
      failures.size === this.#mintFailures.size &&
      [...failures].every(([apiKey, failure]) => this.#mintFailures.get(apiKey) === failure);
    if (!same) {
      this.#mintFailures = failures;
      this.#loop.changed();
    }
    return { retry: false, ...(retryAtMs !== undefined && { againInMs: Math.max(0, retryAtMs - clock.nowMs()) }) };
  }

  async #readSpending(): Promise<RunResult> {
    const { ledger, provider, clock, log } = this.#options;
    if (!ledger || !this.#isLeading()) return { retry: false };
    const answered = await this.#spendingReader.read(provider.resources(), { ledger, nowMs: clock.nowMs() });
    if (!answered) log.warn('the ledger does not respond; statuses keep the last known spending');
    this.#flush();
    return { retry: false, againInMs: READ_SPENDING_EVERY_MS };
  }

  #expireLater(): void {
    const { clock } = this.#options;
    this.#expire = clock.after(EXPIRE_EVERY_MS, () => {
      this.#tracker.expire(clock.nowMs());
      if (this.#isLeading()) this.#reportUnserved();
      this.#flush();
      if (!this.#stopped) this.#expireLater();
    });
  }

  #reportUnserved(): void {
    const { provider, gatewayNamespace, clock, onUnserved } = this.#options;
    const { objects } = provider;
    const nowMs = clock.nowMs();
    const unserved = findUnserved(provider.resources(), {
      gatewayNamespace,
      nowMs,
      observedGeneration: (id) => objects.live(id)?.status.observedGeneration,
    });
    const ids = new Set(unserved.map(({ id }) => id));
    for (const id of this.#unserved.keys()) if (!ids.has(id)) this.#unserved.delete(id);
    for (const each of unserved) {
      if (nowMs - (this.#unserved.get(each.id) ?? -Infinity) < REPORT_UNSERVED_EVERY_MS) continue;
      this.#unserved.set(each.id, nowMs);
      onUnserved?.(each);
    }
  }

  /** Passes changed statuses to the writer; later if they are about to change again. */
  #flush(): void {
    let reads = false;
    for (const id of this.#changed) {
      const awaits = this.#options.ledger !== undefined && this.#isLeading() && this.#tracker.awaitsSpending(id);
      if (awaits) this.#remeasure(id);
      reads ||= awaits;
      this.#options.writer.changed(id, awaits ? SPENDING_DELAY_MS : this.#reconcilingDelay(id));
    }
    this.#changed.clear();
    if (reads) this.#spending.changed();
  }

  /**
   * Measures the recorded spending of an edited object against its new limit. The ledger may not be read in time, and no
   * status may call an edit observed beside what was left of the old limit.
   */
  #remeasure(id: string): void {
    const { provider, clock } = this.#options;
    const status = this.#tracker.get(id)?.status;
    const object = provider.objects.current(id);
    if (!status || !object || !isNewlyObserved(object, status)) return;
    const nowMs = clock.nowMs();
    const spending = recordedSpendingStatus(object, { ...object.status, ...status }, nowMs);
    if (spending) this.#tracker.remeasured(id, spending, nowMs);
  }

  #reconcilingDelay(id: string): number {
    const conditions = this.#tracker.get(id)?.status.conditions ?? [];
    return conditions.some(({ type }) => type === 'Reconciling') ? RECONCILING_DELAY_MS : 0;
  }
}

/** True for the last version of an object whose live status is about an earlier one. */
function isNewlyObserved(
  { metadata: { generation }, status: live }: Resource,
  { observedGeneration }: ObjectStatus['status'],
): boolean {
  return observedGeneration === generation && live?.observedGeneration !== generation;
}
