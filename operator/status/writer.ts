/**
 * Writes desired statuses until the live ones are equal: server-side apply, one owner at a time, within a budget of
 * which namespaces take turns. A change on either side queues the object again, and failed writes are retried with
 * backoff. Spending is written at most once per object in 30 s, at once when it crosses a threshold, and together with
 * an edit of its limit.
 */
import type { Logger } from 'pino';
import type { Kind } from '#crds/types.gen.ts';
import type { MetricsRecorder } from '../metrics.ts';
import { FairQueue, WRITES_AT_ONCE, WRITES_AT_ONCE_OF_NAMESPACE } from '../store/fair-queue.ts';
import type { StatusOwner, WriteOutcome } from '#kube/status-client.ts';
import type { LiveObject, StatusBody } from '#objects/live-object.ts';
import { pauseAfter } from '#runtime/backoff.ts';
import { namespaceOfId } from '#objects/resources.ts';
import {
  bothPartsOf,
  crossesThreshold,
  changesLimit,
  editsLimit,
  partOf,
  removalsFrom,
  samePart,
  hasSpending,
} from './differences.ts';
import { createWriteBudget } from './write-budget.ts';

/** The object that a status belongs to. */
export type StatusTarget = LiveObject<StatusBody>;

export interface StatusWriterOptions {
  /** The desired status by "Kind namespace/name"; undefined: none. */
  readonly desired: (id: string) => StatusBody | undefined;
  readonly live: (id: string) => StatusTarget | undefined;
  /** Applies an owner's part; `live` returns the result afterwards. Rejects if it must be tried again. */
  readonly apply: (target: StatusTarget, owner: StatusOwner, part: StatusBody) => Promise<WriteOutcome>;
  /** Removes by JSON Patch what belongs to no owner. */
  readonly remove: (target: StatusTarget, operations: readonly object[]) => Promise<WriteOutcome>;
  /** Called for each status that the operator wrote, with the previous and the new content. */
  readonly onWritten?: (target: StatusTarget, now: StatusBody) => void;
  readonly clock: { nowMs(): number; after(ms: number, run: () => void): () => void };
  readonly meter: MetricsRecorder;
  readonly log: Pick<Logger, 'warn'>;
  readonly writesPerSecond?: number;
  readonly spendingEveryMs?: number;
}

interface NextWrite {
  readonly target: StatusTarget;
  readonly desired: StatusBody;
  readonly owner: StatusOwner;
  /** The owner's part, or both parts. */
  readonly part: StatusBody;
}

const WRITES_PER_SECOND = 200;
const SPENDING_SHARE = 4;
const SPENDING_EVERY_MS = 30_000;
const RETRY = { firstMs: 500, longestMs: 60_000 } as const;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #budget;
  readonly #spendingBudget;
  /** The queue of objects to write. */
  readonly #ready = new FairQueue(namespaceOfId);
  /** Objects to queue later. */
  readonly #delayed = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  readonly #busy = new Set<string>();
  /** Objects that changed while they were written. */
  readonly #changedMeanwhile = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #spentWritten = new Map<string, number>();
  /** Whose manager has written an object's spending last; absent: another leader's writes are not known. */
  readonly #spendingHolders = new Map<string, StatusOwner>();
  /** Objects whose status another gateway owns, with the version at which that was seen. */
  readonly #taken = new Map<string, string>();
  readonly #idle = new Set<() => void>();
  #writing = false;
  #wait: (() => void) | undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    const perSecond = options.writesPerSecond ?? WRITES_PER_SECOND;
    this.#budget = createWriteBudget({ perSecond, burst: perSecond * 2 });
    this.#spendingBudget = createWriteBudget({
      perSecond: perSecond / SPENDING_SHARE,
      burst: perSecond / SPENDING_SHARE,
    });
  }

  /** Starts writing, because this replica leads. */
  start(): void {
    this.#writing = true;
    this.#pump();
  }

  /** Stops writing; resolves when running writes have ended. */
  async stop(): Promise<void> {
    this.#writing = false;
    this.#ready.clear();
    this.#changedMeanwhile.clear();
    this.#wait?.();
    this.#wait = undefined;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#failures.clear();
    this.#spendingHolders.clear();
    if (this.#busy.size > 0)
      await new Promise<void>((resolve) => {
        this.#idle.add(resolve);
      });
  }

  /** Queues an object whose live or desired status may have changed, after `afterMs`. */
  changed(id: string, afterMs = 0): void {
    // a failing object waits for its retry
    if (!this.#writing || (this.#failures.has(id) && this.#delayed.has(id))) return;
    if (afterMs > 0) this.#later(id, afterMs);
    else this.#now(id);
  }

  /** The length of the queue, running writes included. */
  get waiting(): number {
    return this.#ready.size + this.#busy.size;
  }

  #now(id: string): void {
    this.#delayed.get(id)?.cancel();
    this.#delayed.delete(id);
    this.#ready.add(id);
    this.#pump();
  }

  #later(id: string, ms: number): void {
    const atMs = this.#options.clock.nowMs() + ms;
    const known = this.#delayed.get(id);
    if (known && known.atMs <= atMs) return;
    known?.cancel();
    this.#delayed.set(id, { atMs, cancel: this.#options.clock.after(ms, () => this.#now(id)) });
  }

  #pump(): void {
    this.#startWrites();
    this.#options.meter.set('modelgateway_operator_status_queue', {}, this.waiting);
  }

  #startWrites(): void {
    for (const id of this.#ready) {
      if (!this.#writing || this.#busy.size >= WRITES_AT_ONCE || this.#wait) return;
      if (this.#busy.has(id)) {
        this.#ready.delete(id);
        this.#changedMeanwhile.add(id);
        continue;
      }
      if (this.#busyOf(namespaceOfId(id)) >= WRITES_AT_ONCE_OF_NAMESPACE) continue;
      const next = this.#next(id);
      const waitMs = next ? this.#budget.take(this.#options.clock.nowMs()) : 0;
      if (waitMs > 0) return this.#sleep(waitMs);
      this.#ready.delete(id);
      if (next) void this.#write(id, next);
    }
  }

  #busyOf(namespace: string): number {
    return [...this.#busy].filter((id) => namespaceOfId(id) === namespace).length;
  }

  #sleep(ms: number): void {
    this.#wait = this.#options.clock.after(ms, () => {
      this.#wait = undefined;
      this.#pump();
    });
  }

  /** The next write of an object; undefined: none is due, and a later one is scheduled. */
  #next(id: string): NextWrite | undefined {
    const desired = this.#options.desired(id);
    const target = this.#options.live(id);
    if (!desired || !target || this.#taken.get(id) === target.resourceVersion) {
      if (!target) this.#forget(id);
      return undefined;
    }
    // one write, so that no reader sees the edit observed beside what was left of the old limit, or the reverse
    if (hasSpending(desired) && editsLimit(desired, target.status))
      return { target, desired, owner: 'operator', part: bothPartsOf(desired) };
    const owner = this.#nextOwner(id, desired, target);
    return owner && { target, desired, owner, part: partOf(desired, owner) };
  }

  /** Whose part is to be written now. */
  #nextOwner(id: string, desired: StatusBody, { status }: StatusTarget): StatusOwner | undefined {
    const isOperatorDue = !samePart(desired, status, 'operator');
    if (hasSpending(desired) && this.#operatorMayOwnSpending(id, status, isOperatorDue)) return 'spending';
    if (isOperatorDue) return 'operator';
    if (!hasSpending(desired) || samePart(desired, status, 'spending')) {
      this.#failures.delete(id);
      return undefined;
    }
    return this.#mayWriteSpending(id, desired, status) ? 'spending' : undefined;
  }

  /**
   * Whether the operator's manager may own spending, which its next write would remove. The spending's manager takes it
   * back before that: at once after this process's own write, and before the first one where it knows of none.
   */
  #operatorMayOwnSpending(id: string, live: StatusBody, isOperatorDue: boolean): boolean {
    const holder = this.#spendingHolders.get(id);
    return holder === undefined ? isOperatorDue && hasSpending(live) : holder === 'operator';
  }

  #mayWriteSpending(id: string, desired: StatusBody, live: StatusBody): boolean {
    if (crossesThreshold(desired, live) || changesLimit(desired, live)) return true;
    const { clock, spendingEveryMs = SPENDING_EVERY_MS } = this.#options;
    const nowMs = clock.nowMs();
    const restMs = (this.#spentWritten.get(id) ?? Number.NEGATIVE_INFINITY) + spendingEveryMs - nowMs;
    const waitMs = restMs > 0 ? restMs : this.#spendingBudget.take(nowMs);
    if (waitMs > 0) this.#later(id, waitMs);
    return waitMs <= 0;
  }

  async #write(id: string, next: NextWrite): Promise<void> {
    this.#busy.add(id);
    try {
      await this.#carryOut(id, next);
    } catch (error) {
      this.#failed(id, error);
    } finally {
      this.#busy.delete(id);
      if (this.#changedMeanwhile.delete(id) && this.#writing && !this.#delayed.has(id)) this.#ready.add(id);
      if (this.#busy.size === 0) for (const resolve of this.#idle) resolve();
      this.#pump();
    }
  }

  async #carryOut(id: string, next: NextWrite): Promise<void> {
    const { target, desired, owner } = next;
    let outcome = await this.#apply(id, next);
    if (owner === 'operator' && outcome === 'Written') this.#options.onWritten?.(target, desired);
    if (outcome === 'Written') outcome = await this.#removeOthers(id, desired, owner);
    this.#count(target.kind, owner, outcome === 'Written' ? 'ok' : 'conflict');
    if (outcome === 'Taken') this.#taken.set(id, target.resourceVersion);
    if (outcome === 'Written') this.#again(id, desired, owner);
  }

  async #apply(id: string, { target, owner, part }: NextWrite): Promise<WriteOutcome> {
    const { apply, clock } = this.#options;
    const isSpending = hasSpending(part);
    // before the write, whose response may be lost
    if (isSpending && owner === 'operator') this.#spendingHolders.set(id, owner);
    const outcome = await apply(target, owner, part);
    if (isSpending) this.#spentWritten.set(id, clock.nowMs());
    if (owner === 'spending') this.#spendingHolders.set(id, owner);
    return outcome;
  }

  /** Removes from an owner's part what somebody else has written into it. */
  async #removeOthers(id: string, desired: StatusBody, owner: StatusOwner): Promise<WriteOutcome> {
    const result = this.#options.live(id);
    const operations = result ? removalsFrom(result.status, desired, owner) : [];
    return result && operations.length > 0 ? this.#options.remove(result, operations) : 'Written';
  }

  /** Retries with backoff, not in a tight loop, if the server changes what was applied. */
  #again(id: string, written: StatusBody, owner: StatusOwner): void {
    const now = this.#options.live(id);
    if (!this.#writing || !now) return;
    if (!samePart(written, now.status, owner)) return this.#retry(id);
    this.#failures.delete(id);
    this.#ready.add(id);
  }

  #failed(id: string, error: unknown): void {
    const target = this.#options.live(id);
    if (!target) return this.#forget(id);
    this.#count(target.kind, 'operator', 'failed');
    if ((this.#failures.get(id) ?? 0) === 0)
      this.#options.log.warn(
        {
          object: id,
          problem: error instanceof Error ? error.message : String(error),
        },
        'cannot write a status; retrying',
      );
    this.#retry(id);
  }

  #retry(id: string): void {
    const failures = this.#failures.get(id) ?? 0;
    this.#failures.set(id, failures + 1);
    this.#ready.delete(id); // its watch may have queued it already
    if (this.#writing) this.#later(id, pauseAfter(failures, RETRY));
  }

  #forget(id: string): void {
    this.#failures.delete(id);
    this.#spentWritten.delete(id);
    this.#spendingHolders.delete(id);
    this.#taken.delete(id);
  }

  #count(kind: Kind, manager: StatusOwner, outcome: string): void {
    this.#options.meter.add('modelgateway_operator_status_writes_total', { kind, manager, outcome }, 1);
  }
}
