/** What a linter of manifests says of objects: kube-score, built from its Go module. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { buildFailure, cacheFolder, goBuild, hasGo, isExecutable, once } from './go-build.ts';

const VERSION = '1.20.0';
const PACKAGE = 'github.com/zegl/kube-score/cmd/kube-score';

export interface Finding {
  /** "Deployment model-gateway" */
  readonly object: string;
  readonly check: string;
  readonly message: string;
}

interface Scored {
  readonly type_meta: { readonly kind: string };
  readonly object_meta: { readonly name: string };
  readonly checks: readonly { readonly check: { readonly id: string }; readonly grade: number; readonly skipped: boolean; readonly comments: readonly { readonly path: string; readonly summary: string }[] | null }[];
}

/** Grades from here on are fine. */
const GOOD = 7;

/** The program's path, built if need be, or why it cannot be had. */
export async function findKubeScore(env: NodeJS.ProcessEnv): Promise<{ readonly path: string } | { readonly missing: string }> {
  const folder = cacheFolder(env, `kube-score-${VERSION}`);
  const path = join(folder, 'kube-score');
  if (await isExecutable(path)) return { path };
  if (!(await hasGo())) return { missing: 'install Go' };
  const tools = `//go:build tools\n\npackage build\n\nimport _ "${PACKAGE}"\n`;
  try {
    await once(folder, () => isExecutable(path), () => goBuild(folder, { name: 'kube-score', package: PACKAGE, modules: [`github.com/zegl/kube-score@v${VERSION}`], files: { 'tools.go': tools } }));
    return { path };
  } catch (error) {
    return { missing: `it could not be built: ${buildFailure(error)}` };
  }
}

/** Findings of all checks, optional ones included, for manifests in YAML. */
export async function lint(path: string, manifests: string, optional: readonly string[]): Promise<Finding[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const args = ['score', '--output-format', 'json', ...optional.flatMap((test) => ['--enable-optional-test', test]), '-'];
  // it ends with 1 where there are findings
  const child = execFile(path, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => stdout.startsWith('[') ? resolve(stdout) : reject(error ?? new Error(stderr)));
  child.stdin?.end(manifests);
  const objects = JSON.parse(await promise) as Scored[];
  return objects.flatMap(({ type_meta: { kind }, object_meta: { name }, checks }) => checks
    .filter(({ grade, skipped }) => !skipped && grade < GOOD)
    .flatMap(({ check, comments }) => (comments ?? []).map(({ path: at, summary }) => ({ object: `${kind} ${name}`, check: check.id, message: `${at}: ${summary}` }))));
}
