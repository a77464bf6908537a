/**
 * This process as an instance of the fleet, with its buckets and holds. Every second it renews its lease and its slots,
 * and reaps the holds of dead instances.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { CallMap } from '../call-map.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { LedgerHealth } from '../ledger.ts';
import { Bucket } from './bucket.ts';
import type { BucketSettings } from './bucket.ts';
import type { Epoch, RestoreReason, RestorePlan } from './epoch.ts';
import type { SettlementJournal } from './journal.ts';
import type { ValkeyConnection } from './connection.ts';
import { bucketBases, bucketOf, describeLocation } from './location.ts';
import type { ValkeyLocation } from './location.ts';
import { adoptOperation, isNamedValues, textOf } from './operations.ts';
import type { HeldCall, Operation } from './operations.ts';
import { refillOperations } from './refill.ts';
import type { KnownSpending, RefillSource } from './refill.ts';
import { recordOf } from './replies.ts';
import type { Reply } from './replies.ts';
import { LimitLeases } from './limit-leases.ts';

/** Events that operators must know of. */
export type LedgerEvent =
  /** The ledger refuses calls, or accepts them again. */
  | { readonly kind: 'Failing' | 'Working'; readonly reason: string }
  /**
   * A store was empty or had lost its latest writes; `putBack` counts the settlements and holds that this process
   * restored.
   */
  | { readonly kind: 'Emptied' | 'LostWrites'; readonly putBack: number }
  /** Balances (`a:ACCOUNT`, `k:UID`) or holds (`c:CALL`) were missing in the store, evicted or deleted, and are put back. */
  | { readonly kind: 'LostValues'; readonly names: readonly string[] }
  /** The reaper billed calls of dead instances at their last progress. */
  | { readonly kind: 'Reaped'; readonly calls: number }
  /** A server of the store evicts keys when its memory is full. */
  | { readonly kind: 'Evicts'; readonly reason: string }
  | { readonly kind: 'JournalFails'; readonly reason: string };

export interface InstanceDeps {
  readonly location: ValkeyLocation;
  readonly connection: ValkeyConnection;
  readonly settings: BucketSettings;
  readonly journal: SettlementJournal;
  readonly onEvent: (event: LedgerEvent) => void;
  readonly refill: RefillSource | undefined;
}

interface BucketEpoch {
  readonly index: number;
  readonly base: string;
  readonly epoch: Epoch;
  /** The start of the previous epoch. */
  readonly previous: number;
}

const TICK_MS = 1_000;
const MAX_REAPED = 50;
const POLL_MS = 5;
const NOTHING_KNOWN: KnownSpending = { keys: [], accounts: [] };
export class Instance {
  readonly buckets: readonly Bucket[];
  readonly held = new CallMap<HeldCall>();
  /** Functions that withhold the calls whose settlements are not complete. */
  readonly settling = new CallMap<() => void>();
  readonly limits: LimitLeases;
  readonly journal: SettlementJournal;
  readonly #deps: InstanceDeps;
  /** The account of each key, which never changes. */
  readonly #accounts = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  /** The state that was last reported; undefined: none yet. */
  #failing: boolean | undefined;

  constructor(deps: InstanceDeps) {
    this.#deps = deps;
    this.journal = deps.journal;
    this.buckets = bucketBases(deps.location).map(
      (base, index) =>
        new Bucket({
          connection: deps.connection,
          base,
          settings: deps.settings,
          collectRestores: (reason, epoch, previous) => this.#restores({ index, base, epoch, previous }, reason),
          onRestored: (operation, reply) => this.#journalRestored(operation, reply),
          onLost: (names) => this.#deps.onEvent({ kind: 'LostValues', names }),
          latestStart: () => this.journal.latestStart(base),
          onRejoined: ({ reason, restored, epoch }) => {
            this.journal.beginEpoch(base, epoch);
            if (reason === 'Start' && restored === 0) return;
            this.#deps.onEvent({ kind: reason === 'Empty' ? 'Emptied' : 'LostWrites', putBack: restored });
          },
          onState: () => {
            if (this.#failing !== undefined || this.health().ok) this.reportHealth();
          },
        }),
    );
    this.limits = new LimitLeases(this.buckets);
  }

  get leaseMs(): number {
    return this.#deps.settings.leaseMs;
  }

  /** How long the store may take for an operation before it counts as unanswered. */
  get timeoutMs(): number {
    return this.#deps.settings.timeoutMs;
  }

  /** About the store's clock. */
  get nowMs(): number {
    return (this.#deps.settings.clock ?? Date.now)();
  }

  start(): void {
    for (const bucket of this.buckets) bucket.start();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  bucketIndex(account: string): number {
    return bucketOf(account, this.buckets.length);
  }

  bucketOfAccount(account: string): Bucket {
    const bucket = this.buckets[this.bucketIndex(account)];
    if (!bucket) throw new LedgerUnavailable('there is no such bucket');
    return bucket;
  }

  rememberAccount(keyUid: string, account: string): void {
    this.#accounts.set(keyUid, account);
  }

  /** The buckets with holds of this process. All buckets if it has no holds, because then only their health matters. */
  bucketsWithHolds(): readonly Bucket[] {
    if (this.buckets.length === 1 || this.held.size === 0) return this.buckets;
    const mine = new Set<Bucket>();
    for (const { request } of this.held.values()) mine.add(this.bucketOfAccount(request.origin.account));
    return [...mine];
  }

  /** The reply of the bucket that knows the key, or `none`. */
  async askAboutKey(keyUid: string, operation: Operation, account = this.#accounts.get(keyUid)): Promise<Reply> {
    const buckets = account === undefined ? this.buckets : [this.bucketOfAccount(account)];
    const replies = await Promise.all(buckets.map((bucket) => bucket.execute(operation)));
    return replies.find(({ is }) => is !== 'none') ?? replies[0] ?? { is: 'none' };
  }

  health(): LedgerHealth {
    const closed = this.buckets.find(({ open }) => !open);
    if (!closed) return { ok: true, reason: '' };
    const failure = this.#deps.connection.lastFailure();
    const reason = failure === '' ? closed.reason : `${closed.reason} (${failure})`;
    return { ok: false, reason: `${describeLocation(this.#deps.location)}: ${reason}` };
  }

  /** Reports whether the ledger refuses calls, if that has changed. */
  reportHealth(): void {
    const { ok, reason } = this.health();
    if (this.#failing === !ok) return;
    this.#failing = !ok;
    this.#deps.onEvent({ kind: ok ? 'Working' : 'Failing', reason });
  }

  /** Settles the holds of dead instances at their last progress. */
  async reap(): Promise<void> {
    await Promise.all(this.buckets.map((bucket) => this.#reapIn(bucket).catch(ignoreUnavailable)));
  }

  async close(timeoutMs: number): Promise<void> {
    clearInterval(this.#timer);
    const untilMs = performance.now() + timeoutMs;
    while (this.buckets.some(({ hasWork }) => hasWork) && performance.now() < untilMs) await sleep(POLL_MS);
    for (const bucket of this.buckets) bucket.close();
    this.#deps.connection.close();
    // a settlement that this refuses is journaled one turn later
    await nextTurn();
    await this.journal.close();
  }

  #tick(): void {
    for (const [index, bucket] of this.buckets.entries()) {
      if (!bucket.open) continue;
      for (const operation of this.limits.renewals(index, false)) bucket.execute(operation).catch(ignoreUnavailable);
      // each batch renews the lease of this instance
      this.#reapIn(bucket).catch(ignoreUnavailable);
    }
  }

  async #reapIn(bucket: Bucket): Promise<void> {
    const { records: reaped = [], more } = await bucket.execute({ op: 'reap', most: MAX_REAPED });
    for (const record of reaped) void this.journal.addSettled({ record });
    if (reaped.length > 0) this.#deps.onEvent({ kind: 'Reaped', calls: reaped.length });
    if (more !== undefined) await this.#reapIn(bucket);
  }

  /** A restored change is one of this epoch, with another number. */
  #journalRestored(operation: Operation, reply: Reply): void {
    const { op, job, charged, endedMs } = operation;
    const restored = { record: recordOf(reply), ...(isNamedValues(job) && { job }) };
    if (op === 'refill') void this.journal.addSettled(restored);
    else void this.journal.addEnded({ ...restored, charged: textOf(charged), endedMs: textOf(endedMs) });
  }

  /** Puts settlements first, because the holds that they replaced must not be adopted again. */
  async #restores({ index, base, epoch, previous }: BucketEpoch, reason: RestoreReason): Promise<RestorePlan> {
    const isHere = (account: string): boolean => this.bucketIndex(account) === index;
    // true if this process did not take part in the previous epoch
    const missed = this.journal.latestStart(base) < previous;
    const settled = await this.journal.refills({ base, epoch: epoch.id, missed, accepts: isHere });
    const adopted: Operation[] = [];
    for (const held of this.held.values()) {
      if (!isHere(held.request.origin.account)) continue;
      // the store keeps an earlier hold of the call, if it has one
      adopted.push(adoptOperation(held));
    }
    adopted.push(...this.limits.renewals(index, true));
    const told = reason === 'Empty' && this.#deps.refill ? await this.#deps.refill() : NOTHING_KNOWN;
    // statuses make the beginnings of windows, which the holds from before these correct
    const operations = [...refillOperations(told, isHere), ...adopted];
    return missed ? { operations, late: settled } : { operations: [...settled, ...operations], late: [] };
  }
}

/** Ignores LedgerUnavailable, because the next tick repeats the operation. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof LedgerUnavailable)) throw error;
}
