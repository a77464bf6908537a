/**
 * The files of a journal: lines are appended to the current one, gathered for some hundred milliseconds; two take turns. What
 * still counts of what was written is in the file that is written at any moment, also after a write or a turn that failed.
 */
import { existsSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Lines } from './lines.ts';

export interface JournalFilesOptions {
  readonly folder: string;
  /** Lines that every file begins with: what still counts of those before it. */
  readonly kept: () => string;
  /** Told when a file cannot be written, and why. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs: () => number;
}

/** What is acknowledged is wanted only where a store loses it: it may be written together. */
const GATHER_MS = 200;
const TURN_MS = 5 * 60_000;
const TURN_BYTES = 64 * 2 ** 20;

/** Older one first. */
export function journalPaths(folder: string): readonly [previous: string, current: string] {
  return [join(folder, 'previous.jsonl'), join(folder, 'current.jsonl')];
}

export async function openJournalFiles(options: JournalFilesOptions): Promise<JournalFiles> {
  const [, current] = journalPaths(options.folder);
  return new JournalFiles(options, await open(current, 'a', 0o600));
}

export class JournalFiles {
  readonly #options: JournalFilesOptions;
  readonly #lines = new Lines();
  #file: FileHandle;
  #bytes = 0;
  #sinceMs: number;
  /** The end of the file may be half a line: of the process before, or of a write that failed, which is lost then. */
  #broken = true;
  #closed = false;
  #readers = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JournalFilesOptions, file: FileHandle) {
    this.#options = options;
    this.#file = file;
    this.#sinceMs = options.monotonicMs();
  }

  append(line: string): void {
    if (this.#closed) return this.#options.onFault(new Error('the journal is closed'));
    this.#lines.add(line);
    this.#timer ??= setTimeout(() => void this.flush(), GATHER_MS).unref();
  }

  /** Writes what there is, and what comes meanwhile. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#writing ??= this.#write().catch((error: unknown) => this.#failed(error)).finally(() => { this.#writing = undefined; });
  }

  /** Resolves when all that was appended until now is in the file, or was lost with a fault. Never rejects. */
  async written(): Promise<void> {
    await this.flush();
    // what was appended at the very end of a write
    await this.flush();
  }

  /** Reads all that was appended; files that took turns meanwhile would be read twice, or not at all. */
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
    this.#closed = true;
    await last;
    clearTimeout(this.#timer);
    await this.#file.close();
  }

  async #write(): Promise<void> {
    if (this.#broken) await this.#put(Buffer.from(`\n${this.#options.kept()}`));
    this.#broken = false;
    for (let filled = this.#lines.take(); filled.length > 0; filled = this.#lines.take()) {
      await this.#put(filled);
      if (this.#readers === 0 && this.#isFull()) await this.#turn();
    }
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.length;
    await this.#file.appendFile(bytes);
  }

  #isFull(): boolean {
    return this.#bytes > TURN_BYTES || this.#options.monotonicMs() - this.#sinceMs > TURN_MS;
  }

  /** The old file is there until there is a new one. */
  async #turn(): Promise<void> {
    const { folder, kept, monotonicMs } = this.#options;
    const [previous, current] = journalPaths(folder);
    const path = join(folder, 'next.jsonl');
    const next = await open(path, 'w', 0o600);
    try {
      await next.appendFile(kept());
      // there is none after a turn that failed between the two: what is written since is in the previous one
      if (existsSync(current)) renameSync(current, previous);
      renameSync(path, current);
    } catch (error) {
      await next.close();
      throw error;
    }
    const old = this.#file;
    [this.#file, this.#bytes, this.#sinceMs] = [next, 0, monotonicMs()];
    await old.close();
  }

  #failed(error: unknown): void {
    this.#broken = true;
    this.#options.onFault(error);
  }
}
