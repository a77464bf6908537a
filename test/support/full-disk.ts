/**
 * A full disk, as one running process sees it: its limit of file sizes is lowered from outside. A write beyond the
 * limit is cut short or fails, as on a disk without room; reading goes on. This needs no root and no disk of its own.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { need } from './needs.ts';

const run = promisify(execFile);
export const prlimit = await need('prlimit');

/** From now on the process cannot write to any file beyond so many bytes. */
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
