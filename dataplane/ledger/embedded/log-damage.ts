/**
 * Finds damage in SQLite's log before it is written again. SQLite reads the log up to the first page whose checksum is
 * wrong, and says nothing of what follows. A process that was killed leaves no commit after that page.
 * https://sqlite.org/fileformat2.html#the_write_ahead_log
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { logOf, moveLog } from './file-copy.ts';

const HEADER_BYTES = 32;
/** Before each page. */
const FRAME_HEADER_BYTES = 24;
/** The header's lowest bit says that its checksum is computed from big-endian numbers. */
const MAGIC = 0x377f0682;

/** What is wrong with the log of a file that was just opened; undefined: nothing. */
export function findDamage(path: string, db: DatabaseSync): string | undefined {
  // moves the log's pages into the file, and leaves the log as it is
  const { pages } = moveLog(db, 'PASSIVE');
  const log = logOf(path);
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= HEADER_BYTES) return undefined;
  const fd = openSync(log, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(fd, header, 0, HEADER_BYTES, 0);
    if (!isIntact(header)) return `the log ${log} is damaged at its beginning: what it had is lost`;
    const lost = countCommits(fd, { header, size, from: Math.max(0, pages) });
    if (lost === 0) return undefined;
    return `the log ${log} is damaged after ${pages} pages: the ${lost} transactions that follow are lost`;
  } finally {
    closeSync(fd);
  }
}

function isIntact(header: Buffer): boolean {
  const magic = header.readUInt32BE(0);
  const isBig = magic === MAGIC + 1;
  if (!isBig && magic !== MAGIC) return false;
  let [first, second] = [0, 0];
  for (let at = 0; at < 24; at += 8) {
    first = (first + second + (isBig ? header.readUInt32BE(at) : header.readUInt32LE(at))) >>> 0;
    second = (second + first + (isBig ? header.readUInt32BE(at + 4) : header.readUInt32LE(at + 4))) >>> 0;
  }
  return first === header.readUInt32BE(24) && second === header.readUInt32BE(28);
}

/** The commits of this log after its valid part. Pages of an earlier log, which it overwrites, have another salt. */
function countCommits(
  fd: number,
  { header, size, from }: { readonly header: Buffer; readonly size: number; readonly from: number },
): number {
  const salt = header.subarray(16, 24);
  const step = FRAME_HEADER_BYTES + header.readUInt32BE(8);
  const frame = Buffer.alloc(FRAME_HEADER_BYTES);
  let commits = 0;
  for (let at = HEADER_BYTES + from * step; at + step <= size; at += step) {
    readSync(fd, frame, 0, FRAME_HEADER_BYTES, at);
    if (frame.readUInt32BE(4) !== 0 && frame.subarray(8, 16).equals(salt)) commits++;
  }
  return commits;
}
