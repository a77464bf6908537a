/**
 * The thread that makes checkpoints, so that the main thread never waits for the disk. It moves SQLite's log into the
 * file, and begins the log anew where that is possible; and it copies a file that was removed under its process.
 */
import { platform, setPriority } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { injectFault } from './faults.ts';
import { copyDatabase, inodeOf, moveLog } from './file-copy.ts';

export interface ThreadSettings {
  readonly path: string;
  /** Of the file that the main thread opened; the thread leaves a file with another inode alone. */
  readonly inode: number | undefined;
  /** For tests: see faults.ts. */
  readonly faults: Int32Array | undefined;
}

/**
 * Move: moves the log's pages into the file while commits go on. Restart: moves all pages and begins the log anew, while
 * nobody commits. Copy: copies the file as it is open, and closes it.
 */
export interface ThreadRequest {
  readonly seq: number;
  readonly task: 'Move' | 'Restart' | 'Copy' | 'Close';
}

export interface ThreadReply {
  readonly seq: number;
  /** Why it failed. */
  readonly reason?: string;
  /** How many pages the log has. */
  readonly pages: number;
}

/** About a quarter of the main thread's CPU share on the same core. */
const NICE = 5;
/** How long a checkpoint waits for programs that read the file. Commits are paused meanwhile. */
const BUSY_TIMEOUT_MS = 50;

class CheckpointedFile {
  readonly #settings: ThreadSettings;
  readonly #db: DatabaseSync;
  /**
   * Reads all the time. Where all pages of the log are in the file and nobody reads, the next commit begins the log anew,
   * and waits for a sync of its header. The thread does that itself.
   */
  readonly #reader: DatabaseSync;

  constructor(settings: ThreadSettings) {
    this.#settings = settings;
    this.#db = new DatabaseSync(settings.path, { timeout: BUSY_TIMEOUT_MS });
    this.#db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0');
    this.#reader = new DatabaseSync(settings.path, { readOnly: true });
    // a reader counts only where the log has a page that is not in the file
    this.#writePage();
    this.#read();
  }

  get isOpen(): boolean {
    return this.#db.isOpen;
  }

  /** Returns how many pages the log has. */
  perform(task: ThreadRequest['task']): number {
    const { path, faults } = this.#settings;
    switch (task) {
      case 'Move':
        injectFault(faults, 'WithinCheckpoint');
        return this.#move();
      case 'Restart':
        injectFault(faults, 'WithinCheckpoint');
        return this.#restart();
      case 'Copy':
        copyDatabase(this.#db, path);
        return this.#close();
      case 'Close':
        return this.#close();
    }
  }

  #move(): number {
    this.#endRead();
    this.#read();
    return moveLog(this.#db, 'PASSIVE').pages;
  }

  #restart(): number {
    this.#endRead();
    try {
      const { pages, moved, isBusy } = moveLog(this.#db, 'RESTART');
      if (isBusy || moved < pages) throw new Error('another program reads the file, so that its log stays in use');
      this.#writePage();
      return 1;
    } finally {
      this.#read();
    }
  }

  #read(): void {
    this.#reader.exec('BEGIN');
    this.#reader.prepare('SELECT begun FROM log').get();
  }

  #endRead(): void {
    if (this.#reader.isTransaction) this.#reader.exec('COMMIT');
  }

  #writePage(): void {
    this.#db.exec('UPDATE log SET begun = begun + 1');
  }

  #close(): number {
    this.#reader.close();
    this.#db.close();
    return 0;
  }
}

function serve(port: MessagePort, settings: ThreadSettings): void {
  if (inodeOf(settings.path) !== settings.inode) throw new Error('the file was removed or replaced');
  const file = new CheckpointedFile(settings);
  lowerPriority();
  port.on('message', ({ seq, task }: ThreadRequest) => {
    let reply: ThreadReply = { seq, pages: 0 };
    try {
      reply = { seq, pages: file.perform(task) };
    } catch (error) {
      reply = { ...reply, reason: error instanceof Error ? error.message : String(error) };
    }
    port.postMessage(reply, []);
    if (!file.isOpen) port.close();
  });
}

/** Lowers the priority of this thread. Only on Linux, because elsewhere it would be that of the whole process. */
function lowerPriority(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(NICE);
  } catch {
    // some sandboxes forbid it; the thread works at normal priority too
  }
}

if (!parentPort) throw new Error('the checkpoint thread was started outside a worker thread');
serve(parentPort, workerData);
