/** Processes of the benchmark, each pinned to a core by taskset, and stopped by its pid. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { inheritedEnvironment } from '../support/cli.ts';

export interface PinnedProcess {
  readonly pid: number;
  /** Its output so far. */
  output(): string;
  /** Sends SIGTERM, and resolves when the process has exited. */
  stop(): Promise<void>;
}

interface PinnedOptions {
  /** One core, or several in taskset's format: "0,1". */
  readonly core: number | string;
  /** Its standard output and error. */
  readonly outputFile: string;
  readonly cwd?: string;
}

/** The longest start of a process: a gateway with a very large configuration takes minutes. */
const READY_MS = 600_000;
const POLL_MS = 5;
const STOP_MS = 30_000;

/** `taskset` replaces itself by the command, so that the pid is the command's. */
export function startPinned(command: readonly string[], { core, outputFile, cwd }: PinnedOptions): PinnedProcess {
  const output = openSync(outputFile, 'w');
  const child = spawn('taskset', ['-c', String(core), ...command], {
    stdio: ['ignore', output, output],
    env: inheritedEnvironment(),
    ...(cwd ? { cwd } : {}),
  });
  closeSync(output);
  const { pid } = child;
  if (pid === undefined) throw new Error('taskset is not installed: it is part of util-linux');
  return { pid, output: () => readFileSync(outputFile, 'utf8'), stop: () => stop(child) };
}

/** Resolves with the first result of `find` on the process's output. Rejects if the process exits before. */
export async function untilOutput<T>(started: PinnedProcess, find: (output: string) => T | undefined): Promise<T> {
  const endAt = performance.now() + READY_MS;
  while (performance.now() < endAt) {
    const found = find(started.output());
    if (found !== undefined) return found;
    if (!isRunning(started.pid))
      throw new Error(`a process ended before it was ready:\n${started.output().slice(-4000)}`);
    await delay(POLL_MS);
  }
  throw new Error(`a process did not become ready:\n${started.output().slice(-4000)}`);
}

/** Pins a running process, with all of its threads, to a core. */
export function pinRunning(pid: number, core: number): void {
  execFileSync('taskset', ['-a', '-p', '-c', String(core), String(pid)], { stdio: 'ignore' });
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(killer);
}
