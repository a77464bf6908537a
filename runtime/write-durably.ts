/**
 * Writes files atomically and durably: a file is complete or does not exist, even after a power failure. It is written
 * next to its path with a name that scans ignore, synced to disk, and then renamed.
 */
import { randomUUID } from 'node:crypto';
import { chmod, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

interface FileContent {
  readonly text: string | Uint8Array;
  /** The permissions, regardless of the process's umask. */
  readonly mode: number;
}

/** Readers of the file see either the new or the previous content. */
export async function writeDurably(path: string, content: FileContent): Promise<void> {
  await withPartial(path, content, (partial) => rename(partial, path));
}

type UsePartial<T> = (partial: string) => Promise<T>;

/** `use` renames the partial file, which is synced, within its folder. If it does not, the partial file is removed. */
export async function withPartial<T>(path: string, { text, mode }: FileContent, use: UsePartial<T>): Promise<T> {
  const folder = dirname(path);
  const partial = join(folder, `.${basename(path).slice(0, 100)}.${randomUUID()}`);
  try {
    const file = await open(partial, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await chmod(partial, mode);
    const result = await use(partial);
    await syncFolder(folder);
    return result;
  } finally {
    await rm(partial, { force: true });
  }
}

/** Syncs a folder, without which the addition or removal of a name in it is not durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
