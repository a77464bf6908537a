/**
 * Installs the pinned clients into a cache, once per set of pins: two Python environments, because aider pins packages
 * that the others need in newer versions, and one folder of npm packages.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type Installed =
  | {
      readonly skip: false;
      /** The interpreters of the two environments. */
      readonly python: string;
      readonly aider: string;
      /** The folder with node_modules. */
      readonly npm: string;
    }
  | { readonly skip: string };

const PINS = ['requirements.txt', 'requirements-aider.txt', 'packages.json'] as const;
const INSTALL_TIMEOUT_MS = 20 * 60_000;
const run = promisify(execFile);

/** Rejects only with CI=true, where a client must not be left out unnoticed. */
export async function installClients(): Promise<Installed> {
  const digest = createHash('sha256');
  for (const file of PINS) digest.update(readFileSync(join(import.meta.dirname, file)));
  const folder = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'model-gateway',
    `clients-${digest.digest('hex').slice(0, 12)}`,
  );
  try {
    if (!existsSync(join(folder, 'complete'))) await install(folder);
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    return { skip: `the clients cannot be installed: ${firstLine(error)}` };
  }
  return {
    skip: false,
    python: pythonIn(folder, 'python'),
    aider: pythonIn(folder, 'aider'),
    npm: join(folder, 'npm'),
  };
}

function pythonIn(folder: string, environment: string): string {
  return join(folder, environment, 'bin', 'python');
}

async function install(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'npm'), { recursive: true });
  await installPython(folder, 'python', 'requirements.txt');
  await installPython(folder, 'aider', 'requirements-aider.txt');
  await copyFile(join(import.meta.dirname, 'packages.json'), join(folder, 'npm', 'package.json'));
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: join(folder, 'npm'),
    timeout: INSTALL_TIMEOUT_MS,
  });
  await writeFile(join(folder, 'complete'), '');
}

async function installPython(folder: string, environment: string, requirements: string): Promise<void> {
  await run('python3', ['-m', 'venv', join(folder, environment)], { timeout: INSTALL_TIMEOUT_MS });
  await run(
    pythonIn(folder, environment),
    ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', join(import.meta.dirname, requirements)],
    { timeout: INSTALL_TIMEOUT_MS, maxBuffer: 64 * 2 ** 20 },
  );
}

function firstLine(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'python3 or npm is missing';
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  const [line = ''] = (stderr === '' ? String(error) : stderr).split('\n', 1);
  return line.slice(0, 200);
}
