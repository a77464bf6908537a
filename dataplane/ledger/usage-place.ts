/**
 * [P] Where a record of a call lies in its ledger, so that whoever has seen it finds it again. Places are in the order
 * of settlement. A record that is written anew, because its call was refunded or settled late, may have another place
 * then.
 */
import type { UsageRecord } from './usage-record.ts';

/** In a file: its number, and 0. In a stream: the two halves of its id. */
export interface RecordPlace {
  readonly major: number;
  readonly minor: number;
}

export interface PlacedRecord {
  readonly place: RecordPlace;
  readonly record: UsageRecord;
}

/** Before all others. */
export const BEFORE_ALL: RecordPlace = { major: 0, minor: 0 };
