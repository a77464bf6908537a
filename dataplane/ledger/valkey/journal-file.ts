/**
 * The files of the journal: lines are gathered for some hundred milliseconds and appended to the current one; two files
 * take turns. Whatever still counts is in the current file at any moment, also after a write or a rotation that failed.
 */
import { existsSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

export interface JournalFileOptions {
  readonly folder: string;
  /** Lines that every file begins with: what still counts of those before it. */
  readonly kept: () => string;
  /** Told when a file cannot be written, and why. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs: () => number;
}

/** An acknowledged settlement is wanted only where the store loses it, so that its line can wait for others. */
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
  /** The file may end with half a line, of the process before or of a write that failed. */
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

  /** Writes what there is, and what comes meanwhile. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#writing ??= this.#write().catch((error: unknown) => {
      this.#isBroken = true;
      this.#options.onFault(error);
    }).finally(() => { this.#writing = undefined; });
  }

  /** Resolves when all that was appended until now is in the file, or was lost with a fault. Never rejects. */
  async written(): Promise<void> {
    await this.flush();
    // what was appended at the very end of a write
    await this.flush();
  }

  /** Reads all that was appended. No file rotates meanwhile: it would be read twice, or not at all. */
  async reading<T>(read: (paths: readonly string[]) => Promise<T>): Promise<T> {
    await this.written();
    this.#readers++;
    try {
      return await read(journalPaths(this.#options.folder));
    } finally {
      this.#readers--;
    }
  }

  /** Resolves when everything is in the file. */
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

  /** The old file is there until there is a new one. */
  async #rotate(): Promise<void> {
    const { folder, kept, monotonicMs } = this.#options;
    const [previous, current] = journalPaths(folder);
    const path = join(folder, 'next.jsonl');
    const next = await open(path, 'w', 0o600);
    try {
      await next.appendFile(kept());
      // it is missing after a rotation that failed between the two: what was written since is in the previous one
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
