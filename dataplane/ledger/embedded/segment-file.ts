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

/** Closes a file, perhaps later: a sync may be under way on it. */
export type Close = (fd: number) => void;

export class SegmentFile {
  readonly #path: string;
  readonly #close: Close;
  #fd: number;
  /** Bytes that are in the file for certain. */
  #size = 0;
  /** Its name may not survive a loss of power yet. */
  #isNew = true;
  /** A sync has failed. */
  #isDoubtful = false;

  constructor(path: string, close: Close) {
    this.#path = path;
    this.#close = close;
    this.#fd = openSync(path, 'w+', OWNER_ONLY);
  }

  get size(): number {
    return this.#size;
  }

  /** Somebody has removed it. */
  get isGone(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** Writes behind what is there for certain: over what a write left that was not accepted. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#fd, bytes, done, bytes.length - done, this.#size + done);
  }

  /** What was written last is in the file. */
  accept(length: number): void {
    this.#size += length;
  }

  read(offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#fd, bytes, 0, length, offset));
  }

  /**
   * What is in the file survives a loss of power when this resolves. After a failed sync it is written anew first: see
   * renew.
   */
  async sync(): Promise<void> {
    if (this.#isDoubtful) this.renew();
    const isNew = this.#isNew;
    this.#isDoubtful = true;
    await syncData(this.#fd);
    this.#isDoubtful = false;
    if (!isNew) return;
    await syncFolder(dirname(this.#path));
    this.#isNew = false;
  }

  /**
   * Copies it to a new file: it was removed, or a sync failed. The system may then have forgotten the data, and say at
   * the next sync that all is well.
   */
  renew(): void {
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
    this.#isDoubtful = false;
  }

  /** Removes it as if it had never been. */
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

/** A name that was added to a folder survives a loss of power only then. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
