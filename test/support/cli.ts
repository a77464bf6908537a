/** The command line as users run it: a process with its output and exit code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const MGW = join(import.meta.dirname, '..', '..', 'bin', 'mgw.js');

interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that is killed at the end of its block, if it has not exited by then: `await using cli = startMgw(…)`. */
export interface RunningCli extends AsyncDisposable {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the match once the output (both streams) has it; rejects if the process exits before. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly finished: Promise<Finished>;
}

interface CliOptions {
  /**
   * MGW_ variables; the test's own are not passed on. Without a variable for it, `mgw run` has no console, whose
   * default port may be in use by another test.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
}

/** This process's variables, without those for the gateway or Node. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('MGW_') && !name.startsWith('NODE_')),
  );
}

/** Starts `mgw` with these arguments. */
export function startMgw(args: readonly string[], { env = {}, cwd, nodeFlags = [] }: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [...nodeFlags, MGW, ...args], {
    env: {
      ...inheritedEnvironment(),
      NO_COLOR: '1',
      ...(args[0] === 'run' ? { MGW_CONSOLE: 'off' } : {}),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd ? { cwd } : {}),
  });
  const output = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const check of waiting) check();
    });
  }
  const finished = once(child, 'close').then(([exitCode]): Finished => ({
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    ...output,
  }));
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(output.stdout) ?? pattern.exec(output.stderr);
          if (!match) return;
          waiting.delete(check);
          resolve(match);
        };
        waiting.add(check);
        check();
        finished.then(
          ({ exitCode, stdout, stderr }) =>
            reject(new Error(`ended with ${exitCode} before ${pattern}:\n${stdout}\n${stderr}`)),
          reject,
        );
      }),
    kill: (signal) => {
      child.kill(signal);
    },
    finished,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await finished;
    },
  };
}

/** Runs `mgw` until it exits. */
export function mgw(args: readonly string[], options: CliOptions = {}): Promise<Finished> {
  return startMgw(args, options).finished;
}

export interface TempFolder extends AsyncDisposable {
  readonly path: string;
  write(file: string, text: string): Promise<string>;
}

/** A folder that is removed at the end of its block: `await using folder = await tempFolder({ 'a.yaml': '…' })`. */
export async function tempFolder(files: Readonly<Record<string, string>> = {}): Promise<TempFolder> {
  const path = await mkdtemp(join(tmpdir(), 'mgw-cli-'));
  const write = async (file: string, text: string): Promise<string> => {
    const full = join(path, file);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, text);
    return full;
  };
  for (const [file, text] of Object.entries(files)) await write(file, text);
  return { path, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
