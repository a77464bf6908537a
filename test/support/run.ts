/**
 * What `npm test` runs: types, lint, then every suite. A suite is a folder under test/, or a test file directly in it;
 * `npm test -- crds operator` runs these only, `npm test -- dataplane/ledger` a part of one. What wants the machine for
 * itself comes first, by itself. The last lines are the summary of Node's own test runner; the exit code is 0 only
 * where nothing failed.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const BIN = join(ROOT, 'node_modules', '.bin');
/** Above the slowest preparation there is: a Kubernetes API server built from source, once per machine. */
const TEST_TIMEOUT_MS = 30 * 60_000;
const EXIT_USAGE = 64;
/**
 * Suites whose processes want the machine for themselves: a cluster's time limits are not made for a busy one. They run
 * first.
 */
const ALONE = ['node'];

/** All test files below test/, by path relative to it, sorted. */
function testFiles(): string[] {
  return globSync('**/*.test.ts', { cwd: join(ROOT, 'test') }).sort();
}

/** The names that may be given as arguments. */
function suitesOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => file.split('/')[0]?.replace(/\.test\.ts$/, '') ?? ''))];
}

/** The files of one suite, or of a part of it. */
function filesOf(suite: string, files: readonly string[]): string[] {
  const path = suite.replace(/^(?:\.\/)?test\//, '').replace(/\/+$/, '');
  return files.filter((file) => file === path || file === `${path}.test.ts` || file.startsWith(`${path}/`));
}

/** Runs a program with this terminal; resolves with its exit code, 1 where a signal ended it. */
function run(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit' });
    const pass = (signal: NodeJS.Signals): void => { child.kill(signal); };
    process.on('SIGTERM', pass);
    process.on('SIGINT', pass);
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGTERM', pass);
      process.off('SIGINT', pass);
      resolve(code ?? 1);
    });
  });
}

async function main(wanted: readonly string[]): Promise<number> {
  const all = testFiles();
  const unknown = wanted.filter((suite) => filesOf(suite, all).length === 0);
  if (unknown.length > 0) {
    console.error(`no such suite: ${unknown.join(', ')}. There are: ${suitesOf(all).join(', ')}`);
    return EXIT_USAGE;
  }
  for (const [name, args] of [['tsc', ['--noEmit']], ['oxlint', ['--deny-warnings']]] as const) {
    const code = await run(join(BIN, name), args);
    if (code !== 0) {
      console.error(`${name} ${args.join(' ')} failed: no suite was run`);
      return code;
    }
  }
  const files = wanted.length === 0 ? all : [...new Set(wanted.flatMap((suite) => filesOf(suite, all)))];
  const alone = ALONE.flatMap((suite) => filesOf(suite, files));
  const others = files.filter((file) => !alone.includes(file));
  const codes =
    [alone.length === 0 ? 0 : await runTests(alone, 1), others.length === 0 ? 0 : await runTests(others, 2)];
  return codes.find((code) => code !== 0) ?? 0;
}

function runTests(files: readonly string[], atATime: number): Promise<number> {
  return run(process.execPath, [
    '--test', '--test-reporter=spec', `--test-concurrency=${atATime}`, `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...files.map((file) => join('test', file)),
  ]);
}

process.exitCode = await main(process.argv.slice(2));
