/**
 * Computes the condition Programmed from the proxies' acknowledgements. Proxies come and go, so an object that was in
 * force keeps Programmed=True for a grace period, and as long as a proxy that had it in force is cut off. Many objects
 * are evaluated in slices, so that an edit does not wait for them.
 */
import type { TimerClock } from '#runtime/clock.ts';
import { RECONCILING } from '../status/conditions.ts';
import type { Programming } from '../status/conditions.ts';
import { programmingOf, proxiesInForce } from '../status/programming.ts';
import type { ProxyProgress } from '../status/programming.ts';
import { objectId } from '#objects/resources.ts';
import type { StatusTracker } from './status-tracker.ts';

interface EvaluatorDeps {
  readonly clock: TimerClock;
  readonly tracker: Pick<StatusTracker, 'reprogram' | 'get' | 'list'>;
  /** The proxies' acknowledgements of an object; undefined if it is not published. */
  readonly progress: (id: string) => ProxyProgress | undefined;
  /** Why an object's last version was not published. */
  readonly fault: (id: string) => string | undefined;
  /** Called after each slice. */
  readonly onEvaluated: () => void;
}

/** How long an object stays Programmed=True although a proxy that has just connected has not acknowledged it. */
const LATE_MS = 2_000;
/**
 * How long the message of Programmed follows proxies that the leader hears of late: an edit may be in force at one proxy
 * before another one has connected, or another replica has reported. Later ones do not change it, else every proxy that
 * comes would rewrite all.
 */
const FOLLOW_MS = 60_000;
const SLICE_SIZE = 250;

export class ProgrammedEvaluator {
  readonly #deps: EvaluatorDeps;
  /** Objects that wait for their slice. */
  readonly #waiting = new Set<string>();
  /** Objects that were in force, with the time since which some proxy has not acknowledged them. */
  readonly #late = new Map<string, number>();
  /** Objects that have come in force in the last FOLLOW_MS, with the time. */
  readonly #lately = new Map<string, number>();
  /** The version of its object that each Programmed=True is about. */
  readonly #inForce = new WeakMap<Programming, string>();
  /** Objects that are not in force, whose message may depend on the number of proxies. */
  readonly #awaiting = new Set<string>();
  #settledMs = 0;
  /** Proxies may still reconnect: all objects are evaluated again afterwards. */
  #settling = true;
  #stopped = false;
  #slice: (() => void) | undefined;
  #recheck: (() => void) | undefined;

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
  }

  /** Starts a period of `ms` in which proxies may still reconnect. */
  settle(ms: number): void {
    this.#settledMs = this.#deps.clock.nowMs() + ms;
    this.#settling = ms > 0;
  }

  /** Schedules an evaluation of all objects at the end of that period. */
  recheck(): void {
    if (this.#settling) this.#recheckIn(this.#settledMs - this.#deps.clock.nowMs());
  }

  evaluate(ids: Iterable<string>): void {
    this.#deps.tracker.reprogram(ids, (id, before) => this.#evaluate(id, before), this.#deps.clock.nowMs());
  }

  /** Evaluates in slices, because a connecting or leaving proxy can affect all objects. */
  evaluateInSlices(ids: Iterable<string>): void {
    if (this.#stopped) return;
    for (const id of ids) this.#waiting.add(id);
    if (!this.#slice) this.#evaluateSlice();
  }

  /**
   * Evaluates the objects whose message may depend on which proxies are connected: a proxy may connect with everything
   * that was published, so that no acknowledgement follows.
   */
  proxiesChanged(): void {
    for (const id of this.#awaiting) if (!this.#deps.tracker.get(id)) this.#awaiting.delete(id);
    this.#forgetEarlier();
    this.evaluateInSlices([...this.#awaiting, ...this.#lately.keys()]);
  }

  stop(): void {
    this.#stopped = true;
    this.#recheck?.();
    this.#slice?.();
  }

  #evaluateSlice(): void {
    this.#slice = undefined;
    const slice = [...this.#waiting.keys().take(SLICE_SIZE)];
    for (const id of slice) this.#waiting.delete(id);
    this.evaluate(slice);
    this.#deps.onEvaluated();
    if (this.#waiting.size > 0 && !this.#stopped) this.#slice = this.#deps.clock.after(0, () => this.#evaluateSlice());
  }

  #evaluate(id: string, before: Programming): Programming {
    const next = this.#next(id, before);
    if (next.status === 'True') this.#awaiting.delete(id);
    else this.#awaiting.add(id);
    return next;
  }

  #next(id: string, before: Programming): Programming {
    const fault = this.#deps.fault(id);
    if (fault !== undefined)
      return {
        status: 'False',
        reason: 'Rejected',
        message: `Rejected, so the proxies continue with the last good version: ${fault}`,
      };
    const progress = this.#deps.progress(id);
    return progress ? this.#withProgress(id, before, progress) : this.#withGracePeriod(id, before, RECONCILING);
  }

  #withProgress(id: string, before: Programming, progress: ProxyProgress): Programming {
    const { version, connected } = progress;
    // of an object that waited for a proxy, the time tells nothing
    const now = programmingOf(
      before.reason === 'ProxyNotConnected' ? { ...progress, convergedMs: undefined } : progress,
    );
    if (before.status === 'True' && !this.#inForce.has(before)) this.#inForce.set(before, version);
    if (now.status === 'True') {
      this.#late.delete(id);
      const next = this.#isNews(id, before, connected) ? now : before; // so that the transition's message stays
      this.#inForce.set(next, version);
      return next;
    }
    if (now.reason === 'Rejected') return now;
    if (now.reason === 'ProxyNotConnected' && this.#inForce.get(before) === version) {
      this.#late.delete(id);
      return before; // the proxies that are cut off had acknowledged it
    }
    return this.#withGracePeriod(id, before, now);
  }

  /** True if an object has come in force, or lately did and is now in force on more proxies. */
  #isNews(id: string, before: Programming, proxies: number): boolean {
    const nowMs = this.#deps.clock.nowMs();
    this.#forgetEarlier();
    if (before.status !== 'True') {
      this.#lately.delete(id);
      this.#lately.set(id, nowMs);
      return true;
    }
    const sinceMs = this.#lately.get(id) ?? this.#inForceSince(id);
    if (!(nowMs - sinceMs <= FOLLOW_MS)) return false;
    this.#lately.set(id, sinceMs);
    return proxies > proxiesInForce(before.message);
  }

  /** When an earlier leader saw it come in force; NaN if it did not. */
  #inForceSince(id: string): number {
    const { conditions = [] } = this.#deps.tracker.get(id)?.status ?? {};
    return Date.parse(conditions.find(({ type }) => type === 'Programmed')?.lastTransitionTime ?? '');
  }

  #forgetEarlier(): void {
    for (const [id, atMs] of this.#lately) {
      if (this.#deps.clock.nowMs() - atMs <= FOLLOW_MS) return; // nearly in the order of time
      this.#lately.delete(id);
    }
  }

  /** Keeps Programmed=True during the grace period. */
  #withGracePeriod(id: string, before: Programming, now: Programming): Programming {
    const nowMs = this.#deps.clock.nowMs();
    const settling = nowMs < this.#settledMs;
    if (before.status !== 'True') {
      this.#late.delete(id);
      return settling && (now.reason === 'NoProxies' || now.reason === 'ProxyNotConnected') ? RECONCILING : now;
    }
    const sinceMs = this.#late.get(id) ?? nowMs;
    this.#late.set(id, sinceMs);
    this.#recheckIn(LATE_MS);
    return settling || nowMs - sinceMs < LATE_MS ? before : now;
  }

  #recheckIn(ms: number): void {
    if (this.#recheck || this.#stopped) return;
    this.#recheck = this.#deps.clock.after(Math.max(ms, 1), () => {
      this.#recheck = undefined;
      const { tracker, clock } = this.#deps;
      const leftMs = this.#settledMs - clock.nowMs();
      if (leftMs > 0) this.#recheckIn(leftMs);
      for (const id of this.#late.keys()) if (!tracker.get(id)) this.#late.delete(id);
      this.evaluateInSlices(
        leftMs > 0 || !this.#settling ? this.#late.keys() : tracker.list().map((each) => objectId(each.kind, each)),
      );
      this.#settling = leftMs > 0;
    });
  }
}
