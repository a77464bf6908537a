/**
 * Watches a folder of manifests. It reacts to kernel notifications, debounced while an editor or a checkout is still
 * writing, and scans periodically for changes without one: on network drives, of swapped links, lost notifications.
 */
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { scanFolder } from '#manifests/scan-folder.ts';

interface WatchOptions {
  readonly folder: string;
  /** Called after each change; calls never overlap. It must not reject. */
  readonly onChange: () => Promise<void>;
  /** Called with an error when the folder cannot be read, and with undefined when it can be read again. */
  readonly onUnreadable: (error: unknown) => void;
  /** Scans take at most this fraction of the time: one divided by it. Default 20. */
  readonly rescanShare?: number;
}

interface FolderWatch {
  /** Calls onChange no more. Resolves when a running call has ended. */
  stop(): Promise<void>;
}

/** The debounce time of notifications. */
const QUIET_MS = 40;
/** The upper bound of the debounce time. */
const LATEST_MS = 250;
/** The pause between two scans; longer if a scan takes long. */
const RESCAN_MS = 400;
const RESCAN_SHARE = 20;

/**
 * Watches until it is stopped. `signature` is that of the caller's own scan; without it, onChange is called at once.
 */
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

  /** Scans. With `noticed`, something has changed even if the signature is the same. */
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

  /** Keeps one kernel watch for each folder that exists. */
  #follow(folders: readonly string[]): void {
    for (const [folder, watcher] of this.#watchers) if (!folders.includes(folder)) this.#drop(folder, watcher);
    if (this.#stopped) return;
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#add(folder);
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#notice());
      watcher.on('error', () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // no watches are left, or the folder is gone again: later scans find its changes
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
  }
}
