/**
 * [P] The records of one account as columns of numbers: what sums, filters and pages need, and where each record lies. A hundred
 * thousand records are some six megabytes and summed in milliseconds; the records themselves stay in the ledger.
 */
import type { PlacedRecord, RecordPlace } from '#ledger/usage-place.ts';
import type { CallStatus } from '#ledger/usage-record.ts';

export const STATUSES: readonly CallStatus[] = ['Running', 'Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned', 'Refunded'];
const REFUNDED = STATUSES.indexOf('Refunded');
/** The status of a row whose record is gone. */
const GONE = 255;
const FIRST_ROWS = 256;
/** So many more rows than wanted, as a part of them, before the first ones leave: moving all others costs some milliseconds. */
const SLACK = 1 / 25;

/** Texts that many rows share, as numbers. */
export interface Names {
  /** undefined: no row has it. */
  readonly find: (name: string) => number | undefined;
  readonly numberOf: (name: string) => number;
  readonly nameOf: (number: number) => string;
  readonly size: number;
}

function openNames(): Names {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  return {
    find: (name) => numbers.get(name),
    numberOf(name) {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      numbers.set(name, names.length);
      return names.push(name) - 1;
    },
    nameOf: (number) => names[number] ?? '',
    get size() { return names.length; },
  };
}

/** By which records are put in order, the same on every replica: the moment of admission, then a hash of the call's id. */
export interface RowKey {
  readonly createdMs: number;
  readonly hashA: number;
  readonly hashB: number;
}

/** Rows come in the order of settlement; `order` has the numbers of those that count, by their keys. */
export class RecordColumns {
  readonly keys: Names = openNames();
  readonly models: Names = openNames();
  created: Float64Array = new Float64Array(FIRST_ROWS);
  cost: BigInt64Array = new BigInt64Array(FIRST_ROWS);
  input: Float64Array = new Float64Array(FIRST_ROWS);
  output: Float64Array = new Float64Array(FIRST_ROWS);
  key: Uint32Array = new Uint32Array(FIRST_ROWS);
  model: Uint32Array = new Uint32Array(FIRST_ROWS);
  status: Uint8Array = new Uint8Array(FIRST_ROWS);
  order: Uint32Array = new Uint32Array(FIRST_ROWS);
  /** How many rows count. */
  count = 0;
  /** From this moment on no call is missing because there were too many; 0: none is. */
  wholeSinceMs = 0;
  #major: Float64Array = new Float64Array(FIRST_ROWS);
  #minor: Float64Array = new Float64Array(FIRST_ROWS);
  #hashA: Uint32Array = new Uint32Array(FIRST_ROWS);
  #hashB: Uint32Array = new Uint32Array(FIRST_ROWS);
  #rows = 0;
  /** Rows before this one are gone. */
  #firstKept = 0;

  /** Rows that there is memory for. */
  get capacity(): number {
    return this.created.length;
  }

  /** In the order of settlement. A record that was written anew takes the place of the one before. */
  add(records: readonly PlacedRecord[]): void {
    const first = this.#rows;
    for (const record of records) this.#append(record);
    const added = Array.from({ length: this.#rows - first }, (_, at) => first + at).sort((a, b) => this.#compare(a, b));
    this.#dropRepeated(this.#merge(added));
  }

  /** What a record costs was given back. */
  refund({ callId, createdMs }: { readonly callId: string; readonly createdMs: number }): void {
    const at = this.firstFrom({ createdMs, ...hashesOf(callId) });
    const row = this.order[at];
    if (at >= this.count || row === undefined || !this.#isCall(row, callId, createdMs)) return;
    this.cost[row] = 0n;
    this.status[row] = REFUNDED;
  }

  /** The ledger keeps no records before this place any more. */
  dropBefore({ major, minor }: RecordPlace): void {
    let dropped = 0;
    for (let row = this.#firstKept; row < this.#rows; row++) {
      const [ofRow = 0, minorOfRow = 0] = [this.#major[row], this.#minor[row]];
      if (ofRow > major || (ofRow === major && minorOfRow >= minor)) break; // rows are in the order of their places
      if (this.status[row] !== GONE) dropped++;
      this.status[row] = GONE;
      this.#firstKept = row + 1;
    }
    if (dropped > 0) this.#forgetGone();
  }

  /** Only so many of the latest stay, and a few more; a call is the later the later it was settled. */
  keepLatest(most: number): void {
    if (this.#rows <= most + Math.floor(most * SLACK)) return;
    const leaving = this.#rows - most;
    for (let row = 0; row < leaving; row++) if (this.status[row] !== GONE) this.wholeSinceMs = Math.max(this.wholeSinceMs, (this.created[row] ?? 0) + 1);
    let kept = 0;
    for (let at = 0; at < this.count; at++) {
      const row = this.order[at] ?? 0;
      if (row >= leaving) this.order[kept++] = row - leaving;
    }
    this.count = kept;
    for (const column of [this.created, this.cost, this.input, this.output, this.key, this.model, this.status, this.#major, this.#minor, this.#hashA, this.#hashB]) column.copyWithin(0, leaving, this.#rows);
    this.#rows = most;
    this.#firstKept = Math.max(0, this.#firstKept - leaving);
  }

  place(row: number): RecordPlace {
    return { major: this.#major[row] ?? 0, minor: this.#minor[row] ?? 0 };
  }

  rowKey(row: number): RowKey {
    return { createdMs: this.created[row] ?? 0, hashA: this.#hashA[row] ?? 0, hashB: this.#hashB[row] ?? 0 };
  }

  /** Where in `order` the first row is whose key is not before this one. */
  firstFrom(key: RowKey): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.rowKey(this.order[middle] ?? 0), key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #append({ place, record }: PlacedRecord): void {
    if (this.#rows === this.created.length) this.#resize(this.#rows * 2);
    const row = this.#rows++;
    const { tokens } = record;
    const { hashA, hashB } = hashesOf(record.callId);
    this.created[row] = record.createdMs;
    this.cost[row] = record.costNanoUsd;
    this.input[row] = tokens.input + tokens.cached + tokens.cacheWrite5m + tokens.cacheWrite1h;
    this.output[row] = tokens.output;
    this.key[row] = this.keys.numberOf(record.keyUid);
    this.model[row] = this.models.numberOf(record.model);
    this.status[row] = STATUSES.indexOf(record.status);
    this.#major[row] = place.major;
    this.#minor[row] = place.minor;
    this.#hashA[row] = hashA;
    this.#hashB[row] = hashB;
  }

  /** Returns where in `order` the first of them has come. Most are later than all before, so little moves. */
  #merge(added: readonly number[]): number {
    let [from, left, to] = [this.count - 1, added.length - 1, this.count + added.length - 1];
    this.count += added.length;
    while (left >= 0) {
      const row = added[left] ?? 0;
      const before = this.order[from] ?? 0;
      const moves = from >= 0 && this.#compare(before, row) > 0;
      this.order[to--] = moves ? before : row;
      if (moves) from--;
      else left--;
    }
    return to + 1;
  }

  /** Of two rows of one call the later one counts. */
  #dropRepeated(from: number): void {
    let kept = Math.max(from, 1);
    for (let at = kept; at < this.count; at++) {
      const row = this.order[at] ?? 0;
      const before = this.order[kept - 1] ?? 0;
      if (compareKeys(this.rowKey(before), this.rowKey(row)) !== 0) {
        this.order[kept++] = row;
        continue;
      }
      this.status[Math.min(before, row)] = GONE;
      this.order[kept - 1] = Math.max(before, row);
    }
    if (this.count > 0) this.count = kept;
  }

  #forgetGone(): void {
    let kept = 0;
    for (let at = 0; at < this.count; at++) {
      const row = this.order[at] ?? 0;
      if (this.status[row] !== GONE) this.order[kept++] = row;
    }
    this.count = kept;
    if (this.#rows > 2 * kept + FIRST_ROWS) this.#compact();
  }

  /** Rows that are gone make room. */
  #compact(): void {
    const numbers = new Uint32Array(this.#rows);
    const kept: number[] = [];
    for (let row = 0; row < this.#rows; row++) {
      if (this.status[row] === GONE) continue;
      numbers[row] = kept.length;
      kept.push(row);
    }
    for (let at = 0; at < this.count; at++) this.order[at] = numbers[this.order[at] ?? 0] ?? 0;
    const { cost } = this;
    kept.forEach((row, at) => { cost[at] = cost[row] ?? 0n; });
    for (const column of [this.created, this.input, this.output, this.key, this.model, this.status, this.#major, this.#minor, this.#hashA, this.#hashB])
      kept.forEach((row, at) => { column[at] = column[row] ?? 0; });
    this.#rows = kept.length;
    this.#firstKept = 0;
    this.#resize(Math.max(FIRST_ROWS, kept.length * 2));
  }

  #resize(rows: number): void {
    const floats = (from: Float64Array): Float64Array => resized(new Float64Array(rows), from);
    const numbers = (from: Uint32Array): Uint32Array => resized(new Uint32Array(rows), from);
    [this.created, this.input, this.output] = [floats(this.created), floats(this.input), floats(this.output)];
    [this.#major, this.#minor] = [floats(this.#major), floats(this.#minor)];
    [this.key, this.model, this.order] = [numbers(this.key), numbers(this.model), numbers(this.order)];
    [this.#hashA, this.#hashB] = [numbers(this.#hashA), numbers(this.#hashB)];
    this.status = resized(new Uint8Array(rows), this.status);
    const cost = new BigInt64Array(rows);
    cost.set(this.cost.subarray(0, rows));
    this.cost = cost;
  }

  #compare(a: number, b: number): number {
    return compareKeys(this.rowKey(a), this.rowKey(b)) || a - b;
  }

  #isCall(row: number, callId: string, createdMs: number): boolean {
    return compareKeys(this.rowKey(row), { createdMs, ...hashesOf(callId) }) === 0;
  }
}

function resized<A extends Float64Array | Uint32Array | Uint8Array>(to: A, from: A): A {
  to.set(from.subarray(0, to.length));
  return to;
}

export function compareKeys(a: RowKey, b: RowKey): number {
  return a.createdMs - b.createdMs || a.hashA - b.hashA || a.hashB - b.hashB;
}

/** Two FNV-1a: 64 bits, which tell the calls of one millisecond apart. */
export function hashesOf(callId: string): { readonly hashA: number; readonly hashB: number } {
  let [hashA, hashB] = [0x811c9dc5, 0x1000193b];
  for (let at = 0; at < callId.length; at++) {
    const code = callId.charCodeAt(at);
    hashA = Math.imul(hashA ^ code, 0x01000193);
    hashB = Math.imul(hashB ^ code, 0x0100019d);
  }
  return { hashA: hashA >>> 0, hashB: hashB >>> 0 };
}
