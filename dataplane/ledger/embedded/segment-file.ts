/** The file of a journal segment that this process writes, or keeps for lookups. */
import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const syncData = promisify(fdatasync);
const COPY_BYTES = 1 << 20;
const OWNER_ONLY = 0o600;

/** Closes a file descriptor, but not before a running sync on it has ended. */
export type CloseDescriptor = (fd: number) => void;

export class SegmentFile {
  readonly #path: string;
  readonly #close: CloseDescriptor;
  #fd: number;
  /** The accepted length: everything before it was written without an error. */
  #size = 0;
  /** The directory entry is not synced yet. */
  #isNew = true;
  /** A sync has failed. The kernel may have dropped the data, and may report success at the next sync. */
  #needsRewrite = false;

  constructor(path: string, close: CloseDescriptor) {
    this.#path = path;
    this.#close = close;
    this.#fd = openSync(path, 'w+', OWNER_ONLY);
  }

  get size(): number {
    return this.#size;
  }

  /** True if another program deleted the file. */
  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** Writes after the accepted length, over the remains of a failed write. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#size + done);
  }

  /**
   * Truncates the file to the accepted length after a failed write. If that fails, the next write overwrites the rest.
   */
  discardRemains(): void {
    try {
      ftruncateSync(this.#fd, this.#size);
    } catch {
      // the failed write itself is reported, and repeated at the same offset
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

  /** Resolves when the file survives a power failure. Rewrites it first if an earlier sync failed. */
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

  /** Copies the accepted bytes to a new file, because the old one was deleted or a sync failed. */
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

/** Syncs a directory, without which a new file in it does not survive a power failure. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
