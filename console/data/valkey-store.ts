/**
 * A usage store over the fleet's shared ledger. It copies the streams of accounts into a mirror, a batch at a time, in
 * the background from the start and again before each query. The mirror's file survives a restart; records of another
 * epoch of the ledger are dropped and copied again.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { isDamaged, openUsageMirror, removeUsageMirror } from './usage-mirror.ts';
import type { MirroredStream, UsageMirror } from './usage-mirror.ts';
import { STREAM_START } from '#usage/stream.ts';
import type { ValkeyReader } from '#ledger/shared-reader.ts';
import type { StreamId } from '#usage/stream.ts';
import { createMutex } from '#runtime/mutex.ts';
import { openSqlUsageStore } from './sql-store.ts';
import type { UsageDatabase, DatabaseQuery } from './sql-store.ts';
import type { UsageStore } from './usage.ts';

type RecordReader = Pick<ValkeyReader, 'accounts' | 'recordsAfter' | 'extent' | 'close'>;

/** A row takes about four hundred bytes of disk. */
export interface MirrorBounds {
  /** Over all accounts. Beyond it, the least recently used accounts are dropped, and copied again on demand. */
  readonly maxRows: number;
  /** The latest of one account. */
  readonly maxRowsPerAccount: number;
}

export interface ValkeyUsageStoreOptions extends Partial<MirrorBounds> {
  /** The mirror's file. Without it the mirror is temporary. */
  readonly path?: string | undefined;
  /** The pause between two rounds of the background copy. Default 5000. */
  readonly followEveryMs?: number;
}

const DEFAULT_BOUNDS: MirrorBounds = { maxRows: 2_000_000, maxRowsPerAccount: 1_000_000 };
const FOLLOW_MS = 5_000;
/** A batch blocks the event loop for about ten milliseconds. */
const BATCH_ROWS = 500;
/** Accounts that are read ahead: those of a person, not those of a platform. */
const MAX_PREPARED = 10;
const STREAM_END: StreamId = { ms: Number.MAX_SAFE_INTEGER, seq: 0 };

interface FollowedAccount {
  readonly account: string;
  readonly mutex: ReturnType<typeof createMutex>;
  stream: MirroredStream;
  /** Queries in progress: the account is not dropped meanwhile. */
  users: number;
}

/** The store owns the reader. */
export function openValkeyUsageStore(reader: RecordReader, options: ValkeyUsageStoreOptions = {}): UsageStore {
  const { path, followEveryMs = FOLLOW_MS, ...bounds } = options;
  const source = new ValkeySource(reader, { ...DEFAULT_BOUNDS, ...bounds }, path);
  void source.follow(followEveryMs);
  return {
    ...openSqlUsageStore(source),
    prepare(accounts) {
      if (accounts.length === 0 || accounts.length > MAX_PREPARED) return;
      // the query that follows reports failures
      for (const account of accounts) source.use([account], async () => undefined).catch(() => undefined);
    },
  };
}

class ValkeySource implements UsageDatabase {
  readonly #reader: RecordReader;
  readonly #bounds: MirrorBounds;
  readonly #path: string | undefined;
  /** In the order of use, the latest last. */
  readonly #accounts = new Map<string, FollowedAccount>();
  readonly #closing = new AbortController();
  #mirror: UsageMirror | undefined;

  constructor(reader: RecordReader, bounds: MirrorBounds, path: string | undefined) {
    this.#reader = reader;
    this.#bounds = bounds;
    this.#path = path;
  }

  /** Copies all accounts for which there is room, in rounds, until the store is closed. Never rejects. */
  async follow(everyMs: number): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      // a failed round is repeated; a query reports the reason
      await this.#followAll().catch(() => undefined);
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #followAll(): Promise<void> {
    this.#openMirror();
    for (const account of await this.#reader.accounts()) {
      if (this.#closing.signal.aborted) return;
      if (this.#accounts.has(account) || (await this.#hasRoomFor(account))) await this.#refresh(account);
    }
  }

  async #hasRoomFor(account: string): Promise<boolean> {
    const { count } = await this.#reader.extent(account);
    return count > 0 && this.#rows() + Math.min(count, this.#bounds.maxRowsPerAccount) <= this.#bounds.maxRows;
  }

  /** Unlike a query, it does not make the account the most recently used. */
  async #refresh(account: string): Promise<void> {
    const followed = this.#accounts.get(account) ?? this.#begin(account);
    followed.users++;
    try {
      await followed.mutex(() => this.#checked(() => this.#bringUpToDate(followed)));
    } finally {
      this.#end(followed);
    }
  }

  /** Queries about one account wait for each other, so that no rows are dropped under one of them. */
  async use<R>(wanted: readonly string[], work: DatabaseQuery<R>): Promise<R> {
    this.#openMirror();
    const all = wanted.toSorted().map((account) => this.#begin(account)); // in one order, which excludes deadlocks
    for (const each of all) each.users++;
    const locked = all.reduceRight(
      (inner, each) => () => each.mutex(inner),
      async () => {
        for (const each of all) await this.#bringUpToDate(each);
        return work(this.#openMirror().tables, Math.max(0, ...all.map(({ stream }) => stream.wholeSinceMs)));
      },
    );
    try {
      return await this.#checked(locked);
    } finally {
      for (const each of all) this.#end(each);
    }
  }

  close(): void {
    this.#closing.abort();
    this.#mirror?.close();
    this.#reader.close();
  }

  #begin(account: string): FollowedAccount {
    const followed = this.#accounts.get(account) ?? followedFrom(newStream(account));
    this.#accounts.delete(account);
    this.#accounts.set(account, followed);
    return followed;
  }

  #end(followed: FollowedAccount): void {
    followed.users--;
    if (followed.users === 0 && followed.stream.rows === 0) this.#accounts.delete(followed.account);
  }

  /** Accounts of a mirror from before a restart are followed again. */
  #openMirror(): UsageMirror {
    if (this.#closing.signal.aborted) throw new Error('the book is closed');
    if (this.#mirror) return this.#mirror;
    this.#mirror = openUsageMirror(this.#path);
    for (const stream of this.#mirror.streams())
      if (!this.#accounts.has(stream.account)) this.#accounts.set(stream.account, followedFrom(stream));
    return this.#mirror;
  }

  /** A damaged file is removed; the next query copies everything again. */
  async #checked<R>(work: () => Promise<R>): Promise<R> {
    const mirror = this.#openMirror();
    try {
      return await work();
    } catch (error) {
      if (isDamaged(error) && this.#mirror === mirror) {
        mirror.close();
        this.#mirror = undefined;
        for (const each of this.#accounts.values()) each.stream = newStream(each.account);
        if (this.#path !== undefined) removeUsageMirror(this.#path);
      }
      throw error;
    }
  }

  async #bringUpToDate(followed: FollowedAccount): Promise<void> {
    const { account } = followed;
    const { epoch } = await this.#reader.extent(account);
    if (followed.stream.epoch !== epoch) await this.#copyAgain(followed, epoch);
    await this.#readOn(followed);
    const { count, first } = await this.#reader.extent(account);
    if (first) await this.#removeBefore(followed, first);
    if (followed.stream.rows <= count) return;
    // records have vanished without a new epoch: somebody has edited the store
    await this.#copyAgain(followed, epoch);
    await this.#readOn(followed);
  }

  async #copyAgain(followed: FollowedAccount, epoch: string): Promise<void> {
    await this.#forget(followed);
    followed.stream = { ...followed.stream, epoch };
  }

  async #readOn(followed: FollowedAccount): Promise<void> {
    for (;;) {
      const { account, last } = followed.stream;
      const records = await this.#reader.recordsAfter(account, last, BATCH_ROWS);
      if (records.length > 0) followed.stream = this.#openMirror().add(followed.stream, records);
      this.#trim(followed);
      await this.#makeRoom();
      if (records.length < BATCH_ROWS) return;
      await setImmediate();
    }
  }

  /** Removes the account's oldest rows if it has too many. */
  #trim(followed: FollowedAccount): void {
    const excess = followed.stream.rows - this.#bounds.maxRowsPerAccount;
    if (excess <= 0) return;
    const removal = { most: excess, tooMany: true };
    followed.stream = this.#openMirror().remove(followed.stream, STREAM_END, removal).stream;
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
    return this.#accounts.values().reduce((sum, { stream }) => sum + stream.rows, 0);
  }

  async #forget(followed: FollowedAccount): Promise<void> {
    await this.#removeBefore(followed, STREAM_END);
    this.#openMirror().drop(followed.account);
    followed.stream = newStream(followed.account);
  }

  async #removeBefore(followed: FollowedAccount, before: StreamId): Promise<void> {
    for (;;) {
      const removal = { most: BATCH_ROWS, tooMany: false };
      const { stream, removed } = this.#openMirror().remove(followed.stream, before, removal);
      followed.stream = stream;
      if (removed < BATCH_ROWS) return;
      await setImmediate();
    }
  }
}

function newStream(account: string): MirroredStream {
  return { account, epoch: '', last: STREAM_START, rows: 0, wholeSinceMs: 0 };
}

function followedFrom(stream: MirroredStream): FollowedAccount {
  return { account: stream.account, mutex: createMutex(), stream, users: 0 };
}
