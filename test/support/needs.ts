/**
 * Programs that some suites need and npm does not bring. What is missing is installed where that is possible (Debian,
 * as root); elsewhere the suite is skipped with one line that says what to install. With CI=true a missing program is
 * an error instead, so that no suite is ever left out unnoticed.
 *
 *   const chromium = await need('chromium');
 *   describe('in a browser', { skip: chromium.skip }, () => { … chromium.path … });
 */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export type Needed = { readonly path: string; readonly skip: false } | { readonly path: ''; readonly skip: string };

interface Program {
  /** Names to search on the PATH, best first. */
  readonly commands: readonly string[];
  /** An environment variable that names the executable, for machines where it is elsewhere. */
  readonly variable: string;
  readonly debianPackage: string;
}

const PROGRAMS = {
  chromium: {
    commands: ['chromium', 'chromium-browser', 'google-chrome'],
    variable: 'MGW_TEST_CHROMIUM',
    debianPackage: 'chromium',
  },
  // Debian 12 has no Valkey; the ledger takes either
  valkey: { commands: ['valkey-server', 'redis-server'], variable: 'MGW_TEST_VALKEY', debianPackage: 'redis-server' },
  // the language of Argo CD's health scripts
  lua: { commands: ['lua5.1', 'lua'], variable: 'MGW_TEST_LUA', debianPackage: 'lua5.1' },
  openssl: { commands: ['openssl'], variable: 'MGW_TEST_OPENSSL', debianPackage: 'openssl' },
  // for backups of a ledger in a file
  sqlite3: { commands: ['sqlite3'], variable: 'MGW_TEST_SQLITE3', debianPackage: 'sqlite3' },
  // sets limits of a running process
  prlimit: { commands: ['prlimit'], variable: 'MGW_TEST_PRLIMIT', debianPackage: 'util-linux' },
  curl: { commands: ['curl'], variable: 'MGW_TEST_CURL', debianPackage: 'curl' },
} as const satisfies Record<string, Program>;

type Need = keyof typeof PROGRAMS;

const APT_TIMEOUT_MS = 15 * 60_000;
const run = promisify(execFile);
const found = new Map<Need, Promise<Needed>>();

/** Returns the program's path; searched for, and installed, at most once per process. */
export function need(name: Need): Promise<Needed> {
  const known = found.get(name) ?? provide(name, PROGRAMS[name]);
  found.set(name, known);
  return known;
}

async function provide(name: Need, program: Program): Promise<Needed> {
  const present = await locate(program);
  if (present !== undefined) return { path: present, skip: false };
  const failure = await install(program);
  const installed = failure === undefined ? await locate(program) : undefined;
  if (installed !== undefined) return { path: installed, skip: false };
  const missing = `no ${name}: install the package ${program.debianPackage}, or set ${program.variable}${
    failure ? ` (${failure})` : ''
  }`;
  if (process.env['CI'] === 'true') throw new Error(missing);
  return { path: '', skip: missing };
}

async function locate(program: Program): Promise<string | undefined> {
  const named = process.env[program.variable];
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = named
    ? [named]
    : program.commands.flatMap((command) => folders.map((folder) => join(folder, command)));
  for (const path of candidates) if (await isExecutable(path)) return path;
  return undefined;
}

/** Whether an executable file exists at this path. */
export function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Installs the package under a lock, since test files run concurrently; returns the reason of a failure. */
async function install({ debianPackage }: Program): Promise<string | undefined> {
  return installPackages([debianPackage]);
}

/** Does the same for packages by their names. */
export async function installPackages(names: readonly string[]): Promise<string | undefined> {
  const packages = names.join(' ');
  if (process.getuid?.() !== 0) return 'not root, so it was not installed';
  if (!(await isExecutable('/usr/bin/apt-get'))) return 'no apt-get, so it was not installed';
  const script =
    `dpkg -s ${packages} >/dev/null 2>&1 || { apt-get update && apt-get install -y ` +
    `--no-install-recommends ${packages}; }`;
  try {
    await run('flock', [join(tmpdir(), 'model-gateway-apt.lock'), 'sh', '-c', script], {
      timeout: APT_TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
    return undefined;
  } catch (error) {
    return `installing failed: ${error instanceof Error ? (error.message.split('\n').at(-2) ?? error.message) : String(error)}`;
  }
}
