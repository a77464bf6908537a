/**
 * The journal's files. Lines are buffered for some hundred milliseconds and appended to the current file; files rotate
 * between two names. The current file always begins with the lines still needed, also after a failed write or rotation.
 */
import { existsSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface JournalFileOptions {
  readonly folder: string;
  /** The lines that every file begins with: those of earlier files that are still needed. */
  readonly kept: () => string;
  /** Called with the reason when a file cannot be written. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs: () => number;
}

/** Lines are buffered so long: an acknowledged settlement is needed only if the store loses it. */
const GATHER_MS = 200;
const ROTATE_MS = 5 * 60_000;
const ROTATE_BYTES = 64 * 2 ** 20;

/** The older one first. */
export function journalPaths(folder: string): readonly [previous: string, current: string] {
  return [join(folder, 'previous.jsonl'), join(folder, 'current.jsonl')];
}

export async function openJournalFiles(options: JournalFileOptions): Promise<JournalFiles> {
  const [, current] = journalPaths(options.folder);
  return new JournalFiles(options, await open(current, 'a', 0o600));
}

export class JournalFiles {
  readonly #options: JournalFileOptions;
  #lines: string[] = [];
  #file: FileHandle;
  #bytes = 0;
  #openedMs: number;
  /** The file may end with an incomplete line, of the process before or of a failed write. */
  #isBroken = true;
  #isClosed = false;
  #readers = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JournalFileOptions, file: FileHandle) {
    this.#options = options;
    this.#file = file;
    this.#openedMs = options.monotonicMs();
  }

  append(line: string): void {
    if (this.#isClosed) return this.#options.onFault(new Error('the journal is closed'));
    this.#lines.push(line);
    this.#timer ??= setTimeout(() => void this.flush(), GATHER_MS).unref();
  }

  /** Writes all buffered lines. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#writing ??= this.#write().catch((error: unknown) => {
      this.#isBroken = true;
      this.#options.onFault(error);
    }).finally(() => { this.#writing = undefined; });
  }

  /** Resolves when all lines so far are in the file, or failed with a fault. Never rejects. */
  async written(): Promise<void> {
    await this.flush();
    // lines that were appended at the very end of the first write
    await this.flush();
  }

  /** Reads all lines. No file rotates meanwhile, which would show lines twice or not at all. */
  async reading<T>(read: (paths: readonly string[]) => Promise<T>): Promise<T> {
    await this.written();
    this.#readers++;
    try {
      return await read(journalPaths(this.#options.folder));
    } finally {
      this.#readers--;
    }
  }

  /** Resolves when all lines are in the file. */
  async close(): Promise<void> {
    await this.written();
    const last = this.flush();
    this.#isClosed = true;
    await last;
    clearTimeout(this.#timer);
    await this.#file.close();
  }

  async #write(): Promise<void> {
    if (this.#isBroken) await this.#put(`\n${this.#options.kept()}`);
    this.#isBroken = false;
    while (this.#lines.length > 0) {
      await this.#put(this.#lines.splice(0).join(''));
      if (this.#readers === 0 && this.#isFull()) await this.#rotate();
    }
  }

  async #put(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#bytes += bytes.length;
    await this.#file.appendFile(bytes);
  }

  #isFull(): boolean {
    return this.#bytes > ROTATE_BYTES || this.#options.monotonicMs() - this.#openedMs > ROTATE_MS;
  }

  /** The old file stays until the new one is complete. */
  async #rotate(): Promise<void> {
    const { folder, kept, monotonicMs } = this.#options;
    const [previous, current] = journalPaths(folder);
    const path = join(folder, 'next.jsonl');
    const next = await open(path, 'w', 0o600);
    try {
      await next.appendFile(kept());
      // missing after a rotation that failed between the two renames: the previous file has all lines then
      if (existsSync(current)) renameSync(current, previous);
      renameSync(path, current);
    } catch (error) {
      await next.close();
      throw error;
    }
    const old = this.#file;
    [this.#file, this.#bytes, this.#openedMs] = [next, 0, monotonicMs()];
    await old.close();
  }
}
