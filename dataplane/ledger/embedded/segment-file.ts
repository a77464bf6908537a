/**
 * A segment of the journal that this process writes, or has written and keeps for its readers.
 */
import {
  closeSync, fdatasync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const syncData = promisify(fdatasync);
const COPY_BYTES = 1 << 20;
const OWNER_ONLY = 0o600;

/** Closes a file descriptor, after a sync that is in progress on it. */
export type CloseDescriptor = (fd: number) => void;

export class SegmentFile {
  readonly #path: string;
  readonly #close: CloseDescriptor;
  #fd: number;
  /** The length that was written without an error. */
  #size = 0;
  /** Its directory entry is not synced yet. */
  #isNew = true;
  /** A sync has failed: the kernel may have dropped the data, and report success at the next one. */
  #needsRewrite = false;

  constructor(path: string, close: CloseDescriptor) {
    this.#path = path;
    this.#close = close;
    this.#fd = openSync(path, 'w+', OWNER_ONLY);
  }

  get size(): number {
    return this.#size;
  }

  /** Somebody deleted the file. */
  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** Writes after the accepted length, over the remains of a failed write. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#size + done);
  }

  /** Cuts the file at the accepted length after a failed write. Where that fails, the next write replaces the rest. */
  discardRemains(): void {
    try {
      ftruncateSync(this.#fd, this.#size);
    } catch {
      // the failed write is reported, and repeated at the same place
    }
  }

  /** Extends the accepted length. */
  accept(length: number): void {
    this.#size += length;
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#fd, bytes, 0, length, offset));
  }

  /** Resolves when the file survives a power failure. After a failed sync it is rewritten first. */
  async sync(): Promise<void> {
    if (this.#needsRewrite) this.rewrite();
    const isNew = this.#isNew;
    this.#needsRewrite = true;
    await syncData(this.#fd);
    this.#needsRewrite = false;
    if (!isNew) return;
    await syncFolder(dirname(this.#path));
    this.#isNew = false;
  }

  /** Copies the accepted bytes to a new file: this one was deleted, or a sync failed. */
  rewrite(): void {
    const path = `${this.#path}.new`;
    const fd = openSync(path, 'w+', OWNER_ONLY);
    try {
      copyBytes(this.#fd, fd, this.#size);
      renameSync(path, this.#path);
    } catch (error) {
      closeSync(fd);
      rmSync(path, { force: true });
      throw error;
    }
    this.#close(this.#fd);
    this.#fd = fd;
    this.#isNew = true;
    this.#needsRewrite = false;
  }

  discard(): void {
    ftruncateSync(this.#fd, 0);
    this.#close(this.#fd);
    rmSync(this.#path, { force: true });
  }

  close(): void {
    this.#close(this.#fd);
  }
}

function copyBytes(from: number, to: number, length: number): void {
  const buffer = Buffer.alloc(COPY_BYTES);
  for (let at = 0; at < length;) {
    const read = readSync(from, buffer, 0, Math.min(COPY_BYTES, length - at), at);
    if (read === 0) throw new Error('the journal is shorter than it was');
    for (let done = 0; done < read;) done += writeSync(to, buffer, done, read - done, at + done);
    at += read;
  }
}

/** A new directory entry survives a power failure only after this. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
