/**
 * Checks whether another release of Kubernetes accepts a CustomResourceDefinition: its own validation, including cost
 * limits of rules, as a small program built from its Go module. A whole API server of a second release would be slower
 * and show no more.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { cacheFolder, findOrBuildOne, goBuild } from './go-build.ts';

export const CHECKED_RELEASE = '1.37';
const MODULE_VERSION = '0.37.2';

const run = promisify(execFile);

/** Returns the program's path, built if needed, or the reason why there is none. */
export function findCrdCheck(env: NodeJS.ProcessEnv): Promise<
  | {
      readonly path: string;
    }
  | { readonly missing: string }
> {
  const folder = cacheFolder(env, `crd-check-${MODULE_VERSION}`);
  const build = async (): Promise<void> => {
    const source = await readFile(new URL('crd-check.go', import.meta.url), 'utf8');
    await goBuild(folder, {
      name: 'crd-check',
      package: '.',
      modules: [`k8s.io/apiextensions-apiserver@v${MODULE_VERSION}`],
      files: { 'main.go': source },
    });
  };
  return findOrBuildOne({ folder, name: 'crd-check', build });
}

/** Returns that release's errors in YAML files, one line each. */
export async function checkDefinitions(path: string, files: readonly string[]): Promise<string[]> {
  const { stdout } = await run(path, [...files]);
  return stdout.split('\n').filter(Boolean);
}
