/**
 * Simulates a full disk for one process: its limit of file sizes is lowered from outside. A write beyond the limit is
 * cut short or fails, as on a full disk; reads work. It needs no root and no disk of its own.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { need } from './needs.ts';

const run = promisify(execFile);
export const prlimit = await need('prlimit');

/** Stops the process from writing beyond this size in any file. */
export function fillDisk(pid: number, bytes: number): Promise<void> {
  return limitFiles(pid, String(bytes));
}

export function freeDisk(pid: number): Promise<void> {
  return limitFiles(pid, 'unlimited');
}

/** The hard limit stays, so that the limit can be raised again. */
async function limitFiles(pid: number, soft: string): Promise<void> {
  if (prlimit.skip) throw new Error(prlimit.skip);
  await run(prlimit.path, ['--pid', String(pid), `--fsize=${soft}:`]);
}
