/**
 * Starts child processes that never outlive the test. stop() ends them; if this process dies otherwise, the kernel
 * closes the standard input of a watchdog, which then ends them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const KILL_AFTER_MS = 10_000;
const LOG_TAIL_LINES = 8;

export interface Process {
  readonly name: string;
  readonly child: ChildProcess;
  readonly log: string;
}

/** Starts a program with its output in `<folder>/<name>.log`; by default it is called as it is. */
export function startProcess(
  folder: string,
  path: string,
  args: readonly string[],
  name: string = path.slice(path.lastIndexOf('/') + 1),
): Process {
  const log = join(folder, `${name}.log`);
  const output = openSync(log, 'w');
  const child = spawn(path, args, { stdio: ['ignore', output, output] });
  closeSync(output);
  child.on('error', () => undefined); // shows as an exit in `exited`
  return { name, child, log };
}

export function exited(process: Process): boolean {
  return process.child.pid === undefined || process.child.exitCode !== null || process.child.signalCode !== null;
}

/** The last lines of its log, for an error message. */
export async function logTail(process: Process): Promise<string> {
  const lines = (await readFile(process.log, 'utf8')).trimEnd().split('\n');
  return lines.slice(-LOG_TAIL_LINES).join('\n');
}

/** Terminates the process, and kills it if it does not exit in time. */
export async function stopProcess(process: Process): Promise<void> {
  if (exited(process)) return;
  const gone = once(process.child, 'exit');
  process.child.kill('SIGTERM');
  const insist = setTimeout(() => process.child.kill('SIGKILL'), KILL_AFTER_MS);
  await gone;
  clearTimeout(insist);
}

/** Kills the processes and removes the folder when this process dies. Returns a function that stops the watchdog. */
export function watchOver(processes: readonly Process[], folder: string): () => void {
  const pids = processes.flatMap((process) => (process.child.pid === undefined ? [] : [String(process.child.pid)]));
  const script = 'folder=$1; shift; cat > /dev/null; kill -9 "$@" 2> /dev/null; rm -rf "$folder"';
  const watchdog = spawn('/bin/sh', ['-c', script, 'watchdog', folder, ...pids], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.unref();
  const input = watchdog.stdin as unknown as { unref(): void };
  input.unref();
  return () => watchdog.kill('SIGKILL');
}
