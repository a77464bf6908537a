/**
 * The operator's loop in a cluster: something changed → translate → publish to the proxies → note what is to be said.
 * Publishing waits for nobody: keys are made beside it, and what proxies, providers and the ledger say is noted as it
 * comes. Every replica does this; making keys and writing statuses is the leader's.
 */
import type { Logger } from 'pino';
import type { LedgerReader } from '#ledger/ledger.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Clock } from '../kube/clock.ts';
import type { ClusterProvider } from '../kube/provider.ts';
import type { Meter } from '../metrics.ts';
import type { ProxyProgress } from '../status/programming.ts';
import type { StatusWriter } from '../status/writer.ts';
import { translate } from '../translate/translate.ts';
import { publishable } from './last-good.ts';
import { Loop } from './loop.ts';
import type { RunResult } from './loop.ts';
import { mintKeys } from './mint-keys.ts';
import type { KeySecrets, MintedKey } from './mint-keys.ts';
import { createSpendingReader } from './read-spending.ts';
import { openStatusBook, statusId } from './status-book.ts';
import type { ObjectStatus, StatusBook } from './status-book.ts';
import { Verdicts } from './verdicts.ts';

/** The connected proxies, as far as the loop has to do with them. */
export interface Proxies {
  /** Gives the snapshot out; never waits. */
  publish(snapshot: Snapshot): void;
  /** By "Kind namespace/name"; undefined: it is not published. */
  progress(id: string): ProxyProgress | undefined;
}

export interface UpstreamRefusal {
  readonly route: string;
  readonly channel: string;
  readonly status: number;
}

export interface ClusterControllerOptions {
  readonly gatewayNamespace: string;
  readonly provider: Pick<ClusterProvider, 'resources' | 'objects'>;
  readonly proxies: Proxies;
  readonly keys: KeySecrets;
  readonly writer: Pick<StatusWriter, 'start' | 'stop' | 'changed'>;
  readonly onMinted: (minted: MintedKey) => void;
  /** Without one, statuses say nothing of spending. */
  readonly ledger?: LedgerReader;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly holdOffMs?: number;
  /** So long after a replica began to lead, proxies may still be on their way to it. */
  readonly settleMs?: number;
}

/** Edits within this time are translated together; a revocation should not wait for longer. */
const HOLD_OFF_MS = 20;
const SETTLE_MS = 10_000;
/** What is on its way is written only if it still is after this. */
const ON_THE_WAY_MS = 300;
const READ_SPENDING_EVERY_MS = 10_000;
const FIRST_SPENDING_WITHIN_MS = 5_000;
const EXPIRE_EVERY_MS = 60_000;

export class ClusterController {
  readonly #options: ClusterControllerOptions;
  readonly #book: StatusBook;
  readonly #loop: Loop;
  readonly #minting: Loop;
  readonly #spending: Loop;
  #spendingReader: ReturnType<typeof createSpendingReader>;
  /** Objects whose status has become another since the writer was told last. */
  readonly #changed = new Set<string>();
  readonly #verdicts: Verdicts;
  #mintFailures: ReadonlyMap<string, string> = new Map();
  #faults: ReadonlyMap<string, string> = new Map();
  #lastGood: Snapshot | undefined;
  #leading = false;
  #started = false;
  #stopped = false;
  #expire: (() => void) | undefined;

  constructor(options: ClusterControllerOptions) {
    const { clock: timers, log, holdOffMs = HOLD_OFF_MS, settleMs = SETTLE_MS } = options;
    this.#options = options;
    this.#book = openStatusBook((id) => this.#changed.add(id));
    this.#spendingReader = createSpendingReader(this.#book, options.gatewayNamespace);
    this.#loop = new Loop({ run: () => this.#reconcile(), holdOffMs, timers, log });
    this.#minting = new Loop({ run: () => this.#mint(), holdOffMs: 0, timers, log });
    this.#spending = new Loop({ run: () => this.#readSpending(), holdOffMs, timers, log });
    this.#verdicts = new Verdicts({
      clock: timers, book: this.#book, progress: (id) =>
        options.proxies.progress(id), fault: (id) => this.#faults.get(id), onJudged: () => this.#flush(),
    });
    this.#verdicts.settle(settleMs);
  }

  /** The first run. Resolves when its snapshot has been given to the proxies. */
  async start(): Promise<void> {
    this.#expireLater();
    await this.#loop.start();
    this.#verdicts.recheck();
    this.#started = true;
    if (this.#leading) await this.#takeLead();
  }

  /** Something that translate reads has changed. */
  resourcesChanged(): void {
    this.#loop.changed();
  }

  /** The live object has changed, or is gone. */
  liveChanged(id: string): void {
    this.#options.writer.changed(id);
  }

  /** What proxies say of these objects has changed. */
  progressed(ids: Iterable<string>): void {
    this.#verdicts.judgeSlowly(ids);
  }

  refused({ route, channel, status }: UpstreamRefusal): void {
    const { gatewayNamespace, clock } = this.#options;
    this.#book.refused(statusId({ kind: 'ModelRoute', namespace: gatewayNamespace, name: route }), {
      channel, status, atMs: clock.nowMs(),
    });
    this.#flush();
  }

  /** From now on statuses and keys are written, or no more. */
  async lead(leading: boolean): Promise<void> {
    this.#leading = leading;
    if (!leading) return this.#options.writer.stop();
    if (this.#started) await this.#takeLead(); // else start does
  }

  /** Goes on from what the live objects say, which the leader before may have written. */
  async #takeLead(): Promise<void> {
    const { writer, clock, settleMs = SETTLE_MS, ledger } = this.#options;
    this.#book.clear();
    this.#spendingReader = createSpendingReader(this.#book, this.#options.gatewayNamespace);
    this.#verdicts.settle(settleMs);
    this.#verdicts.recheck();
    await this.#reconcile();
    if (ledger) await Promise.race([this.#spending.start(), new Promise<void>((resolve) => {
      clock.after(FIRST_SPENDING_WITHIN_MS, resolve);
    })]);
    if (!this.#isLeading()) return; // it may have ended meanwhile
    writer.start();
    for (const status of this.#book.list()) writer.changed(statusId(status));
  }

  /** Whether a configuration has been given to the proxies. */
  get published(): boolean {
    return this.#lastGood !== undefined;
  }

  statuses(): readonly ObjectStatus[] {
    return this.#book.list();
  }

  status(id: string): ObjectStatus['status'] | undefined {
    return this.#book.get(id)?.status;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#leading = false;
    this.#verdicts.stop();
    this.#expire?.();
    await Promise.all([this.#loop.stop(), this.#minting.stop(), this.#spending.stop(), this.#options.writer.stop()]);
  }

  #isLeading(): boolean {
    return this.#leading && !this.#stopped;
  }

  async #reconcile(): Promise<RunResult> {
    const { provider, proxies, gatewayNamespace, clock, meter } = this.#options;
    const nowMs = clock.nowMs();
    try {
      const resources = provider.resources();
      const { snapshot, statuses, nextChangeMs } =
        translate(resources, { gatewayNamespace, nowMs, mintFailures: this.#mintFailures });
      const good = publishable(snapshot, this.#lastGood);
      const faultsBefore = this.#faults;
      this.#faults = good ? wordsOf(good.faults) : new Map();
      if (good) proxies.publish(this.#lastGood = good.snapshot);
      else this.#options.log.error('the configuration has faults that cannot be told apart; the last good one stays ' +
        'in force');
      meter.observe('modelgateway_operator_reconcile_duration_seconds', {}, (clock.nowMs() - nowMs) / 1000);
      this.#book.observe(statuses, nowMs, (id) => provider.objects.live(id)?.status);
      this.#verdicts.judge([...this.#changed, ...faultsBefore.keys(), ...this.#faults.keys()]);
      this.#flush();
      if (this.#isLeading() && !resources.keySecretsPending) this.#minting.changed();
      return { retry: !good, ...nextChangeMs === undefined ? {} : { againInMs: nextChangeMs - nowMs } };
    } catch (error) {
      meter.add('modelgateway_operator_reconcile_errors_total', {}, 1);
      throw error;
    }
  }

  async #mint(): Promise<RunResult> {
    const { provider, gatewayNamespace, keys, onMinted, clock, log, meter } = this.#options;
    const resources = provider.resources();
    if (!this.#isLeading() || resources.keySecretsPending) return { retry: false };
    const { failures, retry } = await mintKeys(resources, clock.nowMs(), { gatewayNamespace, minted: keys, onMinted });
    if (!this.#isLeading()) return { retry: false }; // the next leader makes what is missing
    for (const [apiKey, failure] of failures) {
      meter.add('modelgateway_operator_keys_made_total', { outcome: 'failed' }, 1);
      if (this.#mintFailures.get(apiKey) !== failure)
        log.warn({ apiKey, failure }, 'a key could not be made; it is tried again');
    }
    const same = failures.size === this.#mintFailures.size &&
      [...failures].every(([apiKey, failure]) => this.#mintFailures.get(apiKey) === failure);
    if (!same) {
      this.#mintFailures = failures;
      this.#loop.changed();
    }
    return { retry };
  }

  async #readSpending(): Promise<RunResult> {
    const { ledger, provider, clock, log } = this.#options;
    if (!ledger || !this.#isLeading()) return { retry: false };
    const answered = await this.#spendingReader.read(provider.resources(), { ledger, nowMs: clock.nowMs() });
    if (!answered) log.warn('the ledger does not answer; statuses say the spending of before');
    this.#flush();
    return { retry: false, againInMs: READ_SPENDING_EVERY_MS };
  }

  #expireLater(): void {
    const { clock } = this.#options;
    this.#expire = clock.after(EXPIRE_EVERY_MS, () => {
      this.#book.expire(clock.nowMs());
      this.#flush();
      if (!this.#stopped) this.#expireLater();
    });
  }

  /** The writer looks at what has changed; at what is on its way a little later, since it is about to change again. */
  #flush(): void {
    for (const id of this.#changed) {
      const conditions = this.#book.get(id)?.status.conditions ?? [];
      this.#options.writer.changed(id, conditions.some(({ type }) => type === 'Reconciling') ? ON_THE_WAY_MS : 0);
    }
    this.#changed.clear();
  }
}

function wordsOf(faults: readonly SnapshotFault[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const fault of faults) {
    const id = statusId(fault);
    words.set(id, [words.get(id), fault.message].filter((part) => part !== undefined).join('; '));
  }
  return words;
}
