/**
 * Whether another release of Kubernetes would take a CustomResourceDefinition: its own validation, cost limits of rules
 * included, as a small program built from its Go module. A whole API server of a second release would be dearer and say
 * no more.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { cacheFolder, findOrBuildOne, goBuild } from './go-build.ts';

export const CHECKED_RELEASE = '1.37';
const MODULE_VERSION = '0.37.2';

const run = promisify(execFile);

/** The program's path, built if need be, or why it cannot be had. */
export function findCrdCheck(env: NodeJS.ProcessEnv): Promise<{
  readonly path: string;
} | { readonly missing: string }> {
  const folder = cacheFolder(env, `crd-check-${MODULE_VERSION}`);
  const build = async (): Promise<void> => {
    const source = await readFile(new URL('crd-check.go', import.meta.url), 'utf8');
    await goBuild(folder, { name: 'crd-check', package:
      '.', modules: [`k8s.io/apiextensions-apiserver@v${MODULE_VERSION}`], files: { 'main.go': source } });
  };
  return findOrBuildOne({ folder, name: 'crd-check', build });
}

/** What that release finds wrong with the definitions in some YAML files, one line for each mistake. */
export async function checkDefinitions(path: string, files: readonly string[]): Promise<string[]> {
  const { stdout } = await run(path, [...files]);
  return stdout.split('\n').filter(Boolean);
}
