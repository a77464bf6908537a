/**
 * Cuts text with one JSON value per line (JSONL), as it comes in pieces of any size, into chunks of whole lines, so that
 * a file of any size is read in parts. A chunk is small unless a single line is large.
 */
import { Buffer } from 'node:buffer';
import { asBuffer } from '../bytes.ts';

const CHUNK_BYTES = 64 * 1024;
const LINE_END = 0x0a;

export class LineChunks {
  /** Have no line end, or are together smaller than a chunk. */
  #pending: Uint8Array[] = [];
  #size = 0;

  /** What is kept of lines that are not whole, or that are too few for a chunk. */
  get pendingBytes(): number {
    return this.#size;
  }

  push(piece: Uint8Array): readonly Uint8Array[] {
    this.#pending.push(piece);
    this.#size += piece.length;
    if (this.#size < CHUNK_BYTES || !piece.includes(LINE_END)) return [];
    const all = this.#take();
    const chunks: Uint8Array[] = [];
    let from = 0;
    while (all.length - from >= CHUNK_BYTES) {
      const end = endOfChunk(all, from);
      if (end === undefined) break;
      chunks.push(all.subarray(from, end));
      from = end;
    }
    this.#pending = [all.subarray(from)];
    this.#size = all.length - from;
    return chunks;
  }

  /** The rest, whose last line needs no line end. */
  end(): Uint8Array {
    return this.#take();
  }

  #take(): Buffer {
    const [only] = this.#pending;
    const all = only && this.#pending.length === 1 ? asBuffer(only) : Buffer.concat(this.#pending, this.#size);
    this.#pending = [];
    this.#size = 0;
    return all;
  }
}

/** After the last line end within a chunk's size, or else after the first one; undefined: there is none. */
function endOfChunk(bytes: Buffer, from: number): number | undefined {
  const last = bytes.lastIndexOf(LINE_END, from + CHUNK_BYTES - 1);
  const at = last >= from ? last : bytes.indexOf(LINE_END, from);
  return at < 0 ? undefined : at + 1;
}

/** The lines of a chunk, without line ends and blank lines. */
export function linesOf(chunk: Uint8Array): readonly Uint8Array[] {
  const bytes = asBuffer(chunk);
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const at = bytes.indexOf(LINE_END, from);
    const end = at < 0 ? bytes.length : at;
    const line = bytes.subarray(from, end);
    if (!isBlank(line)) lines.push(line);
    from = end + 1;
  }
  return lines;
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
