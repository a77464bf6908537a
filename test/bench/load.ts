/** Runs a load generator as a child process: wrk if it is installed, else autocannon. Both keep connections alive. */
import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CallSpec } from './cases.ts';

export interface Load {
  readonly url: string;
  readonly call: CallSpec;
  readonly keys: readonly string[];
  readonly connections: number;
  readonly seconds: number;
  /** The CPU core that the generator is pinned to. */
  readonly core: number;
  /** The folder for the files that wrk reads: the request body and the keys. */
  readonly folder: string;
}

interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Responses other than 2xx, failed connections and timeouts. */
  readonly errors: number;
}

export interface LoadGenerator {
  readonly name: 'wrk' | 'autocannon';
  run(load: Load): Promise<LoadResult>;
}

const WRK_SCRIPT = join(import.meta.dirname, 'wrk.lua');
const AUTOCANNON = join(import.meta.dirname, '..', '..', 'node_modules', '.bin', 'autocannon');
const execute = promisify(execFile);

export function findLoadGenerator(): LoadGenerator {
  try {
    execFileSync('which', ['wrk'], { stdio: 'ignore' });
    return { name: 'wrk', run: runWrk };
  } catch {
    return { name: 'autocannon', run: runAutocannon };
  }
}

async function runWrk({ url, call, keys, connections, seconds, core, folder }: Load): Promise<LoadResult> {
  const [bodyFile, keysFile] = [join(folder, 'body.json'), join(folder, 'keys.txt')];
  writeFileSync(bodyFile, call.body);
  writeFileSync(keysFile, keys.join('\n'));
  const { stdout } = await execute('taskset', [
    '-c',
    String(core),
    'wrk',
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '-s',
    WRK_SCRIPT,
    url,
    '--',
    call.path,
    bodyFile,
    keysFile,
    ...Object.entries(call.headers).flat(),
  ]);
  const line = /^RESULT (.+)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk printed no RESULT line:\n${stdout}`);
  const { requests, durationUs, p50Us, p99Us, maxUs, errors } = JSON.parse(line) as Record<string, number>;
  return figures({
    requests,
    seconds: Number(durationUs) / 1e6,
    p50Ms: Number(p50Us) / 1e3,
    p99Ms: Number(p99Us) / 1e3,
    maxMs: Number(maxUs) / 1e3,
    errors,
  });
}

/** autocannon sends the same headers with each request, so it uses only the first key. */
async function runAutocannon({ url, call, keys, connections, seconds, core }: Load): Promise<LoadResult> {
  const headers = { ...call.headers, authorization: `Bearer ${keys[0] ?? ''}` };
  const { stdout } = await execute('taskset', [
    '-c',
    String(core),
    process.execPath,
    AUTOCANNON,
    '--json',
    '--no-progress',
    '-w',
    '1',
    '-c',
    String(connections),
    '-d',
    String(seconds),
    '-m',
    'POST',
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]),
    '-b',
    call.body,
    url + call.path,
  ]);
  const result = JSON.parse(stdout) as {
    readonly duration: number;
    readonly non2xx: number;
    readonly errors: number;
    readonly timeouts: number;
    readonly requests: { readonly total: number };
    readonly latency: Record<string, number>;
  };
  const { p50, p99, max } = result.latency;
  return figures({
    requests: result.requests.total,
    seconds: result.duration,
    p50Ms: p50,
    p99Ms: p99,
    maxMs: max,
    errors: result.non2xx + result.errors,
  });
}

function figures(read: Readonly<Record<keyof LoadResult, number | undefined>>): LoadResult {
  const { requests = 0, seconds = 0, p50Ms = 0, p99Ms = 0, maxMs = 0, errors = 0 } = read;
  return { requests, seconds, p50Ms, p99Ms, maxMs, errors };
}
