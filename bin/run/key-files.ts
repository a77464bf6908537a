/** The files that keep generated keys, as people are told of them. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SECRETS = 'secrets';

interface KeyFile {
  readonly path: string;
  readonly key: string;
}

/** The file that keeps a Secret. */
export function keyFilePath(dataDir: string, { namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return join(dataDir, SECRETS, namespace, `${name}.yaml`);
}

/** All files with a generated key in them, by path. */
export function keyFiles(dataDir: string): KeyFile[] {
  const folder = join(dataDir, SECRETS);
  return globSync('*/*.yaml', { cwd: folder }).sort().flatMap((name) => {
    const path = join(folder, name);
    const key = /^ *apiKey: *(\S+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
    return key === undefined ? [] : [{ path, key }];
  });
}
