/** Processes of the bench: each pinned to a core by taskset, told apart by its pid, ended by it. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { inheritedEnvironment } from '../../test/support/cli.ts';

/** What the chart and the systemd unit start a proxy with; gateway and floor run alike. */
export const SERVER_FLAGS = ['--max-semi-space-size=64'];

export interface PinnedProcess {
  readonly pid: number;
  /** What it has written to standard output so far. */
  output(): string;
  /** SIGTERM, and resolves when it has ended. */
  stop(): Promise<void>;
}

interface PinnedOptions {
  /** One, or several as taskset takes them: "0,1". */
  readonly core: number | string;
  /** Its standard output and error. */
  readonly outputFile: string;
  readonly cwd?: string;
}

/** Longest wait for a process to say that it is ready. A gateway with a very large configuration takes its time. */
const READY_MS = 600_000;
const POLL_MS = 5;
const STOP_MS = 30_000;

/** `taskset` executes the command in its own place, so that the pid is the command's. */
export function startPinned(command: readonly string[], { core, outputFile, cwd }: PinnedOptions): PinnedProcess {
  const output = openSync(outputFile, 'w');
  const child = spawn('taskset', [
    '-c', String(core), ...command,
  ], { stdio: ['ignore', output, output], env: inheritedEnvironment(), ...(cwd ? { cwd } : {}) });
  closeSync(output);
  const { pid } = child;
  if (pid === undefined) throw new Error('taskset is not installed: it is part of util-linux');
  return { pid, output: () => readFileSync(outputFile, 'utf8'), stop: () => stop(child) };
}

/** Resolves with what `find` finds in the process's output. Rejects if the process ends before. */
export async function untilSaid<T>(started: PinnedProcess, find: (output: string) => T | undefined): Promise<T> {
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

/** Puts a process that runs already, with all of its threads, on a core. */
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
