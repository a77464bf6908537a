/**
 * The ledger of a fleet, in a Valkey (or Redis) that all data planes share: every step is taken by a script on the server
 * (valkey/ledger.lua), which moves the money of key and account at once. This process keeps its instance alive, renews what it
 * holds, bills what instances that died have left, and keeps a journal of its own. docs/design/valkey.md has the reasons.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerUnavailable } from './ledger.ts';
import type {
  AccountSpending, HoldRequest, HoldResult, JobRecord, KeySpending, Ledger, LedgerGauges, LedgerHealth, QuotaPeriod, Settlement, SettleResult, SlotLimit,
  SlotResult,
} from './ledger.ts';
import type { CallProgress, UsageRecord } from './usage-record.ts';
import { admit, hold } from './valkey/admission.ts';
import type { BucketSettings } from './valkey/bucket.ts';
import { Fleet } from './valkey/fleet.ts';
import type { LedgerEvent } from './valkey/fleet.ts';
import { openJournal, NO_JOURNAL } from './valkey/journal.ts';
import { openLink } from './valkey/link.ts';
import { parseValkeyUrl } from './valkey/location.ts';
import type { RefillSource } from './valkey/refill.ts';
import { Settler } from './valkey/settler.ts';
import { parseKeySpending } from './valkey/spending.ts';
import { amount, parseJob, parseRecord, progressStep } from './valkey/steps.ts';

export interface ValkeyLedgerOptions {
  /** valkey://user:password@host:port/0?… */
  readonly url: string;
  /** Where the journal is kept; this process's alone. Undefined: none, for tests. */
  readonly dataDir?: string | undefined;
  /** Told when calls begin to be refused and when they are taken again, and of what a store has lost. */
  readonly onEvent?: (event: LedgerEvent) => void;
  /** What is known elsewhere of what was spent, for a store that begins anew. */
  readonly refill?: RefillSource;
  /**
   * Generations are counted by each process for itself, from files: an earlier one is refused only where its limits differ from
   * the later one's. Default: false, as for objects of a Kubernetes API server.
   */
  readonly ownGenerations?: boolean;
  /** For tests. */
  readonly over?: Partial<BucketSettings>;
}

const DAY_MS = 86_400_000;
const DEFAULTS = {
  leaseMs: 25_000, keepMs: 35 * DAY_MS, generationMs: 60_000, refillMs: 4_000, patienceMs: 200, clock: undefined,
} satisfies Partial<BucketSettings>;
/** So long opening waits for a server that does not answer; after that it goes on trying by itself. */
const OPENING_MS = 5_000;
const CLOSING_MS = 5_000;
const POLL_MS = 10;

/** Resolves once the ledger answers, or after five seconds: it then refuses everything until the server is there. Rejects where the URL or the journal is unusable. */
export async function openValkeyLedger(options: ValkeyLedgerOptions): Promise<Ledger> {
  const location = parseValkeyUrl(options.url);
  const onEvent = options.onEvent ?? (() => undefined);
  const settings: BucketSettings = { ...DEFAULTS, instance: randomUUID(), records: location.records, lenient: options.ownGenerations ?? false, ...options.over };
  const journal = options.dataDir === undefined ? NO_JOURNAL
    : await openJournal({ folder: join(options.dataDir, 'ledger-journal'), onFault: (error) => onEvent({ kind: 'JournalFails', reason: String(error) }) });
  const link = openLink(location);
  const fleet = new Fleet({ location, link, settings, journal, onEvent, refill: options.refill });
  fleet.start();
  const ledger = new ValkeyLedger(fleet);
  const untilMs = performance.now() + OPENING_MS;
  while (!fleet.health().ok && performance.now() < untilMs) await sleep(POLL_MS);
  fleet.tellState();
  if (fleet.health().ok) await fleet.reap();
  return ledger;
}

class ValkeyLedger implements Ledger {
  readonly #fleet: Fleet;
  readonly #settler: Settler;
  #closing: Promise<void> | undefined;
  admit?: NonNullable<Ledger['admit']>;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#settler = new Settler(fleet);
    this.#settler.deliverLeft();
    // in a Cluster, slots and money are mostly in different places
    if (fleet.buckets.length === 1) this.admit = (request, slots) => (this.#closing ? Promise.reject(closed()) : admit(this.#fleet, request, slots));
  }

  async takeSlots(callId: string, slots: readonly SlotLimit[]): Promise<SlotResult> {
    this.#assertOpen();
    return this.#fleet.slots.take(callId, slots);
  }

  releaseSlots(callId: string, scopes?: readonly SlotLimit['scope'][]): void {
    this.#fleet.slots.give(callId, scopes);
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    return this.#closing ? Promise.reject(closed()) : hold(this.#fleet, request);
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    const asked = this.#fleet.bucketsWithHolds().map((bucket) => bucket.ask({ name: 'beat', args: [] }));
    for (const [callId, latest] of progress) {
      const held = this.#fleet.held.get(callId);
      if (!held) continue;
      held.progress = latest;
      asked.push(this.#fleet.bucketOfAccount(held.request.origin.account).ask(progressStep(callId, latest)));
    }
    await Promise.all(asked);
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    return this.#closing ? Promise.reject(closed()) : this.#settler.settle(settlement);
  }

  async readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const found = await this.#fleet.askAboutKey(keyUid, { name: 'job', args: [keyUid, jobId] });
    return found[0] === 'none' ? undefined : parseJob(found);
  }

  async claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]> {
    this.#assertOpen();
    const jobs: JobRecord[] = [];
    for (const bucket of this.#fleet.buckets) {
      if (jobs.length >= limit) break;
      const [, ...due] = await bucket.ask({ name: 'due', args: [String(nowMs), String(againMs), String(limit - jobs.length)] });
      jobs.push(...due.map(parseJobText));
    }
    return jobs;
  }

  async finishJob({ jobId, origin }: Pick<JobRecord, 'jobId' | 'origin'>, state: 'Completed' | 'Failed'): Promise<JobRecord> {
    this.#assertOpen();
    const reply = await this.#fleet.bucketOfAccount(origin.account).ask({ name: 'finish', args: [origin.channel, jobId, state] });
    if (reply[0] === 'none') throw new LedgerUnavailable('no such job');
    return parseJob(reply);
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const found = await this.#fleet.askAboutKey(keyUid, { name: 'usage', args: [callId] });
    if (found[0] === 'none') return undefined;
    const { record } = parseRecord(found);
    return record.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod, account?: string): Promise<KeySpending> {
    this.#assertOpen();
    return parseKeySpending(await this.#fleet.askAboutKey(keyUid, { name: 'key', args: [keyUid] }, account), period);
  }

  async readAccount(account: string): Promise<AccountSpending> {
    this.#assertOpen();
    const [, spent, held] = await this.#fleet.bucketOfAccount(account).ask({ name: 'account', args: [account] });
    return { spentNanoUsd: amount(spent), heldNanoUsd: amount(held) };
  }

  gauges(): LedgerGauges {
    const { held, slots } = this.#fleet;
    return { holds: held.size, heldNanoUsd: held.sumNanoUsd, slots: slots.inUse() };
  }

  health(): LedgerHealth {
    return this.#fleet.health();
  }

  close(): Promise<void> {
    return this.#closing ??= this.#fleet.close(CLOSING_MS);
  }

  #assertOpen(): void {
    if (this.#closing) throw closed();
  }
}

function closed(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger is closed');
}

function parseJobText(text: string): JobRecord {
  const reply: unknown = JSON.parse(text);
  if (!Array.isArray(reply)) throw new LedgerUnavailable('the ledger\'s script told of a job that is none');
  return parseJob(reply.map(String));
}
