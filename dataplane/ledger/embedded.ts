/**
 * The ledger of one machine: decided in memory, on one thread, so that every step is atomic without a lock; kept in an SQLite
 * file by another thread, in group commits, so that what was acknowledged survives. docs/design/ledger.md has the reasons.
 * The file is this process's alone. At the start, what a dead process held is settled at its last recorded progress.
 */
import { closeSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createBooks } from './books.ts';
import type { Books, SettledCall } from './books.ts';
import { Deadlines, within } from './deadlines.ts';
import { Committer } from './embedded-committer.ts';
import type { LedgerFault } from './embedded-committer.ts';
import { lockLedger } from './embedded-lock.ts';
import type { FileSettings, UsageRetention } from './embedded-messages.ts';
import { decodeSettled, restoreBooks } from './embedded-rows.ts';
import type { Row } from './row-reader.ts';
import type { LedgerSync } from './embedded-schema.ts';
import { openFileThread } from './embedded-thread.ts';
import type { FileThread } from './embedded-thread.ts';
import { confirmHold, placeHold, readKeySpending, readRecord, recordProgress, settleCall, withdrawHold } from './ledger-core.ts';
import type { PendingHold } from './ledger-core.ts';
import { LedgerUnavailable } from './ledger.ts';
import type {
  AccountSpending, HoldRequest, HoldResult, KeySpending, Ledger, LedgerGauges, QuotaPeriod, Settlement, SettleResult, SlotLimit, SlotResult,
} from './ledger.ts';
import { countSlots, createSlots, releaseSlots, takeSlots } from './slots.ts';
import type { Slots } from './slots.ts';
import type { CallProgress, UsageRecord } from './usage-record.ts';

export interface EmbeddedLedgerOptions {
  /** The file; its folder is made where it is missing. Undefined: in memory only, gone with the process. */
  readonly path?: string | undefined;
  /** What an acknowledged step survives: the end of the process (normal, default), or a loss of power too (full). */
  readonly sync?: LedgerSync;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Told when the file begins to fail and when it works again. */
  readonly onFault?: (fault: LedgerFault) => void;
  /** What is kept of settled calls. Default: the latest million, for 35 days. */
  readonly retention?: Partial<UsageRetention>;
  /** A hold that is not in the file by then is refused: nobody is to wait for a disk that hangs. Default 2000. */
  readonly patienceMs?: number;
  /** For tests: see embedded-faults.ts. */
  readonly faults?: Int32Array;
}

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION: UsageRetention = { maxRecords: 1_000_000, maxAgeMs: 35 * DAY_MS };
const DEFAULT_PATIENCE_MS = 2_000;
/** Progress may be late without harm: the next one says more. */
const PROGRESS_PATIENCE_MS = 5_000;
const READ_PATIENCE_MS = 2_000;
/** So long opening and closing wait for a file that fails. */
const GRACE_MS = 5_000;

/** Opens the file, or says what is wrong with it. */
export async function openEmbeddedLedger(options: EmbeddedLedgerOptions): Promise<Ledger> {
  const path = options.path === undefined ? ':memory:' : prepareFile(options.path);
  const unlock = path === ':memory:' ? () => undefined : lockLedger(path);
  try {
    return await openLocked(path, options, unlock);
  } catch (error) {
    unlock();
    throw new Error(`cannot open the ledger ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function openLocked(path: string, options: EmbeddedLedgerOptions, unlock: () => void): Promise<Ledger> {
  const { sync = 'normal', clock: nowMs = Date.now, onFault = () => undefined, retention, faults, patienceMs = DEFAULT_PATIENCE_MS } = options;
  const settings: FileSettings = { path, sync, retention: { ...DEFAULT_RETENTION, ...retention }, faults };
  const { thread, stored } = await openFileThread(settings);
  try {
    const books = createBooks();
    restoreBooks(books, stored, nowMs());
    const reopen = async (): Promise<FileThread> => (await openFileThread(settings)).thread;
    const committer = new Committer({ books, nowMs, reopen, onFault, lateAfterMs: patienceMs * 0.75 }, thread);
    const ledger = new EmbeddedLedger(books, committer, { nowMs, unlock, patienceMs });
    await ledger.settleAbandoned();
    return ledger;
  } catch (error) {
    await thread.kill();
    throw error;
  }
}

/** Only its owner may read it: it tells who called what. SQLite gives the files beside it the same mode. */
function prepareFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  closeSync(openSync(path, 'a', 0o600));
  return realpathSync(path);
}

interface Life {
  readonly nowMs: () => number;
  readonly unlock: () => void;
  readonly patienceMs: number;
}

class EmbeddedLedger implements Ledger {
  readonly #books: Books;
  readonly #committer: Committer;
  readonly #life: Life;
  readonly #slots: Slots = createSlots();
  readonly #holdDeadlines: Deadlines;
  readonly #progressDeadlines = new Deadlines(PROGRESS_PATIENCE_MS);
  #closing: Promise<void> | undefined;

  constructor(books: Books, committer: Committer, life: Life) {
    this.#books = books;
    this.#committer = committer;
    this.#life = life;
    this.#holdDeadlines = new Deadlines(life.patienceMs);
  }

  /** Settles what a process that died has left. */
  async settleAbandoned(): Promise<void> {
    const left = [...this.#books.holds.values()];
    for (const { origin, progress, renewedMs } of left)
      settleCall(this.#books, { callId: origin.callId, progress, status: 'Abandoned', durationMs: renewedMs - origin.createdMs }, this.#life.nowMs());
    if (left.length === 0 || await within(GRACE_MS, this.#committed())) return;
    await this.#committer.stop(0);
    throw unavailable();
  }

  async takeSlots(callId: string, slots: readonly SlotLimit[]): Promise<SlotResult> {
    this.#assertPromising();
    return takeSlots(this.#slots, callId, slots);
  }

  releaseSlots(callId: string, scopes?: readonly SlotLimit['scope'][]): void {
    releaseSlots(this.#slots, callId, scopes);
  }

  async hold(request: HoldRequest): Promise<HoldResult> {
    this.#assertPromising();
    const { result, pending } = placeHold(this.#books, request, this.#life.nowMs());
    if (pending) await this.#heldDurably(pending);
    return result;
  }

  async recordProgress(progress: ReadonlyMap<string, CallProgress>): Promise<void> {
    this.#assertOpen();
    recordProgress(this.#books, progress, this.#life.nowMs());
    this.#assertPromising();
    if (progress.size > 0) await this.#renewedDurably();
  }

  async settle(settlement: Settlement): Promise<SettleResult> {
    this.#assertOpen();
    releaseSlots(this.#slots, settlement.callId);
    const settled = settleCall(this.#books, settlement, this.#life.nowMs());
    if (settled) await this.#committed();
    const { record, keySpentNanoUsd, keyRemainingNanoUsd } = settled ?? await this.#findSettled(settlement.callId) ?? refuseUnknown();
    return { record, keySpentNanoUsd, keyRemainingNanoUsd };
  }

  async readUsage(keyUid: string, callId: string): Promise<UsageRecord | undefined> {
    this.#assertOpen();
    const record = readRecord(this.#books, callId, this.#life.nowMs()) ?? (await this.#findSettled(callId))?.record;
    return record?.keyUid === keyUid ? record : undefined;
  }

  async readKey(keyUid: string, period: QuotaPeriod): Promise<KeySpending> {
    this.#assertOpen();
    return readKeySpending(this.#books, keyUid, { period, nowMs: this.#life.nowMs() });
  }

  async readAccount(account: string): Promise<AccountSpending> {
    this.#assertOpen();
    const { spentNanoUsd = 0n, heldNanoUsd = 0n } = this.#books.accounts.get(account) ?? {};
    return { spentNanoUsd, heldNanoUsd };
  }

  gauges(): LedgerGauges {
    return { holds: this.#books.holds.size, heldNanoUsd: this.#books.heldNanoUsd, slots: countSlots(this.#slots) };
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#committer.stop(GRACE_MS);
    const { thread } = this.#committer;
    const closed = await within(GRACE_MS, thread.close().catch(() => undefined));
    if (!closed) await within(GRACE_MS, thread.kill());
    this.#life.unlock();
  }

  /** Resolves when the books, as they are now, are in the file, however long that takes. */
  #committed(): Promise<void> {
    return new Promise((resolve, reject) => this.#committer.enlist({ committed: resolve, abandoned: reject }));
  }

  /** Confirms a hold once it is in the file; undoes it, also there, when that is late. */
  #heldDurably(pending: PendingHold): Promise<void> {
    return new Promise((resolve, reject) => {
      const undo = (error: LedgerUnavailable): void => {
        withdrawHold(this.#books, pending);
        this.#committer.touch();
        reject(error);
      };
      const deadline = this.#holdDeadlines.add(() => undo(unavailable()));
      this.#committer.enlist({
        committed: () => {
          if (deadline.over) return;
          deadline.over = true;
          confirmHold(this.#books, pending);
          resolve();
        },
        abandoned: (error) => {
          if (deadline.over) return;
          deadline.over = true;
          undo(error);
        },
      });
    });
  }

  #renewedDurably(): Promise<void> {
    return new Promise((resolve, reject) => {
      const deadline = this.#progressDeadlines.add(() => reject(unavailable()));
      const end = (then: () => void): void => {
        deadline.over = true;
        then();
      };
      this.#committer.enlist({ committed: () => end(resolve), abandoned: (error) => end(() => reject(error)) });
    });
  }

  async #findSettled(callId: string): Promise<SettledCall | undefined> {
    let found: { readonly result: Row | undefined } | undefined;
    try {
      found = await within(READ_PATIENCE_MS, this.#committer.thread.find(callId));
    } catch (error) {
      throw new LedgerUnavailable('the ledger\'s file cannot be read', { cause: error });
    }
    if (!found) throw unavailable();
    return found.result && decodeSettled(found.result);
  }

  #assertOpen(): void {
    if (this.#closing) throw new LedgerUnavailable('the ledger is closed');
  }

  #assertPromising(): void {
    this.#assertOpen();
    if (this.#committer.failing) throw unavailable();
  }
}

function unavailable(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger\'s file does not take anything now');
}

function refuseUnknown(): never {
  throw new LedgerUnavailable('no hold and no record of this call');
}
