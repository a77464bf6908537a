/**
 * Polls files that change while the process runs, such as those of a mounted Secret, where Kubernetes writes a new
 * folder and swaps a link to it. They are not watched, because all processes of one user on a node share 128 inotify
 * instances (the default), and every pod on the node may have a sidecar.
 */
import { readFile, stat } from 'node:fs/promises';

export interface PolledFilesOptions {
  readonly paths: readonly string[];
  /**
   * Called with the files' texts at first, and whenever one of them has changed. Undefined: the file cannot be read.
   */
  readonly onRead: (texts: readonly (string | undefined)[]) => void;
  readonly everyMs?: number;
}

export interface PolledFiles {
  /** Polls now. Resolves after onRead has been called, if anything has changed. */
  poll(): Promise<void>;
  stop(): void;
}

const EVERY_MS = 1000;

/** Resolves once the files have been read for the first time. The timer does not keep the process alive. */
export async function pollFiles({ paths, onRead, everyMs = EVERY_MS }: PolledFilesOptions): Promise<PolledFiles> {
  let seen: string | undefined;
  let polling: Promise<void> | undefined;

  async function read(): Promise<void> {
    const fingerprint = (await Promise.all(paths.map(fingerprintOf))).join('\n');
    if (fingerprint === seen) return;
    seen = fingerprint;
    onRead(await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => undefined))));
  }

  const poll = (): Promise<void> =>
    (polling ??= read().finally(() => {
      polling = undefined;
    }));
  await poll();
  const timer = setInterval(() => void poll(), everyMs).unref();
  return { poll, stop: () => clearInterval(timer) };
}

/** A fingerprint that differs once the file has changed: its inode, size and times. */
async function fingerprintOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
  }
}
