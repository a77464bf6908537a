/**
 * Atomic, durable writes: a file is whole or not there at all, also after a loss of power. It is written beside its
 * place with a name that no scan sees, on disk before it counts, and then renamed.
 */
import { randomUUID } from 'node:crypto';
import { chmod, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

interface FileContent {
  readonly text: string | Uint8Array;
  /** The permissions, whatever the process's mask is. */
  readonly mode: number;
}

/** Whoever reads the file sees all of it or what was there before. */
export async function writeDurably(path: string, content: FileContent): Promise<void> {
  await withPartial(path, content, (partial) => rename(partial, path));
}

type UsePartial<T> = (partial: string) => Promise<T>;

/** `use` renames the partial file, which is on disk, within its folder. If it does not, nothing is left of it. */
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

/** A new name in a folder, or one that has gone, is durable only once the folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
