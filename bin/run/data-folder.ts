/**
 * The data folder with the ledger and the generated keys, which only its owner can read. A newly created folder gets a
 * .gitignore, because it may lie in a repository of manifests and must never be committed.
 */
import { chmodSync, globSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { secretsFolder } from '../../operator/reconcile/minted-files.ts';
import { CommandFailed } from '../exit-codes.ts';

/** The folder for data without --data: next to the folder of manifests, whatever the working directory is. */
export function defaultDataFolder(configDir: string): string {
  return `${resolve(configDir)}.mgw-data`;
}

/** Throws CommandFailed if a folder that a flag names does not exist. */
export function assertFolder(flag: string, folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) throw new CommandFailed(`${flag} ${folder}: no such folder`);
  if (!stats.isDirectory()) throw new CommandFailed(`${flag} ${folder}: not a folder`);
}

/** What is in the folder beside databases, which see to their own files. */
const PRIVATE = ['gateway-key', 'secrets', 'secrets/**', 'console', 'console/**'];
const OTHERS = 0o077;

/** Creates the folder if it is missing. From files that were there, such as a restored copy, it takes others' rights. */
export function prepareDataFolder(folder: string): void {
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (made === undefined) {
    for (const name of globSync(PRIVATE, { cwd: folder })) keepPrivate(join(folder, name));
    return;
  }
  writeFileSync(join(folder, '.gitignore'), '# the ledger and keys: do not commit\n*\n', { flag: 'a' });
}

/** A link's target, and what another user owns, are somebody else's to protect. */
function keepPrivate(path: string): void {
  const stats = lstatSync(path);
  const isOwn = stats.uid === process.getuid?.() && (stats.isFile() || stats.isDirectory());
  if (isOwn && (stats.mode & OTHERS) !== 0) chmodSync(path, stats.mode & ~OTHERS);
}

/** A path relative to the working directory, if that is shorter. */
export function shortPath(path: string): string {
  const short = relative(process.cwd(), resolve(path));
  return short === '' || short.startsWith('..') ? path : short;
}

export interface KeyFile {
  readonly path: string;
  readonly key: string;
}

/** All files that contain a generated key, by path. */
export function keyFiles(dataDir: string): KeyFile[] {
  const folder = secretsFolder(dataDir);
  return globSync('*/*.yaml', { cwd: folder })
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      const key = /^ *apiKey: *(\S+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
      return key === undefined ? [] : [{ path, key }];
    });
}
