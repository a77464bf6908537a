/**
 * The journal's binary format. A segment is a header and frames. A frame contains the records of one turn of the event
 * loop, with length and checksum. A record is a kind, a length and fields of fixed width, little-endian. A name (key,
 * account, model, …) is written once per segment and then referred to by number. New fields may be added at the end of
 * a record, and readers accept records without them; every other change needs a new magic number.
 */
import { crc32 } from 'node:zlib';
import type { JobState, QuotaPeriod } from '../ledger.ts';

/** "MGWJRNL1" */
const SEGMENT_MAGIC = 0x314c4e524a57474dn;
/** Bytes: magic 8, number 8, ledger id 8, whole 1, reserved 3, checksum of the preceding bytes 4. */
export const SEGMENT_HEADER_BYTES = 32;
const CHECKSUM_AT = SEGMENT_HEADER_BYTES - 4;
/** "FRME" */
export const FRAME_MAGIC = 0x454d5246;
/** Bytes: magic 4, length of the rest 4, checksum of the rest 4. */
export const FRAME_HEADER_BYTES = 12;
/** Bytes: kind 1, length of the fields 4. */
export const RECORD_HEADER_BYTES = 5;

export const KIND = { name: 1, held: 2, withdrawn: 3, renewed: 4, settled: 5, job: 6, key: 7, account: 8 } as const;

/** Enum values are stored as indexes into these lists and those of usage/record.ts, so append only. */
export const PERIODS: readonly QuotaPeriod[] = ['Never', 'Daily', 'Monthly'];
export const JOB_STATES: readonly JobState[] = ['Running', 'Completed', 'Failed'];

export interface SegmentHeader {
  readonly number: number;
  /** Identifies the ledger's file, 16 hexadecimal digits. */
  readonly ledgerId: string;
  /** The segment begins with all balances and supersedes everything before it. */
  readonly whole: boolean;
}

export function encodeHeader({ number, ledgerId, whole }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  bytes.writeBigUInt64LE(SEGMENT_MAGIC, 0);
  bytes.writeDoubleLE(number, 8);
  bytes.write(ledgerId, 16, 8, 'hex');
  bytes.writeUInt8(whole ? 1 : 0, 24);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, CHECKSUM_AT)), CHECKSUM_AT);
  return bytes;
}

/** Returns undefined if the header is incomplete because the process ended while writing it. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES || bytes.readBigUInt64LE(0) !== SEGMENT_MAGIC) return undefined;
  if (bytes.readUInt32LE(CHECKSUM_AT) !== crc32(bytes.subarray(0, CHECKSUM_AT))) return undefined;
  return { number: bytes.readDoubleLE(8), ledgerId: bytes.toString('hex', 16, 24), whole: bytes.readUInt8(24) === 1 };
}

export function encodeFrame(records: readonly Buffer[]): Buffer {
  const content = Buffer.concat(records);
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUInt32LE(FRAME_MAGIC, 0);
  header.writeUInt32LE(content.length, 4);
  header.writeUInt32LE(crc32(content), 8);
  return Buffer.concat([header, content]);
}

/** The end of the frame at an offset; undefined if there is no frame or it is incomplete. */
export function frameEnd(bytes: Buffer, at: number): number | undefined {
  const start = at + FRAME_HEADER_BYTES;
  if (start > bytes.length || bytes.readUInt32LE(at) !== FRAME_MAGIC) return undefined;
  const end = start + bytes.readUInt32LE(at + 4);
  if (end > bytes.length) return undefined;
  return crc32(bytes.subarray(start, end)) === bytes.readUInt32LE(at + 8) ? end : undefined;
}
