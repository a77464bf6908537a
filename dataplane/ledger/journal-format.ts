/**
 * [P] The journal's bytes. A segment is a header and frames; a frame is what one turn of the event loop has appended, with its
 * length and checksum; it holds records, each a kind, a length and fields of fixed width, little-endian. Strings that come
 * again and again are written once per segment and then named by number. Changing any of this needs a new MAGIC.
 */
import type { CallStatus, UsageSource } from './usage-record.ts';
import type { JobState, QuotaPeriod } from './ledger.ts';

/** "MGWJRNL1" */
export const SEGMENT_MAGIC = 0x314c4e524a57474dn;
/** Magic 8, number 8, ledger id 8, whole 1, reserved 3, checksum of all before 4. */
export const SEGMENT_HEADER_BYTES = 32;
/** "FRME" */
export const FRAME_MAGIC = 0x454d5246;
/** Magic 4, length of what follows 4, checksum of what follows 4. */
export const FRAME_HEADER_BYTES = 12;
/** Kind 1, length of the fields 4. */
export const RECORD_HEADER_BYTES = 5;

export const KIND = { name: 1, held: 2, gone: 3, renewed: 4, settled: 5, job: 6, key: 7, account: 8 } as const;

/** Words are written as their place here: additions go to the end. */
export const STATUSES: readonly CallStatus[] = ['Running', 'Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned', 'Refunded'];
export const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial'];
export const PERIODS: readonly QuotaPeriod[] = ['Never', 'Daily', 'Monthly'];
export const JOB_STATES: readonly JobState[] = ['Running', 'Completed', 'Failed'];

/** What a segment says of itself. */
export interface SegmentHeader {
  readonly number: number;
  /** Of the file that it belongs to, 16 hexadecimal digits. */
  readonly ledgerId: string;
  /** It begins with all that the books know: whatever was before it does not count. */
  readonly whole: boolean;
}
