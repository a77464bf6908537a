/**
 * Where the record of a call is in the file, by its id. Ids are random: in an index of the database every record would touch a page
 * of its own, which costs more than all the rest of it. So the ids are kept by blocks of 16,384 records, as sorted numbers made of
 * a hash of the id and the record's place in its block: in memory as records come, and as one row of the file for each complete
 * block, so that a start does not have to read the records again.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';

const BLOCK_BITS = 14;
const BLOCK_RECORDS = 1 << BLOCK_BITS;

/** The latest block, which records are added to. */
interface OpenBlock {
  readonly number: number;
  /** In the order of the records. */
  readonly entries: Float64Array;
  count: number;
}

export class UsageIndex {
  readonly #bounds: StatementSync;
  readonly #idsOf: StatementSync;
  readonly #stored: StatementSync;
  readonly #store: StatementSync;
  readonly #forget: StatementSync;
  readonly #isRecord: StatementSync;
  /** Of complete blocks, by number: sorted. */
  readonly #blocks = new Map<number, Float64Array>();
  #open: OpenBlock;
  #nextSeq = 1;

  constructor(db: DatabaseSync) {
    this.#bounds = db.prepare('SELECT (SELECT min(seq) FROM usage) AS oldest, (SELECT max(seq) FROM usage) AS newest');
    this.#idsOf = db.prepare('SELECT seq, call_id FROM usage WHERE seq >= ? AND seq < ? ORDER BY seq');
    this.#stored = db.prepare('SELECT ids FROM usage_blocks WHERE block = ?');
    this.#store = db.prepare('REPLACE INTO usage_blocks (block, ids) VALUES (?, ?)');
    this.#forget = db.prepare('DELETE FROM usage_blocks WHERE block < ?');
    this.#isRecord = db.prepare('SELECT 1 FROM usage WHERE seq = ? AND call_id = ?');
    this.#open = this.#turnTo(Number(this.#bounds.get()?.['newest'] ?? 0) + 1);
  }

  /** The next record, which has the number that follows the latest one's. */
  add(callId: string): void {
    const open = this.#open;
    open.entries[open.count++] = entryOf(callId, this.#nextSeq);
    this.#nextSeq++;
    if (blockOf(this.#nextSeq) !== open.number) this.#complete(open);
  }

  /** The number of a call's record; undefined: there is none. */
  find(callId: string): number | undefined {
    const hash = hashOf(callId);
    const first = blockOf(Number(this.#bounds.get()?.['oldest'] ?? this.#nextSeq));
    for (let block = this.#open.number; block >= first; block--) {
      for (const seq of this.#candidates(block, hash)) if (this.#isRecord.get(seq, callId)) return seq;
    }
    return undefined;
  }

  /** Records have left, oldest first. Numbers begin anew where none is left. */
  pruned(): void {
    const { oldest, newest } = this.#bounds.get() ?? {};
    const isEmpty = newest === null;
    const first = isEmpty ? Infinity : blockOf(Number(oldest));
    for (const block of this.#blocks.keys()) if (block < first) this.#blocks.delete(block);
    this.#forget.run(isEmpty ? this.#open.number + 1 : first);
    if (isEmpty) this.#open = this.#turnTo(1);
  }

  #candidates(block: number, hash: number): number[] {
    const { number, entries, count } = this.#open;
    return block === number ? unsortedMatches(entries.subarray(0, count), block, hash) : sortedMatches(this.#entriesOf(block), block, hash);
  }

  #entriesOf(block: number): Float64Array {
    let entries = this.#blocks.get(block);
    if (!entries) this.#blocks.set(block, entries = this.#readStored(block) ?? this.#index(block));
    return entries;
  }

  #readStored(block: number): Float64Array | undefined {
    const ids = this.#stored.get(block)?.['ids'];
    // aligned as numbers must be
    return ids instanceof Uint8Array ? new Float64Array(ids.slice().buffer) : undefined;
  }

  /** Of a file that was written before there were blocks. */
  #index(block: number): Float64Array {
    const entries = this.#readEntries(block).sort();
    this.#store.run(block, bytesOf(entries));
    return entries;
  }

  #readEntries(block: number): Float64Array {
    const rows = this.#idsOf.all(block << BLOCK_BITS, (block + 1) << BLOCK_BITS);
    return Float64Array.from(rows, (row) => entryOf(String(row['call_id']), Number(row['seq'])));
  }

  #complete({ number, entries, count }: OpenBlock): void {
    const sorted = entries.slice(0, count).sort();
    this.#blocks.set(number, sorted);
    this.#store.run(number, bytesOf(sorted));
    this.#open = this.#turnTo(this.#nextSeq);
  }

  /** The block of the next record, with what is in it. */
  #turnTo(nextSeq: number): OpenBlock {
    this.#nextSeq = nextSeq;
    const number = blockOf(nextSeq);
    const known = this.#readEntries(number);
    const entries = new Float64Array(BLOCK_RECORDS);
    entries.set(known);
    return { number, entries, count: known.length };
  }
}

function blockOf(seq: number): number {
  return Math.floor(seq / BLOCK_RECORDS);
}

/** The hash, then the place: entries of one hash stand together. */
function entryOf(callId: string, seq: number): number {
  return hashOf(callId) * BLOCK_RECORDS + seq % BLOCK_RECORDS;
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

function unsortedMatches(entries: Float64Array, block: number, hash: number): number[] {
  const least = hash * BLOCK_RECORDS;
  const found: number[] = [];
  for (const entry of entries) if (entry >= least && entry < least + BLOCK_RECORDS) found.push(block * BLOCK_RECORDS + entry - least);
  return found;
}

function sortedMatches(entries: Float64Array, block: number, hash: number): number[] {
  const least = hash * BLOCK_RECORDS;
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((entries[middle] ?? 0) < least) from = middle + 1;
    else to = middle;
  }
  const found: number[] = [];
  for (let entry = entries[from]; entry !== undefined && entry < least + BLOCK_RECORDS; entry = entries[++from]) found.push(block * BLOCK_RECORDS + entry - least);
  return found;
}

function bytesOf(entries: Float64Array): Uint8Array {
  return new Uint8Array(entries.buffer, entries.byteOffset, entries.byteLength);
}
