/**
 * The operator's control loop: after a change it translates, publishes to the proxies and updates the statuses. It runs
 * alike for the fleet of a cluster and for the one proxy of a single machine. Reports of proxies, providers and the
 * ledger are recorded as they come. Every replica runs this; only the leader generates keys and writes statuses.
 */
import { setImmediate as immediate } from 'node:timers/promises';
import { objectId } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import type { Logger } from 'pino';
import type { Resource } from '#crds/types.gen.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { TimerClock } from '#runtime/clock.ts';
import { ReconcileLoop } from '#runtime/reconcile-loop.ts';
import type { RunResult } from '#runtime/reconcile-loop.ts';
import type { MetricsRecorder } from '../metrics.ts';
import type { ProxyProgress } from '../status/programming.ts';
import type { UpstreamRefusal } from '../status/refusals.ts';
import { recordedSpendingStatus } from '../status/spending.ts';
import type { LiveObjects } from '../store/live-objects.ts';
import { translate } from '../translate/translate.ts';
import { KeyMinter } from './key-minter.ts';
import type { KeyMinterOptions } from './key-minter.ts';
import type { KeySecrets, MintedKey } from './mint-keys.ts';
import { createSpendingReader } from './read-spending.ts';
import { findUnserved } from './unserved-objects.ts';
import type { UnservedObject } from './unserved-objects.ts';
import { createStatusTracker, messagesByObject } from './status-tracker.ts';
import type { ObjectStatus, StatusTracker } from './status-tracker.ts';
import { ProgrammedEvaluator } from './programmed-evaluator.ts';

/** What the controller reads, of a cluster or of a folder. Reading changes nothing. */
export interface Source {
  resources(): Resources;
  /** The objects with their written statuses; absent: the source keeps no statuses. */
  readonly objects?: Pick<LiveObjects, 'live' | 'current'>;
}

/** The proxies: the fleet of a cluster, or the one of a single machine. */
export interface Proxies {
  publish(snapshot: Snapshot): PublishResult | Promise<PublishResult>;
  /** The acknowledgements of an object, by "Kind namespace/name"; undefined if it is not published. */
  progress(id: string): ProxyProgress | undefined;
}

export interface PublishResult {
  /** False: nothing of the snapshot was published, and the last one stays in force. */
  readonly accepted: boolean;
  /** Why the last version of an object was not published. */
  readonly faults: readonly SnapshotFault[];
}

/** Receives the changed statuses. */
export interface StatusSink {
  /** Begins to write statuses, because this replica has become the leader. */
  start(): void;
  /** Call it when a status may have changed; `afterMs`: it is about to change again within this time. */
  changed(id: string, afterMs?: number): void;
  /** Resolves when no write is on its way. */
  stop(): Promise<void>;
}

export interface ControllerOptions {
  readonly gatewayNamespace: string;
  readonly source: Source;
  readonly proxies: Proxies;
  readonly keys: KeySecrets;
  readonly statuses: StatusSink;
  readonly onMinted: (minted: MintedKey) => void;
  /**
   * Generates the due keys before each publication, so that a new key works at once. Only for keys in files: an API
   * server may take long to respond.
   */
  readonly keysFirst?: boolean;
  /** See KeyMinterOptions. */
  readonly releaseKeys?: KeyMinterOptions['releaseKeys'];
  /** Called for each publication with faults, and with an empty list for the next one without. */
  readonly onFaults?: (faults: readonly SnapshotFault[]) => void;
  /** Called every 50 minutes for each object whose gatewayNamespace no operator serves. */
  readonly onUnserved?: (unserved: UnservedObject) => void;
  /** Read by the leader every ten seconds. Absent: statuses contain the spending that `readSpending` reads. */
  readonly ledger?: LedgerReader;
  readonly clock: TimerClock;
  readonly meter?: MetricsRecorder;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** How long an edit waits for further edits. */
  readonly debounceMs?: number;
  /** How long proxies may take to reconnect after a change of leader. */
  readonly settleMs?: number;
  /** See TranslateOptions. */
  readonly sealingKeys?: readonly string[];
  /** The labels that usage records carry. */
  readonly usageLabels?: readonly string[] | undefined;
}

/** Edits within this time are translated together, and so are those that arrive during a translation. */
const DEBOUNCE_MS = 2;
/** The longest pause after a translation, during which the API server's next events are read. */
const MAX_REST_MS = 50;
const SETTLE_MS = 10_000;
/** Keys per run, after which the due keys are listed again: thousands of one tenant must not delay other tenants. */
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

export class Controller {
  readonly #options: ControllerOptions;
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
  readonly #minter: KeyMinter;
  #faults: ReadonlyMap<string, string> = new Map();
  #published = false;
  #leading = false;
  #started = false;
  #stopped = false;
  #expire: (() => void) | undefined;

  constructor(options: ControllerOptions) {
    const { clock, log, debounceMs = DEBOUNCE_MS } = options;
    this.#options = options;
    this.#tracker = createStatusTracker((id) => this.#changed.add(id));
    this.#spendingReader = createSpendingReader(this.#tracker, options.gatewayNamespace);
    const logAs = (problem: string) => (error: unknown) => log.error({ err: error }, `${problem}; retrying`);
    this.#loop = new ReconcileLoop({
      run: () => this.#reconcile(),
      debounceMs,
      maxRestMs: MAX_REST_MS,
      onFailed: logAs('the configuration could not be published'),
      clock,
    });
    this.#minter = new KeyMinter({
      ...options,
      resources: () => options.source.resources(),
      leading: () => this.#isLeading(),
      ...(options.keysFirst
        ? { onFailures: () => undefined }
        : { onFailures: () => this.#loop.changed(), atMost: KEYS_AT_A_TIME }),
    });
    this.#minting = new ReconcileLoop({
      run: () => this.#minter.run(),
      debounceMs: 0,
      onFailed: logAs('keys could not be generated'),
      clock,
    });
    this.#spending = new ReconcileLoop({
      run: () => this.#pollSpending(),
      debounceMs,
      onFailed: logAs('the spending could not be read from the ledger'),
      clock,
    });
    this.#evaluator = new ProgrammedEvaluator({
      clock,
      tracker: this.#tracker,
      progress: (id) => options.proxies.progress(id),
      fault: (id) => this.#faults.get(id),
      onEvaluated: () => this.#flush(),
    });
  }

  /** Runs for the first time. Resolves when its snapshot has been published to the proxies, or failed to be. */
  async start(): Promise<void> {
    const { settleMs = SETTLE_MS, log } = this.#options;
    this.#evaluator.settle(settleMs);
    this.#expireLater();
    await this.#loop.runNow();
    this.#evaluator.recheck();
    this.#started = true;
    if (this.#leading)
      this.#writeStatuses().catch((error: unknown) => log.error({ err: error }, 'statuses cannot be written'));
  }

  /** Call it when something that translate reads has changed. */
  resourcesChanged(): void {
    this.#loop.changed();
  }

  /** Call it when the live object has changed or was deleted. */
  liveChanged(id: string): void {
    this.#options.statuses.changed(id);
  }

  /** Resolves when all changes so far have been published or have failed. */
  settled(): Promise<void> {
    return this.#loop.settled();
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
    if (!leading) return this.#options.statuses.stop();
    if (this.#started) await this.#takeLead(); // otherwise start() does it
  }

  /** Continues from the live statuses, which the previous leader may have written. */
  async #takeLead(): Promise<void> {
    const { settleMs = SETTLE_MS } = this.#options;
    this.#tracker.clear();
    this.#minter.resetBackoff();
    this.#spendingReader = createSpendingReader(this.#tracker, this.#options.gatewayNamespace);
    this.#evaluator.settle(settleMs);
    this.#evaluator.recheck();
    await this.#reconcile();
    await this.#writeStatuses();
  }

  /** Waits a moment for the spending, so that the first write of a status has it. */
  async #writeStatuses(): Promise<void> {
    const { statuses, ledger } = this.#options;
    if (ledger) await this.#readFirstSpending();
    if (!this.#isLeading()) return; // leadership may have been lost meanwhile
    statuses.start();
    for (const status of this.#tracker.list()) statuses.changed(objectId(status.kind, status));
  }

  async #readFirstSpending(): Promise<void> {
    const waited = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(FIRST_SPENDING_WITHIN_MS, waited.resolve);
    await Promise.race([this.#spending.runNow(), waited.promise]);
    cancel();
  }

  /** True if a configuration has been published to the proxies. */
  get published(): boolean {
    return this.#published;
  }

  statuses(): readonly ObjectStatus[] {
    return this.#tracker.list();
  }

  /** By "Kind namespace/name". */
  status(id: string): ObjectStatus | undefined {
    return this.#tracker.get(id);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#leading = false;
    this.#evaluator.stop();
    this.#expire?.();
    await Promise.all([this.#loop.stop(), this.#minting.stop(), this.#spending.stop(), this.#options.statuses.stop()]);
  }

  #isLeading(): boolean {
    return this.#leading && !this.#stopped;
  }

  async #reconcile(): Promise<RunResult> {
    const { keysFirst, meter } = this.#options;
    try {
      const keys = keysFirst ? await this.#minter.run() : {};
      const nextChangeInMs = await this.#publish();
      if (!keysFirst && this.#isLeading()) this.#minting.changed();
      return { againInMs: Math.min(nextChangeInMs, keys.againInMs ?? Infinity) };
    } catch (error) {
      meter?.add('modelgateway_operator_reconcile_errors_total', {}, 1);
      throw error;
    }
  }

  /** Publishes first, then updates the statuses. Resolves with the time until an expiration or the like changes more. */
  async #publish(): Promise<number> {
    const { source, proxies, clock, meter, onFaults } = this.#options;
    const nowMs = clock.nowMs();
    const { snapshot, statuses, nextChangeMs = Infinity } = this.#translate(nowMs);
    const { accepted, faults } = await proxies.publish(snapshot);
    this.#published ||= accepted;
    const faultsBefore = this.#faults;
    this.#faults = messagesByObject(faults);
    meter?.observe('modelgateway_operator_reconcile_duration_seconds', {}, (clock.nowMs() - nowMs) / 1000);
    await immediate(); // sends the change to the proxies before the statuses are computed
    this.#tracker.observe(statuses, nowMs, (id) => source.objects?.live(id)?.status);
    this.#evaluator.evaluate([...this.#changed, ...faultsBefore.keys(), ...this.#faults.keys()]);
    this.#flush();
    if (faults.length > 0 || faultsBefore.size > 0) onFaults?.(faults);
    return nextChangeMs - nowMs;
  }

  #translate(nowMs: number): ReturnType<typeof translate> {
    const { source, keys, gatewayNamespace, sealingKeys = [], usageLabels } = this.#options;
    return translate(keys.joined(source.resources()), {
      gatewayNamespace,
      nowMs,
      sealingKeys,
      ...(usageLabels && { usageLabels }),
      mintFailures: this.#minter.failures,
    });
  }

  async #pollSpending(): Promise<RunResult> {
    const { ledger } = this.#options;
    if (!ledger || !this.#isLeading()) return {};
    await this.readSpending(ledger);
    return { againInMs: READ_SPENDING_EVERY_MS };
  }

  /** Reads what has been spent into the statuses, which keep their figures if the ledger does not respond. */
  async readSpending(ledger: LedgerReader): Promise<void> {
    const { source, clock, log } = this.#options;
    const answered = await this.#spendingReader.read(source.resources(), { ledger, nowMs: clock.nowMs() });
    if (!answered) log.warn('the ledger does not respond; statuses keep the last known spending');
    this.#flush();
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
    const { source, gatewayNamespace, clock, onUnserved } = this.#options;
    if (!onUnserved) return;
    const nowMs = clock.nowMs();
    const unserved = findUnserved(source.resources(), {
      gatewayNamespace,
      nowMs,
      observedGeneration: (id) => source.objects?.live(id)?.status.observedGeneration,
    });
    const ids = new Set(unserved.map(({ id }) => id));
    for (const id of this.#unserved.keys()) if (!ids.has(id)) this.#unserved.delete(id);
    for (const each of unserved) {
      if (nowMs - (this.#unserved.get(each.id) ?? -Infinity) < REPORT_UNSERVED_EVERY_MS) continue;
      this.#unserved.set(each.id, nowMs);
      onUnserved(each);
    }
  }

  /** Passes changed statuses on; later if they are about to change again. */
  #flush(): void {
    let reads = false;
    for (const id of this.#changed) {
      const awaits = this.#options.ledger !== undefined && this.#isLeading() && this.#tracker.awaitsSpending(id);
      if (awaits) this.#remeasure(id);
      reads ||= awaits;
      this.#options.statuses.changed(id, awaits ? SPENDING_DELAY_MS : this.#reconcilingDelay(id));
    }
    this.#changed.clear();
    if (reads) this.#spending.changed();
  }

  /**
   * Measures the recorded spending of an edited object against its new limit. The ledger may not be read in time, and no
   * status may call an edit observed beside what was left of the old limit.
   */
  #remeasure(id: string): void {
    const { source, clock } = this.#options;
    const status = this.#tracker.get(id)?.status;
    const object = source.objects?.current(id);
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
