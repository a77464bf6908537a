/**
 * What is in a folder of manifests: *.yaml and *.yml at any depth, through symbolic links, except what begins with a dot (a
 * mounted ConfigMap keeps its data in such folders and links to it).
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessGone } from './unless-gone.ts';

interface FolderScan {
  /** Sorted by path. */
  readonly files: readonly FoundFile[];
  /** Real paths of all folders that were looked into. */
  readonly folders: readonly string[];
  /** Changes whenever a file is added, removed, replaced or written. */
  readonly signature: string;
}

interface FoundFile {
  readonly path: string;
  /** When it was written, milliseconds since the epoch. */
  readonly changedMs: number;
  readonly signature: string;
}

export interface FileText {
  readonly path: string;
  /** When it was written, milliseconds since the epoch; absent: nobody knows. */
  readonly changedMs?: number;
  readonly text: string;
}

const MANIFEST = /\.ya?ml$/;

/** Lists a folder's manifests. Rejects where the folder itself cannot be read; what vanishes meanwhile is left out. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const found: { files: FoundFile[]; folders: string[] } = { files: [], folders: [] };
  await scanInto(found, folder);
  const files = found.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, folders: found.folders, signature: files.map(({ path, signature }) => `${path} ${signature}`).join('\n') };
}

/** Reads the files of a scan; undefined where one has vanished since, so that the scan is stale. */
export async function readFiles(files: readonly FoundFile[]): Promise<FileText[] | undefined> {
  const texts: FileText[] = [];
  for (const { path, changedMs } of files) {
    const text = await unlessGone(readFile(path, 'utf8'));
    if (text === undefined) return undefined;
    texts.push({ path, text, changedMs });
  }
  return texts;
}

async function scanInto(found: { files: FoundFile[]; folders: string[] }, folder: string): Promise<void> {
  const real = await realpath(folder);
  if (found.folders.includes(real)) return; // a link to a folder around it
  found.folders.push(real);
  for (const name of await readdir(folder)) {
    if (name.startsWith('.')) continue;
    const path = join(folder, name);
    const stats = await unlessGone(stat(path, { bigint: true }));
    if (stats?.isDirectory()) await unlessGone(scanInto(found, path));
    else if (stats?.isFile() && MANIFEST.test(name)) found.files.push({ path, changedMs: Number(stats.mtimeNs / 1_000_000n), signature: `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}` });
  }
}
