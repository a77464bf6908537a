/** The files that keep generated keys, as people are told of them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secretsFolder } from '../../operator/reconcile/minted-files.ts';

interface KeyFile {
  readonly path: string;
  readonly key: string;
}

/** All files with a generated key in them, by path. */
export function keyFiles(dataDir: string): KeyFile[] {
  const folder = secretsFolder(dataDir);
  return globSync('*/*.yaml', { cwd: folder }).sort().flatMap((name) => {
    const path = join(folder, name);
    const key = /^ *apiKey: *(\S+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
    return key === undefined ? [] : [{ path, key }];
  });
}
