/**
 * Files that change under a running process, such as those of a mounted Secret: Kubernetes writes a new folder and
 * swaps a link to it. They are looked at again and again instead of being watched: a node's processes of one user
 * share few inotify instances (128 by default), and every pod of a node may have a sidecar.
 */
import { readFile, stat } from 'node:fs/promises';

export interface PolledFilesOptions {
  readonly paths: readonly string[];
  /**
   * Told of the files' texts, in their order: at first, and whenever one of them has changed. Undefined: a file cannot
   * be read.
   */
  readonly onRead: (texts: readonly (string | undefined)[]) => void;
  readonly everyMs?: number;
}

export interface PolledFiles {
  /** Looks now; resolves when the texts have been told. */
  look(): Promise<void>;
  stop(): void;
}

const EVERY_MS = 1000;

/** Resolves once the files have been read for the first time. A timer of its own never keeps the process. */
export async function pollFiles({ paths, onRead, everyMs = EVERY_MS }: PolledFilesOptions): Promise<PolledFiles> {
  let seen: string | undefined;
  let looking: Promise<void> | undefined;

  async function read(): Promise<void> {
    const print = (await Promise.all(paths.map(printOf))).join('\n');
    if (print === seen) return;
    seen = print;
    onRead(await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => undefined))));
  }

  const look = (): Promise<void> => looking ??= read().finally(() => { looking = undefined; });
  await look();
  const timer = setInterval(() => void look(), everyMs).unref();
  return { look, stop: () => clearInterval(timer) };
}

/** What a changed file differs in: which file it is, how large, and when it was written. */
async function printOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
  }
}
