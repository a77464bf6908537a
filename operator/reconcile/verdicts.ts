/**
 * What is said of `Programmed`, from what the proxies have acknowledged, with the patience that it takes: proxies come
 * and go, and what was in force stays said to be for a moment. Of many objects, some are judged at a time, so that an
 * edit does not wait for them.
 */
import type { Clock } from '../kube/clock.ts';
import { ON_THE_WAY } from '../status/conditions.ts';
import type { Programming } from '../status/conditions.ts';
import { programmingOf } from '../status/programming.ts';
import type { ProxyProgress } from '../status/programming.ts';
import { statusId } from './status-book.ts';
import type { StatusBook } from './status-book.ts';

interface VerdictDeps {
  readonly clock: Clock;
  readonly book: Pick<StatusBook, 'judge' | 'get' | 'list'>;
  /** What the proxies say of an object; undefined: it is not published. */
  readonly progress: (id: string) => ProxyProgress | undefined;
  /** Why an object's last version was not published. */
  readonly fault: (id: string) => string | undefined;
  /** Called when verdicts have come later than they were asked for. */
  readonly onJudged: () => void;
}

/** What was in force and is not acknowledged by a proxy that has just come is still said to be in force for so long. */
const LATE_MS = 2_000;
const JUDGED_AT_ONCE = 250;

export class Verdicts {
  readonly #deps: VerdictDeps;
  /** Objects of which proxies have said something that is still to be noted. */
  readonly #waiting = new Set<string>();
  /** Objects that were in force, and since when some proxy has not acknowledged them. */
  readonly #late = new Map<string, number>();
  #settledMs = 0;
  /** All is looked at once more when proxies have had the time to come. */
  #settling = true;
  #stopped = false;
  #slice: (() => void) | undefined;
  #recheck: (() => void) | undefined;

  constructor(deps: VerdictDeps) {
    this.#deps = deps;
  }

  /** So long from now, proxies may still be on their way. */
  settle(ms: number): void {
    this.#settledMs = this.#deps.clock.nowMs() + ms;
    this.#settling = true;
  }

  /** Looks once more when they have come. */
  recheck(): void {
    this.#recheckIn(this.#settledMs - this.#deps.clock.nowMs());
  }

  judge(ids: Iterable<string>): void {
    this.#deps.book.judge(ids, (id, before) => this.#verdict(id, before), this.#deps.clock.nowMs());
  }

  /** A few at once; of more, which a proxy that comes or goes makes, a slice at a time. */
  judgeSlowly(ids: Iterable<string>): void {
    for (const id of ids) this.#waiting.add(id);
    if (!this.#slice) this.#judgeSlice();
  }

  stop(): void {
    this.#stopped = true;
    this.#recheck?.();
    this.#slice?.();
  }

  #judgeSlice(): void {
    this.#slice = undefined;
    const slice = [...this.#waiting.keys().take(JUDGED_AT_ONCE)];
    for (const id of slice) this.#waiting.delete(id);
    this.judge(slice);
    this.#deps.onJudged();
    if (this.#waiting.size > 0 && !this.#stopped) this.#slice = this.#deps.clock.after(0, () => this.#judgeSlice());
  }

  #verdict(id: string, before: Programming): Programming {
    const fault = this.#deps.fault(id);
    if (fault !== undefined) return { status: 'False', reason:
      'Rejected', message: `Not given to the proxies, which go on with the last good version: ${fault}` };
    const now = programmingOf(this.#deps.progress(id));
    if (now.status === 'True') {
      this.#late.delete(id);
      return before.status === 'True' ? before : now; // what it said when it became so
    }
    if (now.reason === 'Rejected') return now;
    return this.#excuse(id, before, now);
  }

  /** Proxies come and go: what was in force stays said to be for a moment. */
  #excuse(id: string, before: Programming, now: Programming): Programming {
    const nowMs = this.#deps.clock.nowMs();
    const settling = nowMs < this.#settledMs;
    if (before.status !== 'True') {
      this.#late.delete(id);
      return settling && now.reason === 'NoProxies' ? ON_THE_WAY : now;
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
      const { book, clock } = this.#deps;
      const leftMs = this.#settledMs - clock.nowMs();
      if (leftMs > 0) this.#recheckIn(leftMs);
      for (const id of this.#late.keys()) if (!book.get(id)) this.#late.delete(id);
      this.judgeSlowly(leftMs > 0 || !this.#settling ? this.#late.keys() : book.list().map(statusId));
      this.#settling = leftMs > 0;
    });
  }
}
