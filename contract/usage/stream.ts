/** [P] Records in the order of settlement, as a shared ledger keeps them for each account. */
import type { UsageRecord } from './record.ts';

/** The id of a stream entry, in the order of settlement. A record that changes moves to the end of its stream. */
export interface StreamId {
  readonly ms: number;
  readonly seq: number;
}

export interface StreamRecord {
  readonly id: StreamId;
  readonly record: UsageRecord;
}

/** The position before all entries. */
export const STREAM_START: StreamId = { ms: 0, seq: 0 };
