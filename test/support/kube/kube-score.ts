/** Lints manifests by kube-score, which is built from its Go module. */
import { execFile } from 'node:child_process';
import { cacheFolder, findOrBuildOne, goBuild, importing } from './go-build.ts';

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
  readonly checks: readonly {
    readonly check: { readonly id: string };
    readonly grade: number;
    readonly skipped: boolean;
    readonly comments: readonly { readonly path: string; readonly summary: string }[] | null;
  }[];
}

/** Grades from here on are accepted. */
const GOOD = 7;

/** Returns the program's path, built if needed, or the reason why there is none. */
export function findKubeScore(env: NodeJS.ProcessEnv): Promise<
  | {
      readonly path: string;
    }
  | { readonly missing: string }
> {
  const folder = cacheFolder(env, `kube-score-${VERSION}`);
  const program = {
    name: 'kube-score',
    package: PACKAGE,
    modules: [`github.com/zegl/kube-score@v${VERSION}`],
    files: { 'tools.go': importing(PACKAGE) },
  };
  return findOrBuildOne({ folder, name: 'kube-score', build: () => goBuild(folder, program) });
}

/** Returns the findings of all checks, including optional ones, for manifests in YAML. */
export async function lint(path: string, manifests: string, optional: readonly string[]): Promise<Finding[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const args = [
    'score',
    '--output-format',
    'json',
    ...optional.flatMap((test) => ['--enable-optional-test', test]),
    '-',
  ];
  // it exits with 1 if there are findings
  const child = execFile(path, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
    stdout.startsWith('[') ? resolve(stdout) : reject(error ?? new Error(stderr)),
  );
  child.stdin?.end(manifests);
  const objects = JSON.parse(await promise) as Scored[];
  return objects.flatMap(({ type_meta: { kind }, object_meta: { name }, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < GOOD)
      .flatMap(({ check, comments }) =>
        (comments ?? []).map(({ path: at, summary }) => ({
          object: `${kind} ${name}`,
          check: check.id,
          message: `${at}: ${summary}`,
        })),
      ),
  );
}
