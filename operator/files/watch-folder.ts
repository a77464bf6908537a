/**
 * Watches a folder of manifests. Kernel notifications come first, debounced while an editor or a checkout is still
 * writing; periodic scans find what they miss: network drives, swapped links, lost notifications.
 */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { scanFolder } from './scan-folder.ts';

interface WatchOptions {
  readonly folder: string;
  /** Called after each change, never twice at once. It must not reject. */
  readonly onChange: () => Promise<void>;
  /** Told that the folder cannot be read at all, and again when it can: undefined. */
  readonly onUnreadable: (error: unknown) => void;
  /** Scans take one part in so many of the time, at most; default 20. */
  readonly rescanShare?: number;
}

interface FolderWatch {
  /** No more calls of onChange; resolves when a running one has ended. */
  stop(): Promise<void>;
}

/** The debounce time of notifications … */
const QUIET_MS = 40;
/** … and its upper bound. */
const LATEST_MS = 250;
/** Between two scans; longer where one takes long. */
const RESCAN_MS = 400;
const RESCAN_SHARE = 20;

/** Watches until it is stopped. `signature`: of the caller's own scan; without one, onChange is called at once. */
export function watchFolder(options: WatchOptions, signature?: string): FolderWatch {
  return new Watch(options, signature);
}

class Watch implements FolderWatch {
  readonly #options: WatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  #signature: string | undefined;
  #stopped = false;
  #unreadable = false;
  #quiet: NodeJS.Timeout | undefined;
  #firstNoticeMs: number | undefined;
  #rescan: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: WatchOptions, signature: string | undefined) {
    this.#options = options;
    this.#signature = signature;
    this.#enqueue(() => this.#check(false));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#quiet);
    clearTimeout(this.#rescan);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    await this.#running;
  }

  #enqueue(work: () => Promise<void>): void {
    this.#running = this.#after(this.#running, work);
  }

  async #after(before: Promise<void>, work: () => Promise<void>): Promise<void> {
    await before;
    if (!this.#stopped) await work();
  }

  #notice(): void {
    const nowMs = performance.now();
    this.#firstNoticeMs ??= nowMs;
    const waitMs = Math.max(0, Math.min(QUIET_MS, this.#firstNoticeMs + LATEST_MS - nowMs));
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.#firstNoticeMs = undefined;
      this.#enqueue(() => this.#check(true));
    }, waitMs);
  }

  /** Scans; `noticed`: something is known to have changed, even if no signature tells. */
  async #check(noticed: boolean): Promise<void> {
    const beganMs = performance.now();
    const changed = await this.#scan();
    const tookMs = performance.now() - beganMs;
    if (changed || noticed) await this.#options.onChange();
    clearTimeout(this.#rescan);
    if (this.#stopped) return;
    const waitMs = Math.max(RESCAN_MS, tookMs * (this.#options.rescanShare ?? RESCAN_SHARE));
    this.#rescan = setTimeout(() => this.#enqueue(() => this.#check(false)), waitMs);
  }

  async #scan(): Promise<boolean> {
    try {
      const scan = await scanFolder(this.#options.folder);
      this.#follow(scan.folders);
      if (this.#unreadable) this.#options.onUnreadable(undefined);
      const changed = this.#unreadable || scan.signature !== this.#signature;
      this.#unreadable = false;
      this.#signature = scan.signature;
      return changed;
    } catch (error) {
      if (!this.#unreadable) this.#options.onUnreadable(error);
      this.#unreadable = true;
      return false;
    }
  }

  /** One kernel watch for each folder that there is now. */
  #follow(folders: readonly string[]): void {
    for (const [folder, watcher] of this.#watchers)
      if (!folders.includes(folder)) this.#drop(folder, watcher);
    if (this.#stopped) return;
    for (const folder of folders)
      if (!this.#watchers.has(folder)) this.#add(folder);
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#notice());
      watcher.on('error', () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // no watches left, or the folder is gone again: the next scans find what happens there
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
  }
}
