/** Programs built from their Go modules into a cache folder, once for each machine and version. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isExecutable } from '../needs.ts';

const LOCK_POLL_MS = 1_000;
const run = promisify(execFile);

export interface GoProgram {
  /** The binary's name. */
  readonly name: string;
  /** The package to build, or "." for the files given below. */
  readonly package: string;
  /** `go get` arguments: modules with their versions. */
  readonly modules: readonly string[];
  /** The build's go.mod without its module line. */
  readonly goMod?: string;
  readonly ldflags?: string;
  /** Go files beside the go.mod, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** The folder of the programs, or the reason why there is none. */
export type Binaries = { readonly folder: string } | { readonly missing: string };

export interface Programs {
  readonly folder: string;
  readonly names: readonly string[];
  readonly build: () => Promise<void>;
  /** What to do on a machine without Go. */
  readonly withoutGo: string;
}

/** Finds programs in the cache folder, and builds missing ones. */
export async function findOrBuild({ folder, names, build, withoutGo }: Programs): Promise<Binaries> {
  const areThere = (): Promise<boolean> => holdsAll(folder, names);
  if (await areThere()) return { folder };
  if (!(await hasGo())) return { missing: withoutGo };
  try {
    await once(folder, areThere, build);
    return { folder };
  } catch (error) {
    return { missing: `it could not be built: ${buildFailure(error)}` };
  }
}

/** The same for a single program. */
export async function findOrBuildOne({
  folder,
  name,
  build,
}: {
  readonly folder: string;
  readonly name: string;
  readonly build: () => Promise<void>;
}): Promise<{ readonly path: string } | { readonly missing: string }> {
  const found = await findOrBuild({ folder, names: [name], build, withoutGo: 'install Go' });
  return 'folder' in found ? { path: join(found.folder, name) } : found;
}

export async function holdsAll(folder: string, names: readonly string[]): Promise<boolean> {
  const found = await Promise.all(names.map((name) => isExecutable(join(folder, name))));
  return found.every(Boolean);
}

/** `$XDG_CACHE_HOME/model-gateway/<name>`. */
export function cacheFolder(env: NodeJS.ProcessEnv, name: string): string {
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'model-gateway', name);
}

export async function hasGo(): Promise<boolean> {
  return run('go', ['version']).then(
    () => true,
    () => false,
  );
}

/** The folder of a module that `go mod download` has downloaded. */
export async function moduleFolder(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module]);
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/** Runs `build` under a lock file with this process's id, so that concurrent test files do not run it twice. */
export async function once(folder: string, isDone: () => Promise<boolean>, build: () => Promise<void>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lock = join(folder, '.lock');
  while (!(await isDone())) {
    if (!(await takeLock(lock))) {
      await delay(LOCK_POLL_MS);
      continue;
    }
    try {
      await build();
    } finally {
      await rm(lock, { force: true });
    }
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(lock, 'utf8').catch(() => '0'));
  if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true });
  return false;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A file that keeps a program required in the build's go.mod. */
export function importing(path: string): string {
  return `//go:build tools\n\npackage build\n\nimport _ "${path}"\n`;
}

/** The last line of a failed build's output. */
export function buildFailure(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trimEnd().split('\n').at(-1) ?? '';
}

/** Builds a program into the folder, unless it exists. */
export async function goBuild(folder: string, program: GoProgram): Promise<void> {
  if (await isExecutable(join(folder, program.name))) return;
  const cwd = join(folder, `.src-${program.name}`);
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'go.mod'), `module build.local\n\ngo 1.26.0\n\n${program.goMod ?? ''}`);
  for (const [name, text] of Object.entries(program.files)) await writeFile(join(cwd, name), text);
  const options = { cwd, env: { ...process.env, CGO_ENABLED: '0' }, maxBuffer: 64 * 1024 * 1024 };
  await run('go', ['get', ...program.modules], options);
  await run('go', ['mod', 'tidy'], options);
  await run(
    'go',
    ['build', '-ldflags', `-s -w ${program.ldflags ?? ''}`, '-o', `${program.name}.new`, program.package],
    options,
  );
  await rename(join(cwd, `${program.name}.new`), join(folder, program.name));
}
