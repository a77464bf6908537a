/** Lints workflow files by actionlint, which is built from its Go module. */
import { execFile } from 'node:child_process';
import { cacheFolder, findOrBuildOne, goBuild, importing } from './kube/go-build.ts';

const VERSION = '1.7.12';
const PACKAGE = 'github.com/rhysd/actionlint/cmd/actionlint';

/** Returns the program's path, built if needed, or the reason why there is none. */
export function findActionlint(env: NodeJS.ProcessEnv): Promise<
  | {
      readonly path: string;
    }
  | { readonly missing: string }
> {
  const folder = cacheFolder(env, `actionlint-${VERSION}`);
  const program = {
    name: 'actionlint',
    package: PACKAGE,
    modules: [`github.com/rhysd/actionlint@v${VERSION}`],
    files: { 'tools.go': importing(PACKAGE) },
  };
  return findOrBuildOne({ folder, name: 'actionlint', build: () => goBuild(folder, program) });
}

/** Returns the findings in some files, one line each. Shell and Python scripts are not checked. */
export function lintWorkflows(path: string, files: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(path, ['-no-color', '-oneline', '-shellcheck=', '-pyflakes=', ...files], (error, stdout, stderr) => {
    // it exits with 1 if there are findings
    if (error && stdout === '') reject(new Error(stderr || error.message, { cause: error }));
    else resolve(stdout);
  });
  return promise;
}
