/** Computes an object's status as Flux does: its own kstatus library, as a small program built from its Go module. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cacheFolder, findOrBuildOne, goBuild } from './go-build.ts';

const VERSION = '1.2.3';

/** Returns the program's path, built if needed, or the reason why there is none. */
export function findKstatus(env: NodeJS.ProcessEnv): Promise<{ readonly path: string } | { readonly missing: string }> {
  const folder = cacheFolder(env, `kstatus-${VERSION}`);
  const build = async (): Promise<void> => {
    const source = await readFile(new URL('kstatus.go', import.meta.url), 'utf8');
    await goBuild(folder, {
      name: 'kstatus',
      package: '.',
      modules: [`github.com/fluxcd/cli-utils@v${VERSION}`],
      files: { 'main.go': source },
    });
  };
  return findOrBuildOne({ folder, name: 'kstatus', build });
}

/** "Current …", "InProgress …", "Failed …": one for each object. */
export async function statusesOf(path: string, objects: readonly unknown[]): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(path, (error, stdout) => (error ? reject(error) : resolve(stdout)));
  child.stdin?.end(JSON.stringify(objects));
  return (await promise).trimEnd().split('\n');
}
