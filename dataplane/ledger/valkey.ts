/**
 * The ledger of a fleet, in a Valkey (or Redis) server that all data planes share. A script on the server
 * (valkey/ledger.lua) executes each operation on key and account atomically. This process renews its lease and its
 * holds, reaps the holds of dead instances and keeps its own journal (docs/design/valkey.md).
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AccountSpending, CalendarWindow, KeySpending, PeriodOf, QuotaPeriod } from '#ledger/spending.ts';
import type {
  AdmitResult,
  Consumed,
  ConversationLimits,
  FinishedJob,
  HoldRequest,
  JobBill,
  JobRecord,
  KeptConversation,
  Ledger,
  LedgerGauges,
  LedgerHealth,
  SettleResult,
  Settlement,
  CountLimit,
  Load,
  Scope,
  TakeResult,
} from './ledger.ts';
import type { CallOrigin, CallProgress, UsageRecord } from '#usage/record.ts';
import { admit } from './valkey/admission.ts';
import type { BucketSettings } from './valkey/bucket.ts';
import { createConnectedNote } from './valkey/connected.ts';
import type { ConnectedNote } from './valkey/connected.ts';
import { evictionFault, readEvictionPolicy } from './valkey/eviction.ts';
import { Instance } from './valkey/instance.ts';
import type { LedgerEvent } from './valkey/instance.ts';
import { openJournal, NO_JOURNAL } from './valkey/journal.ts';
import { openConnection } from './valkey/connection.ts';
import { bucketBases, parseValkeyUrl } from './valkey/location.ts';
import { periodIn } from '#ledger/periods.ts';
import {
  accountOperation,
  BEAT,
  finishOperation,
  keepConversationOperation,
  keyOperation,
  progressOperation,
} from './valkey/operations.ts';
import type { RefillSource } from './valkey/refill.ts';
import {
  parseAccountSpending,
  parseFinishedJob,
  parseJob,
  parseKeySpending,
  parseRecord,
  readReply,
} from './valkey/replies.ts';
import { deliverPending, settle } from './valkey/settlements.ts';

export interface ValkeyLedgerOptions {
  /** valkey://user:password@host:port/0?… */
  readonly url: string;
  /** The folder of the journal, which only this process may use. Tests pass undefined to have no journal. */
  readonly dataDir?: string | undefined;
  /** Called when the ledger begins to refuse calls, when it accepts them again, and when a store has lost data. */
  readonly onEvent?: (event: LedgerEvent) => void;
  /** Returns the known spending, for a store that has lost everything. */
  readonly refill?: RefillSource;
  /**
   * True if each process counts generations itself, from files. An older generation is then refused only if its limits
   * differ. Default false: generations come from a Kubernetes API server.
   */
  readonly ownGenerations?: boolean;
  /** For tests. */
  readonly over?: Partial<BucketSettings>;
}

const DAY_MS = 86_400_000;
const DEFAULTS = {
  leaseMs: 25_000,
  keepMs: 35 * DAY_MS,
  generationMs: 60_000,
  refillMs: 4_000,
  clock: undefined,
} satisfies Partial<BucketSettings>;
/** How long opening waits for a server that does not answer. The connection is then retried in the background. */
const OPENING_MS = 5_000;
const CLOSING_MS = 5_000;
const POLL_MS = 10;

/**
 * Resolves when the server answers, or after five seconds. Until the server answers, the ledger refuses all calls.
 * Rejects if the URL or the journal is unusable.
 */
export async function openValkeyLedger(options: ValkeyLedgerOptions): Promise<Ledger> {
  const { url, dataDir, onEvent = () => undefined, refill, ownGenerations: lenient = false } = options;
  const location = parseValkeyUrl(url);
  const { records, timeoutMs } = location;
  const settings = { ...DEFAULTS, instance: randomUUID(), records, timeoutMs, lenient, ...options.over };
  const onFault = (error: unknown): void => onEvent({ kind: 'JournalFails', reason: String(error) });
  const journal =
    dataDir === undefined ? NO_JOURNAL : await openJournal({ folder: join(dataDir, 'ledger-journal'), onFault });
  const connection = openConnection(location);
  const tellEviction = async (): Promise<void> => {
    const policy = await readEvictionPolicy(connection, location);
    if (policy !== undefined) onEvent({ kind: 'Evicts', reason: evictionFault(policy) });
  };
  const onInstanceEvent = (event: LedgerEvent): void => {
    onEvent(event);
    // a store that was down may be another one; a user without the right to ask is told nothing
    if (event.kind === 'Working') tellEviction().catch(() => undefined);
  };
  const instance = new Instance({ location, connection, settings, journal, onEvent: onInstanceEvent, refill });
  instance.start();
  deliverPending(instance);
  const untilMs = performance.now() + OPENING_MS;
  while (!instance.health().ok && performance.now() < untilMs) await sleep(POLL_MS);
  instance.reportHealth();
  if (instance.health().ok) await instance.reap();
  const [base = ''] = bucketBases(location);
  return new ValkeyLedger(instance, createConnectedNote(connection, base, settings.instance));
}

class ValkeyLedger implements Ledger {
  readonly #instance: Instance;
  readonly #note: ConnectedNote;
  #closing: Promise<void> | undefined;
  constructor(instance: Instance, note: ConnectedNote) {
    this.#instance = instance;
    this.#note = note;
  }

  async take(callId: string, limits: readonly CountLimit[], load: Load): Promise<TakeResult> {
    this.#assertOpen();
    return this.#instance.limits.take(callId, limits, load);
  }

  count(callId: string, limits: readonly CountLimit[]): void {
    this.#instance.limits.count(callId, limits);
  }

  release(callId: string, consumed: Consumed, scopes?: readonly Scope[]): void {
    this.#instance.limits.release(callId, consumed, scopes);
  }

  async admit(request: HoldRequest): Promise<AdmitResult> {
    this.#assertOpen();
    return admit(this.#instance, request);
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    const asked = this.#instance.bucketsWithHolds().map((bucket) => bucket.execute(BEAT));
    for (const [callId, latest] of progress) {
      const held = this.#instance.held.get(callId);
      if (!held) continue;
      held.progress = latest;
      const bucket = this.#instance.bucketOfAccount(held.request.origin.account);
      asked.push(bucket.execute(progressOperation(callId, latest)));
    }
    await Promise.all(asked);
  }

  async settle(settlement: Settlement, onJournaled?: () => void): Promise<SettleResult> {
    this.#assertOpen();
    return settle(this.#instance, settlement, onJournaled);
  }

  withhold(callId: string): void {
    this.#instance.settling.get(callId)?.();
  }

  async readJob(keyUid: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const reply = await this.#instance.askAboutKey(keyUid, { op: 'job', key: keyUid, job: jobId });
    return reply.is === 'none' ? undefined : readReply(reply, parseJob);
  }

  async countRunningJobs({ keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>): Promise<number> {
    this.#assertOpen();
    const bucket = this.#instance.bucketOfAccount(account);
    const reply = await bucket.execute({ op: 'runningJobs', key: keyUid });
    return Number(reply.count);
  }

  async keepConversation(kept: KeptConversation, limits: ConversationLimits): Promise<boolean> {
    this.#assertOpen();
    const bucket = this.#instance.bucketOfAccount(kept.account);
    const { is } = await bucket.execute(keepConversationOperation(kept, limits));
    return is === 'kept';
  }

  async forgetConversation({ account, id }: Pick<KeptConversation, 'account' | 'id'>): Promise<void> {
    this.#assertOpen();
    await this.#instance.bucketOfAccount(account).execute({ op: 'forgetConversation', account, id });
  }

  async readChannelJob(account: string, channel: string, jobId: string): Promise<JobRecord | undefined> {
    this.#assertOpen();
    const bucket = this.#instance.bucketOfAccount(account);
    const reply = await bucket.execute({ op: 'channelJob', account, channel, job: jobId });
    return reply.is === 'none' ? undefined : readReply(reply, parseJob);
  }

  async claimJobs(nowMs: number, againMs: number, limit: number): Promise<readonly JobRecord[]> {
    this.#assertOpen();
    const { buckets } = this.#instance;
    const jobs: JobRecord[] = [];
    // a fair share of each bucket first, so that one with many jobs does not keep the others waiting
    for (const share of [Math.ceil(limit / buckets.length), limit])
      for (const bucket of buckets) {
        if (jobs.length >= limit) break;
        const most = Math.min(share, limit - jobs.length);
        const reply = await bucket.execute({ op: 'due', nowMs, againMs, most });
        jobs.push(...readReply(reply, ({ jobs: due = [] }) => due.map(parseJob)));
      }
    return jobs;
  }

  async finishJob(
    job: Pick<JobRecord, 'jobId' | 'origin'>,
    state: 'Completed' | 'Failed',
    bill?: JobBill,
  ): Promise<FinishedJob> {
    this.#assertOpen();
    const bucket = this.#instance.bucketOfAccount(job.origin.account);
    const reply = await bucket.execute(finishOperation(job, state, bill));
    if (reply.is === 'none') throw new LedgerUnavailable('no such job');
    const { record, charged = '', endedMs = '' } = reply;
    const named = { id: job.jobId, channel: job.origin.channel };
    // in case the store loses it
    if (record) await this.#instance.journal.addEnded({ record, job: named, charged, endedMs });
    return readReply(reply, bill ? parseFinishedJob : parseJob);
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const reply = await this.#instance.askAboutKey(keyUid, { op: 'usage', call: callId });
    if (reply.is === 'none') return undefined;
    const { record } = readReply(reply, parseRecord);
    return record.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod | PeriodOf, account?: string): Promise<KeySpending> {
    this.#assertOpen();
    const asked = periodIn(period);
    const operation = keyOperation(keyUid, asked, this.#instance.nowMs);
    const reply = await this.#instance.askAboutKey(keyUid, operation, account);
    return readReply(reply, (known) => parseKeySpending(known, asked.period));
  }

  async readAccount(account: string, windows: readonly CalendarWindow[] = []): Promise<AccountSpending> {
    this.#assertOpen();
    const operation = accountOperation(account, windows, this.#instance.nowMs);
    const reply = await this.#instance.bucketOfAccount(account).execute(operation);
    return readReply(reply, parseAccountSpending);
  }

  async noteConnected(): Promise<void> {
    this.#assertOpen();
    await this.#note.write();
  }

  async othersConnected(): Promise<boolean> {
    this.#assertOpen();
    return this.#note.isOthers();
  }

  gauges(): LedgerGauges {
    const { held, limits } = this.#instance;
    const heldNanoUsd = [...held.values()].reduce((sum, call) => sum + call.heldNanoUsd, 0n);
    return { holds: held.size, heldNanoUsd, slots: limits.inUse() };
  }

  health(): LedgerHealth {
    return this.#instance.health();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#instance.close(CLOSING_MS));
  }

  #assertOpen(): void {
    if (this.#closing) throw new LedgerUnavailable('the ledger is closed');
  }
}
