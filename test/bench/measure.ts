/** A measurement: a load of some seconds on one target, and what the target's process used meanwhile. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { callOf, EVENTS_PER_STREAM } from './cases.ts';
import type { BenchCase } from './cases.ts';
import type { FirstEventLoad, FirstEvents } from './first-event.ts';
import type { LoadGenerator } from './load.ts';
import { coreBusySeconds, cpuSeconds, residentBytes } from './proc.ts';
import type { Target } from './targets.ts';

export interface Measured {
  readonly requestsPerSecond: number;
  /** Undefined: not a stream. */
  readonly eventsPerSecond: number | undefined;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** User and system time of the process, all threads, per request; undefined: its process is not known. */
  readonly cpuMicrosPerRequest: number | undefined;
  readonly cpuMicrosPerEvent: number | undefined;
  /** CPU of the ledger's store, where that is a process of its own. */
  readonly storeMicrosPerRequest?: number;
  /** Time to first event, of streams. */
  readonly firstEventP50Ms: number | undefined;
  readonly firstEventP99Ms: number | undefined;
  /** The largest resident set during the load. */
  readonly peakBytes: number | undefined;
  readonly errors: number;
  readonly requests: number;
  /**
   * How much of the target's core others had meanwhile, 0 to 1: more than a few per cent spoils throughput and latency.
   */
  readonly foreignShare: number | undefined;
}

export interface Bench {
  readonly generator: LoadGenerator;
  readonly seconds: number;
  readonly core: number;
  readonly loadCore: number;
  readonly folder: string;
}

const SAMPLE_MS = 200;
const FIRST_EVENT_SECONDS = 2;
const execute = promisify(execFile);

export async function measure(bench: Bench, benchCase: BenchCase, target: Target): Promise<Measured> {
  const { generator, seconds, core, loadCore, folder } = bench;
  const { pid, storePid } = target;
  let peakBytes = 0;
  const sample = (): void => {
    if (pid !== undefined) peakBytes = Math.max(peakBytes, residentBytes(pid));
  };
  const timer = setInterval(sample, SAMPLE_MS);
  const before = readUse(pid, core);
  const storeBefore = storePid === undefined ? 0 : cpuSeconds(storePid);
  const load = await generator
    .run({
      url: target.url,
      call: callOf(benchCase),
      keys: target.keys,
      connections: benchCase.connections,
      seconds,
      core: loadCore,
      folder,
    })
    .finally(() => clearInterval(timer));
  const after = readUse(pid, core);
  const store =
    storePid === undefined || load.requests === 0
      ? undefined
      : ((cpuSeconds(storePid) - storeBefore) * 1e6) / load.requests;
  sample();
  const first = benchCase.shape === 'json' ? undefined : await firstEvents(bench, benchCase, target);
  const cpu = pid === undefined || target.name === 'mock' ? undefined : after.cpu - before.cpu;
  const elapsed = (after.atMs - before.atMs) / 1000;
  const events = benchCase.shape === 'json' ? undefined : EVENTS_PER_STREAM;
  const cpuMicrosPerRequest = cpu === undefined || load.requests === 0 ? undefined : (cpu * 1e6) / load.requests;
  return {
    requestsPerSecond: load.requests / load.seconds,
    eventsPerSecond: events && (load.requests * events) / load.seconds,
    p50Ms: load.p50Ms,
    p99Ms: load.p99Ms,
    maxMs: load.maxMs,
    cpuMicrosPerRequest,
    cpuMicrosPerEvent:
      events === undefined || cpuMicrosPerRequest === undefined ? undefined : cpuMicrosPerRequest / events,
    ...(store !== undefined && { storeMicrosPerRequest: store }),
    firstEventP50Ms: first?.p50Ms,
    firstEventP99Ms: first?.p99Ms,
    peakBytes: pid === undefined ? undefined : peakBytes,
    errors: load.errors + (first?.errors ?? 0),
    requests: load.requests,
    foreignShare: cpu === undefined ? undefined : Math.max(0, after.busy - before.busy - cpu) / elapsed,
  };
}

interface Use {
  readonly atMs: number;
  readonly cpu: number;
  readonly busy: number;
}

function readUse(pid: number | undefined, core: number): Use {
  return { atMs: performance.now(), cpu: pid === undefined ? 0 : cpuSeconds(pid), busy: coreBusySeconds(core) };
}

async function firstEvents({ loadCore }: Bench, benchCase: BenchCase, { url, keys }: Target): Promise<FirstEvents> {
  const load: FirstEventLoad = {
    url,
    call: callOf(benchCase),
    key: keys[0] ?? '',
    connections: benchCase.connections,
    seconds: FIRST_EVENT_SECONDS,
  };
  const { stdout } = await execute('taskset', [
    '-c',
    String(loadCore),
    process.execPath,
    join(import.meta.dirname, 'first-event.ts'),
    JSON.stringify(load),
  ]);
  return JSON.parse(stdout) as FirstEvents;
}

/** Makes one call as a client does; fails early where a target does not do what is measured. */
export async function assertAnswers(benchCase: BenchCase, target: Target): Promise<void> {
  const { path, body, headers } = callOf(benchCase);
  const response = await fetch(target.url + path, {
    method: 'POST',
    body,
    headers: { ...headers, authorization: `Bearer ${target.keys[0] ?? ''}` },
  });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${target.name} answers ${benchCase.name} with ${response.status}: ${text.slice(0, 500)}`);
  if (benchCase.shape !== 'json' && !/\[DONE\]|message_stop|response\.completed/.test(text))
    throw new Error(`${target.name} does not stream ${benchCase.name}: ${text.slice(0, 500)}`);
  if (
    (target.name === 'gateway' || target.name === 'valkey') &&
    benchCase.shape === 'json' &&
    response.headers.get('x-modelgateway-cost-usd') === null
  )
    throw new Error('the gateway does not bill');
}
