/** Runs a client as a process. */
import { spawn } from 'node:child_process';
import type { Command } from './clients.ts';

const RUN_TIMEOUT_MS = 300_000;

/** With an empty home and none of this machine's settings. */
export function runCommand({ file, args, env, cwd }: Command): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd,
      timeout: RUN_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: cwd, LANG: 'C.UTF-8', NO_COLOR: '1', ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    child.on('error', reject).on('close', (code) => resolve({ code, output }));
  });
}
