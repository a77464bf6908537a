/**
 * Writes manifest files atomically, with their permissions kept, and only over the exact text that the caller has read.
 * File system errors become readable messages.
 */
import { access, chown, constants, link, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing } from '#runtime/missing-file.ts';
import { withPartial } from '#runtime/write-durably.ts';
import { AccessError } from '../access.ts';

const NEW_FILE_MODE = 0o644;
const REFUSED = new Set(['EACCES', 'EPERM', 'EROFS']);
const ADVICE = 'Change it where it comes from, or give this process the right to write it.';
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'this process may not write there',
  EPERM: 'this process may not write there',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** Rejects with Conflict if the file no longer contains `before`. */
export async function replaceFile(path: string, before: string, after: string): Promise<void> {
  await inWords(path, async () => {
    const target = await realpath(path); // a link stays one
    const { mode, uid, gid } = await stat(target);
    await access(target, constants.W_OK); // a folder's permissions would let a file be replaced that may not be written
    await withPartial(target, { text: after, mode: mode & 0o7777 }, async (partial) => {
      await keepOwner(partial, { uid, gid });
      await assertHolds(path, before);
      await rename(partial, target);
    });
  });
}

/** Rejects with Conflict if the file no longer contains `before`. */
export async function removeFile(path: string, before: string): Promise<void> {
  await inWords(path, async () => {
    await access(await realpath(path), constants.W_OK);
    await assertHolds(path, before);
    await unlink(path);
  });
}

/** Creates a file with the first of these names that is free. Resolves with its path. */
export async function createFile(folder: string, names: readonly string[], text: string): Promise<string> {
  return inWords(folder, async () => {
    for (const name of names) {
      const path = join(folder, name);
      const made = await withPartial(path, { text, mode: NEW_FILE_MODE }, (partial) => linkNew(partial, path));
      if (made) return path;
    }
    throw new AccessError('Conflict', `Files of all fitting names are in ${folder} already.`);
  });
}

/** Why the folder is read-only; undefined: it seems writable. */
export async function readOnlyReason(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return WORDS[codeOf(error)] ?? 'it cannot be written';
  }
}

async function assertHolds(path: string, text: string): Promise<void> {
  if ((await undefinedIfMissing(readFile(path, 'utf8'))) === text) return;
  const advice = 'Nothing was written; look at what it says now and repeat the change.';
  throw new AccessError('Conflict', `${path} was changed at the same moment. ${advice}`);
}

/** Keeps the file's owner if this process is root; otherwise the file becomes this process's own. */
async function keepOwner(path: string, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  const made = await stat(path);
  if (made.uid === uid && made.gid === gid) return;
  await chown(path, uid, gid).catch((error: unknown) => {
    if (codeOf(error) !== 'EPERM') throw error;
  });
}

/** False: such a file exists. A hard link is atomic; on file systems without links, the name is reserved first. */
async function linkNew(partial: string, path: string): Promise<boolean> {
  try {
    await link(partial, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'].includes(codeOf(error))) throw error;
  }
  try {
    await (await open(path, 'wx')).close();
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  await rename(partial, path);
  return true;
}

async function inWords<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AccessError) throw error;
    const code = codeOf(error);
    const isGone = code === 'ENOENT';
    const words = WORDS[code] ?? (isGone ? 'it is gone' : `it cannot be written (${code || 'no reason is known'})`);
    const advice = REFUSED.has(code) ? ` ${ADVICE}` : '';
    const message = `${path}: ${words}. Nothing was changed.${advice}`;
    throw new AccessError(isGone ? 'Conflict' : 'Unavailable', message, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
