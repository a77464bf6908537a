/**
 * The journal's files `<ledger>.journal-<number>`, numbered without gaps. A checkpoint deletes those that it has
 * applied.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { decodeHeader, SEGMENT_HEADER_BYTES } from './journal-format.ts';
import type { SegmentHeader } from './journal-format.ts';
import { readFrames } from './journal-reader.ts';
import type { RecordVisitor } from './journal-reader.ts';

const DIGITS = 12;

/** How far the journal was applied to the ledger's file. */
export interface Checkpoint {
  readonly ledgerId: string;
  /** The last segment that is in the file. */
  readonly segment: number;
}

export interface Segment extends SegmentHeader {
  readonly path: string;
  readonly bytes: Buffer;
}

export function segmentPath(ledgerPath: string, number: number): string {
  return `${ledgerPath}.journal-${String(number).padStart(DIGITS, '0')}`;
}

/** The numbers of the ledger's segments, ascending. */
function listSegments(ledgerPath: string): number[] {
  const prefix = `${basename(ledgerPath)}.journal-`;
  return readdirSync(dirname(ledgerPath))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => a - b);
}

export function removeSegments(ledgerPath: string, upTo: number): void {
  for (const number of listSegments(ledgerPath))
    if (number <= upTo) rmSync(segmentPath(ledgerPath, number), { force: true });
}

/** The segments after a checkpoint, in order. Throws with advice if they do not continue the checkpoint. */
export function segmentsAfter(ledgerPath: string, checkpoint: Checkpoint): Segment[] {
  const segments = listSegments(ledgerPath)
    .map((number) => loadSegment(ledgerPath, number))
    .filter((segment) => segment !== undefined);
  // after a segment with all balances, neither the file nor earlier segments are needed
  const [base] = segments.slice(
    Math.max(
      0,
      segments.findLastIndex(({ whole }) => whole),
    ),
  );
  const isReplaced = base?.whole && base.ledgerId !== checkpoint.ledgerId;
  const { ledgerId, segment: last } = isReplaced ? { ledgerId: base.ledgerId, segment: base.number - 1 } : checkpoint;
  const following = segments.filter(({ number }) => number > last);
  for (const [index, segment] of following.entries()) {
    if (segment.ledgerId !== ledgerId)
      throw new Error(`the journal ${segment.path} belongs to another file. ${remedy(segment.path)}`);
    if (segment.number === last + index + 1) continue;
    throw new Error(
      `the journal continues at ${segment.path}, and the file ends at segment ${last + index}: ` +
        `one of them is not of this ledger or not complete. ${remedy(segment.path)}`,
    );
  }
  return following;
}

/** Returns undefined if the process ended before it wrote the header. */
function loadSegment(ledgerPath: string, number: number): Segment | undefined {
  const path = segmentPath(ledgerPath, number);
  const bytes = readFileSync(path);
  const header = decodeHeader(bytes);
  if (header?.number === number) return { ...header, path, bytes };
  if (bytes.length >= SEGMENT_HEADER_BYTES && bytes.some((byte) => byte !== 0))
    throw new Error(`the journal ${path} is damaged at its beginning. ${remedy(path)}`);
  return undefined;
}

/** Throws if the segment has no header. */
export function readSegment(ledgerPath: string, number: number): Segment {
  const segment = loadSegment(ledgerPath, number);
  if (!segment) throw new Error(`the journal ${segmentPath(ledgerPath, number)} has no header`);
  return segment;
}

/** Visits the records of a segment. Throws if it is damaged, or torn without being the last. */
export function visitSegment({ bytes, path }: Segment, isLast: boolean, visitor: RecordVisitor): void {
  const end = readFrames(bytes, visitor);
  if (!end.damaged && (isLast || !end.torn)) return;
  throw new Error(
    `the journal ${path} is damaged at byte ${end.bytes} of ${bytes.length}, and goes on after that. ` + remedy(path),
  );
}

function remedy(path: string): string {
  return (
    "Restore the ledger's file and its journal together from a backup; or, to go on without what the journal has " +
    `(the last seconds of that process), move all ${basename(path).replace(/\d+$/, '*')} away and start again.`
  );
}
