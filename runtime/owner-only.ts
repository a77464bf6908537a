/** Files that only their owner may read: they record who called what. */
import { chmodSync, closeSync, openSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

/**
 * Creates a database's file if it is missing, because SQLite gives its side files the same mode, and takes the others'
 * rights from it and from all files beside it whose names begin with its own.
 */
export function keepToOwner(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY));
  const [folder, name] = [dirname(path), basename(path)];
  for (const file of readdirSync(folder).filter((entry) => entry.startsWith(name))) {
    const stats = statSync(join(folder, file), { throwIfNoEntry: false });
    if (stats?.isFile() && (stats.mode & OTHERS) !== 0) chmodSync(join(folder, file), OWNER_ONLY);
  }
}
