/**
 * A book over the fleet's shared ledger. Only accounts that somebody asks for are followed, into a mirror: first all
 * that their streams hold, a batch at a time, then what has come since.
 */
import { setImmediate } from 'node:timers/promises';
import { UsageMirror } from '#ledger/usage-mirror.ts';
import { STREAM_START } from '#ledger/valkey-reader.ts';
import type { StreamId, ValkeyReader } from '#ledger/valkey-reader.ts';
import { createMutex } from '../../operator/store/mutex.ts';
import { openSqlBook } from './sql-book.ts';
import type { UsageSource, UsageWork } from './sql-book.ts';
import type { UsageBook } from './usage.ts';

type RecordReader = Pick<ValkeyReader, 'recordsAfter' | 'extent' | 'close'>;

/** A row takes some four hundred bytes of disk. */
export interface MirrorBounds {
  /** Of all accounts. Beyond it, those that were asked for longest ago leave, and are read again when somebody asks. */
  readonly maxRows: number;
  /** The latest of one account. */
  readonly maxRowsPerAccount: number;
}

const DEFAULT_BOUNDS: MirrorBounds = { maxRows: 2_000_000, maxRowsPerAccount: 1_000_000 };
/** So many are taken in, or leave, within some ten milliseconds. */
const BATCH_ROWS = 500;
/** Accounts that are read ahead: those of a person, not those of a platform. */
const MAX_PREPARED = 10;
const STREAM_END: StreamId = { ms: Number.MAX_SAFE_INTEGER, seq: 0 };

interface FollowedAccount {
  readonly account: string;
  readonly mutex: ReturnType<typeof createMutex>;
  /** The last entry that was taken in. */
  last: StreamId;
  rows: number;
  /** From this moment on no call is missing because there were too many; 0: none is. */
  wholeSinceMs: number;
  /** Questions that are under way or wait: it does not leave meanwhile. */
  users: number;
}

/** The reader is the book's from here on. */
export function valkeyUsageBook(reader: RecordReader, bounds: MirrorBounds = DEFAULT_BOUNDS): UsageBook {
  const source = new ValkeySource(reader, bounds);
  return {
    ...openSqlBook(source),
    prepare(accounts) {
      if (accounts.length === 0 || accounts.length > MAX_PREPARED) return;
      // whoever asks is told what fails
      for (const account of accounts) source.use([account], async () => undefined).catch(() => undefined);
    },
  };
}

class ValkeySource implements UsageSource {
  readonly #reader: RecordReader;
  readonly #bounds: MirrorBounds;
  /** The one that was asked for last comes last. */
  readonly #accounts = new Map<string, FollowedAccount>();
  #mirror: UsageMirror | undefined;
  #closed = false;

  constructor(reader: RecordReader, bounds: MirrorBounds) {
    this.#reader = reader;
    this.#bounds = bounds;
  }

  /** Questions about one account wait for each other, so that no rows leave under one of them. */
  async use<R>(wanted: readonly string[], work: UsageWork<R>): Promise<R> {
    const all = wanted.toSorted().map((account) => this.#begin(account)); // in one order: none waits in a circle
    const locked = all.reduceRight((inner, each) => () => each.mutex(inner), async () => {
      for (const each of all) await this.#bringUpToDate(each);
      return work(this.#openMirror().tables, Math.max(0, ...all.map(({ wholeSinceMs }) => wholeSinceMs)));
    });
    try {
      return await locked();
    } finally {
      for (const each of all) this.#end(each);
    }
  }

  close(): void {
    this.#closed = true;
    this.#mirror?.close();
    this.#reader.close();
  }

  #begin(account: string): FollowedAccount {
    const followed = this.#accounts.get(account)
      ?? { account, mutex: createMutex(), last: STREAM_START, rows: 0, wholeSinceMs: 0, users: 0 };
    followed.users++;
    this.#accounts.delete(account);
    this.#accounts.set(account, followed);
    return followed;
  }

  #end(followed: FollowedAccount): void {
    followed.users--;
    if (followed.users === 0 && followed.rows === 0) this.#accounts.delete(followed.account);
  }

  #openMirror(): UsageMirror {
    if (this.#closed) throw new Error('the book is closed');
    return this.#mirror ??= new UsageMirror();
  }

  async #bringUpToDate(followed: FollowedAccount): Promise<void> {
    const { account } = followed;
    await this.#readOn(followed);
    const { count, first } = await this.#reader.extent(account);
    if (first) await this.#removeBefore(followed, first);
    if (followed.rows <= count) return;
    // some have vanished that nothing came for: the store was emptied, or somebody has edited it
    await this.#forget(followed);
    await this.#readOn(followed);
  }

  async #readOn(followed: FollowedAccount): Promise<void> {
    for (;;) {
      const records = await this.#reader.recordsAfter(followed.account, followed.last, BATCH_ROWS);
      followed.rows += this.#openMirror().add(records);
      followed.last = records.at(-1)?.id ?? followed.last;
      this.#trim(followed);
      await this.#makeRoom();
      if (records.length < BATCH_ROWS) return;
      await setImmediate();
    }
  }

  /** The account's oldest rows leave where it has too many. */
  #trim(followed: FollowedAccount): void {
    const excess = followed.rows - this.#bounds.maxRowsPerAccount;
    if (excess <= 0) return;
    const removed = this.#openMirror().remove(followed.account, STREAM_END, excess);
    followed.rows -= removed.length;
    for (const createdMs of removed) followed.wholeSinceMs = Math.max(followed.wholeSinceMs, createdMs + 1);
  }

  async #makeRoom(): Promise<void> {
    for (const each of this.#accounts.values()) {
      if (this.#rows() <= this.#bounds.maxRows) return;
      if (each.users > 0) continue;
      each.users++;
      await each.mutex(() => this.#forget(each)).finally(() => this.#end(each));
    }
  }

  #rows(): number {
    return this.#accounts.values().reduce((sum, { rows }) => sum + rows, 0);
  }

  async #forget(followed: FollowedAccount): Promise<void> {
    await this.#removeBefore(followed, STREAM_END);
    followed.last = STREAM_START;
    followed.wholeSinceMs = 0;
  }

  async #removeBefore(followed: FollowedAccount, before: StreamId): Promise<void> {
    for (;;) {
      const { length } = this.#openMirror().remove(followed.account, before, BATCH_ROWS);
      followed.rows -= length;
      if (length < BATCH_ROWS) return;
      await setImmediate();
    }
  }
}
