/**
 * The journal's files. The lines of one turn of the event loop are appended to the current file together. Files rotate
 * between two names. The current file always begins with the lines that are still needed, even after a failed write or
 * rotation. While writes fail, lines wait in memory and are written again.
 */
import { existsSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface JournalFileOptions {
  readonly folder: string;
  /** Returns the lines of earlier files that are still needed, with which every new file begins. */
  readonly kept: () => string;
  /** Called with the reason when a file cannot be written. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs: () => number;
}

/** The pause after a failed write. */
const RETRY_MS = 500;
/** The most lines that wait in memory; beyond it the oldest are lost. */
const MAX_WAITING = 200_000;
const ROTATE_MS = 5 * 60_000;
const ROTATE_BYTES = 64 * 2 ** 20;

/** The paths of the older and the newer file. */
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
  /** The file may end with an incomplete line of the previous process or of a failed write. */
  #isBroken = true;
  #isClosed = false;
  #readers = 0;
  #writing: Promise<void> | undefined;
  #scheduled = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: JournalFileOptions, file: FileHandle) {
    this.#options = options;
    this.#file = file;
    this.#openedMs = options.monotonicMs();
  }

  append(line: string): void {
    if (this.#isClosed) return this.#options.onFault(new Error('the journal is closed'));
    this.#lines.push(line);
    if (this.#scheduled || this.#retry) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.flush();
    });
  }

  /** Writes all waiting lines. Never rejects: lines that could not be written are written again later. */
  flush(): Promise<void> {
    return (this.#writing ??= this.#write()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#writing = undefined;
      }));
  }

  #failed(error: unknown): void {
    this.#isBroken = true;
    this.#lines.splice(0, this.#lines.length - MAX_WAITING);
    this.#options.onFault(error);
    if (this.#isClosed || this.#retry) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.flush();
    }, RETRY_MS).unref();
  }

  /** Resolves when all lines so far are in the file, or could not be written. Never rejects. */
  async written(): Promise<void> {
    await this.flush();
    // for lines that were appended during the first write
    await this.flush();
  }

  /** Resolves with true if all lines so far are on disk, also after a loss of power. Never rejects. */
  async synced(): Promise<boolean> {
    await this.written();
    if (this.#isBroken || this.#isClosed) return false;
    const file = this.#file;
    try {
      await file.datasync();
      return true;
    } catch (error) {
      // a rotation has closed the file; the new one begins with everything that waits
      if (file !== this.#file) return this.synced();
      this.#failed(error);
      return false;
    }
  }

  /**
   * Reads all lines: those in the files, then those that could not be written. No file rotates meanwhile, because a
   * rotation would show lines twice or not at all.
   */
  async reading<T>(read: (paths: readonly string[], waiting: readonly string[]) => Promise<T>): Promise<T> {
    await this.written();
    this.#readers++;
    try {
      return await read(journalPaths(this.#options.folder), [...this.#lines]);
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
    clearTimeout(this.#retry);
    await this.#file.close();
  }

  async #write(): Promise<void> {
    if (this.#isBroken) await this.#put(`\n${this.#options.kept()}`);
    this.#isBroken = false;
    while (this.#lines.length > 0) {
      const lines = this.#lines.splice(0);
      try {
        await this.#put(lines.join(''));
      } catch (error) {
        this.#lines.unshift(...lines);
        throw error;
      }
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

  /** Starts a new file. The old one stays until the new one is complete. */
  async #rotate(): Promise<void> {
    const { folder, kept, monotonicMs } = this.#options;
    const [previous, current] = journalPaths(folder);
    const path = join(folder, 'next.jsonl');
    const next = await open(path, 'w', 0o600);
    try {
      await next.appendFile(kept());
      // the current file is missing if a rotation failed between its two renames; the previous file then has all lines
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
