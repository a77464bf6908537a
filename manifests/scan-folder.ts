/**
 * Lists a folder's manifests: *.yaml and *.yml at any depth, through symbolic links, except dot files and dot folders
 * (a mounted ConfigMap keeps its data in such folders and links to it).
 */
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing } from '#runtime/missing-file.ts';

interface FolderScan {
  /** Sorted by path. */
  readonly files: readonly FoundFile[];
  /** Real paths of all scanned folders. */
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
  /** When it was written, milliseconds since the epoch; absent if unknown. */
  readonly changedMs?: number;
  readonly text: string;
  /** Why the text is not what its author wrote; absent if the file is UTF-8. */
  readonly encodingFault?: EncodingFault;
}

export interface EncodingFault {
  /** Counted from 1. */
  readonly line: number;
  readonly message: string;
}

/** Contents of files, by path. */
export type ReadFiles = ReadonlyMap<string, ReadFile>;

interface ReadFile extends FileText {
  readonly signature: string;
  readonly readMs: number;
}

const MANIFEST = /\.ya?ml$/;
/**
 * A file that is written twice within this time may have the same signature both times, because file systems count time
 * in steps.
 */
const TIME_STEP_MS = 2_000;

/** Lists a folder's manifests. Rejects if the folder itself cannot be read; leaves out files that vanish meanwhile. */
export async function scanFolder(folder: string): Promise<FolderScan> {
  const found: { files: FoundFile[]; folders: string[] } = { files: [], folders: [] };
  await scanInto(found, folder);
  const files = found.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const signature = files.map((file) => `${file.path} ${file.signature}`).join('\n');
  return { files, folders: found.folders, signature };
}

/** Reads the files of a scan that have changed from `before`. Returns undefined if one has vanished meanwhile. */
export async function readFiles(files: readonly FoundFile[], before: ReadFiles): Promise<ReadFiles | undefined> {
  const read = new Map<string, ReadFile>();
  for (const file of files) {
    const last = before.get(file.path);
    const next = last && isUnchanged(last, file) ? last : await readOne(file);
    if (next === undefined) return undefined;
    read.set(file.path, next);
  }
  return read;
}

function isUnchanged(last: ReadFile, { signature }: FoundFile): boolean {
  return last.signature === signature && last.readMs - (last.changedMs ?? 0) > TIME_STEP_MS;
}

async function readOne(file: FoundFile): Promise<ReadFile | undefined> {
  const readMs = Date.now();
  const bytes = await undefinedIfMissing(readFile(file.path));
  return bytes && { ...file, readMs, text: bytes.toString('utf8'), ...encodingFaultOf(bytes) };
}

const UTF_16 = 'the file is UTF-16; save it as UTF-8';
const NOT_UTF_8 = 'this line has a character that is not UTF-8; save the file as UTF-8';

function encodingFaultOf(bytes: Buffer): Pick<FileText, 'encodingFault'> {
  if (isUtf16(bytes)) return { encodingFault: { line: 1, message: UTF_16 } };
  if (isUtf8(bytes)) return {};
  return { encodingFault: { line: lineThatIsNotUtf8(bytes), message: NOT_UTF_8 } };
}

/** Without a byte order mark, the first character of a manifest takes a byte that is 0. */
function isUtf16(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 2);
  return start === '\xff\xfe' || start === '\xfe\xff' || (bytes.length > 1 && start.includes('\0'));
}

function lineThatIsNotUtf8(bytes: Buffer): number {
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    line++;
    start = end + 1;
  }
  return line;
}

async function scanInto(found: { files: FoundFile[]; folders: string[] }, folder: string): Promise<void> {
  const real = await realpath(folder);
  if (found.folders.includes(real)) return; // a link to a parent folder
  found.folders.push(real);
  for (const name of await readdir(folder)) {
    if (name.startsWith('.')) continue;
    const path = join(folder, name);
    const stats = await undefinedIfMissing(stat(path, { bigint: true }));
    if (stats?.isDirectory()) await undefinedIfMissing(scanInto(found, path));
    else if (stats?.isFile() && MANIFEST.test(name)) {
      const { ino, size, mtimeNs, ctimeNs } = stats;
      const signature = `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
      found.files.push({ path, changedMs: Number(mtimeNs / 1_000_000n), signature });
    }
  }
}
