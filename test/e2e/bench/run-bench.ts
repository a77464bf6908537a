/** Runs a script of test/bench as a person does, with figures so small that it takes seconds. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

interface Bench {
  /** The words after `node`. */
  readonly command: string;
  /** Each stands in the output. */
  readonly figures: readonly RegExp[];
}

/** Asserts that the script exits with 0 and prints its figures. */
export async function assertRuns({ command, figures }: Bench): Promise<void> {
  const { code, output } = await run(command.split(' '));
  assert.equal(code, 0, output);
  for (const figure of figures) assert.match(output, figure);
}

function run(args: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: ROOT }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr });
    });
    // a test that times out leaves no bench behind
    onTestFinished(() => void child.kill());
  });
}
