/**
 * The journal's files: `<ledger>.journal-<number>`, numbered without gaps. What the ledger's file has taken in is removed.
 */
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { SEGMENT_HEADER_BYTES } from './journal-format.ts';
import type { SegmentHeader } from './journal-format.ts';
import { readFrames, readHeader } from './journal-reader.ts';
import type { RecordVisitor } from './journal-reader.ts';

const DIGITS = 12;

/** What the ledger's file says of the journal. */
export interface FileMark {
  readonly ledgerId: string;
  /** The last segment that it has taken in. */
  readonly folded: number;
}

export interface Segment extends SegmentHeader {
  readonly path: string;
  readonly bytes: Buffer;
}

export function segmentPath(ledgerPath: string, number: number): string {
  return `${ledgerPath}.journal-${String(number).padStart(DIGITS, '0')}`;
}

/** Numbers of the segments that are there, ascending. */
function listSegments(ledgerPath: string): number[] {
  const prefix = `${basename(ledgerPath)}.journal-`;
  return readdirSync(dirname(ledgerPath))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length))).sort((a, b) => a - b);
}

export function removeSegments(ledgerPath: string, upTo: number): void {
  for (const number of listSegments(ledgerPath)) if (number <= upTo) rmSync(segmentPath(ledgerPath, number), { force: true });
}

/** The segments that the file has not taken in, in order. Throws, saying what can be done, where they do not continue it. */
export function segmentsAfter(ledgerPath: string, mark: FileMark): Segment[] {
  const segments = listSegments(ledgerPath).map((number) => openSegment(ledgerPath, number)).filter((segment) => segment !== undefined);
  // a whole one needs neither the file nor what was before it
  const first = segments.findLastIndex(({ whole }) => whole);
  const [base] = segments.slice(Math.max(0, first));
  const own = base?.whole ? base.ledgerId : mark.ledgerId;
  const startsAfter = base?.whole && base.ledgerId !== mark.ledgerId ? base.number - 1 : mark.folded;
  const following = segments.filter(({ number }) => number > startsAfter);
  for (const [index, { ledgerId, number, path }] of following.entries()) {
    if (ledgerId !== own) throw new Error(`the journal ${path} belongs to another file. ${howToMend(path)}`);
    if (number !== startsAfter + index + 1)
      throw new Error(`the journal continues at ${path}, and the file ends at segment ${startsAfter + index}: one of them is not of this ledger or not complete. ${howToMend(path)}`);
  }
  return following;
}

/** Undefined: the process ended before anything was in it. */
function openSegment(ledgerPath: string, number: number, read: (path: string) => Buffer = readFileSync): Segment | undefined {
  const path = segmentPath(ledgerPath, number);
  const bytes = read(path);
  const header = readHeader(bytes, crc32);
  if (header?.number === number) return { ...header, path, bytes };
  if (bytes.length >= SEGMENT_HEADER_BYTES && bytes.some((byte) => byte !== 0)) throw new Error(`the journal ${path} is damaged at its beginning. ${howToMend(path)}`);
  return undefined;
}

/** Visits the records of a segment. Throws where it is damaged; only the last one may end within a frame. */
export function visitSegment({ bytes, path }: Pick<Segment, 'bytes' | 'path'>, isLast: boolean, visitor: RecordVisitor): void {
  const end = readFrames(bytes, visitor, crc32);
  if (end.damaged || (end.torn && !isLast))
    throw new Error(`the journal ${path} is damaged at byte ${end.bytes} of ${bytes.length}, and goes on after that. ${howToMend(path)}`);
}

function howToMend(path: string): string {
  return `Restore the ledger's file and its journal together from a backup; or, to go on without what the journal has (the last seconds of that process), move all ${basename(path).replace(/\d+$/, '*')} away and start again.`;
}

/** A file that lags has larger segments; their memory is not kept. */
const KEPT_BYTES = 16 << 20;
const LEAST_BYTES = 1 << 20;

/**
 * Reads segments for the file's thread, each into the memory of the one before: memory that is fresh from the system each time
 * costs a third of all that this thread does.
 */
export class SegmentReader {
  #kept = Buffer.alloc(0);

  /** Its bytes are overwritten by the next one. */
  read(ledgerPath: string, number: number): Segment {
    const segment = openSegment(ledgerPath, number, this.#readFile);
    if (!segment) throw new Error(`the journal ${segmentPath(ledgerPath, number)} has no header`);
    return segment;
  }

  readonly #readFile = (path: string): Buffer => {
    const fd = openSync(path, 'r');
    try {
      const { size } = fstatSync(fd);
      const bytes = this.#room(size);
      let read = 0;
      while (read < size) {
        const more = readSync(fd, bytes, read, size - read, read);
        if (more === 0) break;
        read += more;
      }
      return bytes.subarray(0, read);
    } finally {
      closeSync(fd);
    }
  };

  #room(size: number): Buffer {
    if (size <= this.#kept.length) return this.#kept;
    const room = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(size))));
    if (room.length <= KEPT_BYTES) this.#kept = room;
    return room;
  }
}

/** Makes names that were added to a file's folder survive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
