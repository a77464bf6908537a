/** Reads a ledger that several processes share: spending, and the records of settled calls. */
import type { UsageFilter } from '#usage/filter.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { StreamId, StreamRecord } from '#usage/stream.ts';
import type { LedgerReader } from './spending.ts';

/** The size of an account's stream, its first entry, and the store's epoch. */
export interface StreamExtent {
  readonly count: number;
  readonly first: StreamId | undefined;
  /** The store's epoch, which changes after the store has lost data. */
  readonly epoch: string;
}

export interface ValkeyReader extends LedgerReader {
  /** Records account by account, each in the order of settlement. */
  records(filter: UsageFilter): AsyncGenerator<UsageRecord>;
  /** The account's next records after an entry, in the order of settlement. */
  recordsAfter(account: string, id: StreamId, most: number): Promise<readonly StreamRecord[]>;
  /** The accounts that have spent or held anything. */
  accounts(): Promise<readonly string[]>;
  extent(account: string): Promise<StreamExtent>;
  close(): void;
}
