/**
 * This process as a member of the fleet: its buckets, what it holds in them, and what it does every second: say that it is
 * alive, renew its slots, and bill what instances that died have left.
 */
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import { LedgerUnavailable } from '../ledger.ts';
import type { LedgerHealth } from '../ledger.ts';
import { Bucket } from './bucket.ts';
import type { BucketSettings, Rejoining } from './bucket.ts';
import { adoptStep, HeldCalls } from './held-calls.ts';
import type { Journal } from './journal.ts';
import type { Link } from './link.ts';
import { bucketBases, bucketOf, describeLocation } from './location.ts';
import type { ValkeyLocation } from './location.ts';
import { leastSteps } from './refill.ts';
import type { RefillSource } from './refill.ts';
import { RouteTexts } from './routes.ts';
import { createSlotLeases, placeOf } from './slot-leases.ts';
import type { SlotLeases } from './slot-leases.ts';
import type { Reply, Step } from './steps.ts';

/** What people are told of. */
export type LedgerEvent =
  /** Calls are refused, or taken again. */
  | { readonly kind: 'Failing' | 'Working'; readonly reason: string }
  /** A store was empty, or had lost the end of what was written; so many settlements and holds of this process were put back. */
  | { readonly kind: 'Emptied' | 'LostWrites'; readonly putBack: number }
  /** Calls of instances that died were billed at their last progress. */
  | { readonly kind: 'Reaped'; readonly calls: number }
  | { readonly kind: 'JournalFails'; readonly reason: string };

export interface FleetDeps {
  readonly location: ValkeyLocation;
  readonly link: Link;
  readonly settings: BucketSettings;
  readonly journal: Journal;
  readonly onEvent: (event: LedgerEvent) => void;
  readonly refill: RefillSource | undefined;
}

const TICK_MS = 1_000;
const MOST_REAPED = 50;
const POLL_MS = 5;

export class Fleet {
  readonly buckets: readonly Bucket[];
  readonly held = new HeldCalls();
  readonly routes = new RouteTexts();
  readonly slots: SlotLeases;
  readonly journal: Journal;
  readonly #deps: FleetDeps;
  /** Which account a key's calls are booked on; a key never changes it. */
  readonly #accounts = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  /** What people were told last; undefined: nothing yet. */
  #failing: boolean | undefined;

  constructor(deps: FleetDeps) {
    this.#deps = deps;
    this.journal = deps.journal;
    this.buckets = bucketBases(deps.location).map((base, index) => new Bucket({
      link: deps.link, base, settings: deps.settings,
      contribute: (why, epoch) => this.#contribution({ index, base, epoch }, why),
      onRejoined: ({ why, putBack, epoch }) => {
        this.journal.began(base, epoch);
        this.#tellRejoined(why, putBack);
      },
      onState: () => this.#tellIfNews(),
    }));
    this.slots = createSlotLeases(this.buckets, this.buckets.length === 1 ? () => 0 : (slot) => bucketOf(placeOf(slot), this.buckets.length));
  }

  start(): void {
    for (const bucket of this.buckets) bucket.start();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  indexOfAccount(account: string): number {
    return bucketOf(account, this.buckets.length);
  }

  bucketOfAccount(account: string): Bucket {
    const bucket = this.buckets[this.indexOfAccount(account)];
    if (!bucket) throw new LedgerUnavailable('there is no such bucket');
    return bucket;
  }

  know(keyUid: string, account: string): void {
    this.#accounts.set(keyUid, account);
  }

  /** Those that this process has holds in; all, where it has none: that they take anything is what counts. */
  bucketsWithHolds(): readonly Bucket[] {
    if (this.buckets.length === 1 || this.held.size === 0) return this.buckets;
    const mine = new Set<Bucket>();
    for (const { request } of this.held.all()) mine.add(this.bucketOfAccount(request.origin.account));
    return [...mine];
  }

  /** The answer of the bucket that knows something, or that none does. */
  async askAboutKey(keyUid: string, step: Step, account = this.#accounts.get(keyUid)): Promise<Reply> {
    const places = account === undefined ? this.buckets : [this.bucketOfAccount(account)];
    const replies = await Promise.all(places.map((bucket) => bucket.ask(step)));
    return replies.find(([word]) => word !== 'none') ?? ['none', ...replies[0]?.slice(1) ?? []];
  }

  health(): LedgerHealth {
    const closed = this.buckets.find(({ open }) => !open);
    if (!closed) return { ok: true, reason: '' };
    const trouble = this.#deps.link.trouble();
    return { ok: false, reason: `${describeLocation(this.#deps.location)}: ${closed.reason}${trouble === '' ? '' : ` (${trouble})`}` };
  }

  /** Bills what is left of instances that died. */
  async reap(): Promise<void> {
    await Promise.all(this.buckets.map((bucket) => this.#reapIn(bucket).catch(ignoreUnavailable)));
  }

  async close(withinMs: number): Promise<void> {
    clearInterval(this.#timer);
    const untilMs = performance.now() + withinMs;
    while (this.buckets.some(({ unfinished }) => unfinished > 0) && performance.now() < untilMs) await sleep(POLL_MS);
    for (const bucket of this.buckets) bucket.close();
    this.#deps.link.close();
    // what is refused by this goes to the journal, wherever it waited
    await turnOfLoop();
    await this.journal.close();
  }

  #tick(): void {
    for (const [index, bucket] of this.buckets.entries()) {
      if (!bucket.open) continue;
      for (const step of this.slots.keepSteps(index, false)) bucket.ask(step).catch(ignoreUnavailable);
      // says too that this instance is alive
      this.#reapIn(bucket).catch(ignoreUnavailable);
    }
  }

  async #reapIn(bucket: Bucket): Promise<void> {
    const [word, ...reaped] = await bucket.ask({ name: 'reap', args: [String(MOST_REAPED)] });
    for (const text of reaped) {
      const reply: unknown = JSON.parse(text);
      if (Array.isArray(reply)) this.journal.settled(String(reply[2]), reply.map(String), ['', '0', '']);
    }
    if (reaped.length > 0) this.#deps.onEvent({ kind: 'Reaped', calls: reaped.length });
    if (word === 'more') await this.#reapIn(bucket);
  }

  /** Settlements first: what they replaced is not to be held again. */
  async #contribution({ index, base, epoch }: { readonly index: number; readonly base: string; readonly epoch: string }, why: Rejoining): Promise<Step[]> {
    const isHere = (account: string): boolean => bucketOf(account, this.buckets.length) === index;
    const steps = await this.journal.recent({ base, epoch, accepts: isHere });
    for (const held of this.held.all()) {
      if (!isHere(held.request.origin.account)) continue;
      // the store may have an earlier hold of the call, and keep it
      held.doubtful = true;
      steps.push(adoptStep(held));
    }
    steps.push(...this.slots.keepSteps(index, true));
    if (why !== 'Empty' || !this.#deps.refill) return steps;
    const known = leastSteps(await this.#deps.refill());
    return [...steps, ...known.filter(({ account }) => isHere(account)).map(({ step }) => step)];
  }

  #tellRejoined(why: Rejoining, putBack: number): void {
    if (why !== 'Start' || putBack > 0) this.#deps.onEvent({ kind: why === 'Empty' ? 'Emptied' : 'LostWrites', putBack });
  }

  #tellIfNews(): void {
    if (this.#failing !== undefined || this.health().ok) this.tellState();
  }

  /** At the start nobody is told before there was time to connect. */
  tellState(): void {
    const { ok, reason } = this.health();
    if (this.#failing === !ok) return;
    this.#failing = !ok;
    this.#deps.onEvent({ kind: ok ? 'Working' : 'Failing', reason });
  }
}

/** What is done every second is done again in the next one. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof LedgerUnavailable)) throw error;
}
