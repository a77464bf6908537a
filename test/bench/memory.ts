/**
 * What a gateway holds: over many calls, where nothing may grow, and per open stream. `node test/bench/memory.ts
 * --help`. Provider and clients are processes of their own; the gateway is `mgw run` with everything on, asked for
 * its memory after a collection. The figures do not depend on the machine's speed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callOf, HELD_SUFFIX } from './cases.ts';
import type { CallSpec } from './cases.ts';
import { slopeOf } from './figures.ts';
import { startGateway } from './gateway.ts';
import type { MeasuredGateway } from './gateway.ts';
import { findLoadGenerator } from './load.ts';
import type { HeldStreams } from './held-streams.ts';
import type { MemoryReport } from './memory-report.ts';
import { startScript, urlOf } from './scripts.ts';

const HELP = `node test/bench/memory.ts [options]
  --calls N      short calls, a tenth of them streams; default 20000 (a real run: 1000000)
  --samples N    looks at the memory meanwhile, default 20
  --streams N    streams at once, default 1000; 0: none
  --rounds N     times they are opened, default 2
  --cores A,B    cores of the load and of the gateway, default 0,1`;

const CONNECTIONS = 32;
/** The first part of the calls is not counted: compilation, pools, tables that fill up to their size. */
const WARM_SHARE = 0.3;
const LONGEST_WAIT_MS = 30_000;
const MOST_IDLE_SLICES = 120;
const STEADY = 0.99;
const MOST_LOOKS = 20;

interface Scene {
  readonly gateway: MeasuredGateway;
  readonly reportFile: string;
  readonly folder: string;
  readonly loadCore: number;
}

interface Sample {
  readonly calls: number;
  readonly memory: MemoryReport;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      calls: { type: 'string', default: '20000' },
      samples: { type: 'string', default: '20' },
      streams: {
        type: 'string',
        default: '1000',
      },
      rounds: { type: 'string', default: '2' },
      cores: { type: 'string', default: '0,1' },
    },
  });
  if (values.help) return void process.stdout.write(`${HELP}\n`);
  const [loadCore = 0, core = 1] = values.cores.split(',').map(Number);
  const folder = mkdtempSync(join(tmpdir(), 'mgw-memory-'));
  const reportFile = join(folder, 'memory.json');
  process.env['MEMORY_REPORT'] = reportFile;
  const mock = startScript('mock', [], { core: loadCore, folder });
  try {
    const mockUrl = await urlOf(mock);
    mkdirSync(join(folder, 'gateway'));
    const nodeFlags = ['--expose-gc', '--import', join(import.meta.dirname, 'memory-report.ts')];
    const gateway = await startGateway({ folder: join(folder, 'gateway'), mockUrl, core, large: false, nodeFlags });
    const scene = { gateway, reportFile, folder, loadCore };
    try {
      printCalls(await overCalls(scene, Number(values.calls), Number(values.samples)));
      for (let round = 1; round <= Number(values.rounds) && Number(values.streams) > 0; round++)
        await perStream(scene, Number(values.streams), round);
    } finally {
      await gateway.process.stop();
    }
  } finally {
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function readMemory({ gateway, reportFile, folder }: Scene): Promise<MemoryReport> {
  rmSync(reportFile, { force: true });
  process.kill(gateway.process.pid, 'SIGUSR2');
  for (const endAt = performance.now() + LONGEST_WAIT_MS; !existsSync(reportFile);) {
    if (performance.now() > endAt) throw new Error('the gateway does not tell its memory');
    await delay(20);
  }
  truncateSync(join(folder, 'gateway', 'gateway.log')); // a line per call: a million are 600 MB
  return JSON.parse(readFileSync(reportFile, 'utf8')) as MemoryReport;
}

/** Waits until the garbage of ended calls is collected, so that memory no longer falls. */
async function lookAtRest(scene: Scene): Promise<MemoryReport> {
  for (let before = await readMemory(scene), times = 0; ; times++) {
    await delay(500);
    const now = await readMemory(scene);
    if (now.heapUsed > before.heapUsed * STEADY || times === MOST_LOOKS) return now;
    before = now;
  }
}

/** Load in slices of a second, until so many calls are done. */
async function overCalls(scene: Scene, calls: number, samples: number): Promise<Sample[]> {
  const {
    gateway: { url, keys },
    folder,
    loadCore,
  } = scene;
  const generator = findLoadGenerator();
  const taken: Sample[] = [{ calls: 0, memory: await readMemory(scene) }];
  process.stdout.write('    calls    resident MiB      heap  external\n');
  for (let done = 0, slice = 0, idle = 0; done < calls; slice++) {
    const call = callOf({ dialect: 'openai', provider: 'openai', shape: slice % 5 === 4 ? 'stream' : 'json' });
    const { requests, errors } = await generator.run({
      url,
      call,
      keys,
      connections: CONNECTIONS,
      seconds: 1,
      core: loadCore,
      folder,
    });
    if (errors > 0) process.stderr.write(`${errors} errors\n`);
    idle = requests === 0 ? idle + 1 : 0; // on a crowded machine a second may be too short
    if (idle > MOST_IDLE_SLICES) throw new Error('the gateway answers nothing');
    done += requests;
    if (done < (taken.length * calls) / samples) continue;
    const sample = { calls: done, memory: await readMemory(scene) };
    taken.push(sample);
    process.stdout.write(`${rowOf(sample).join('  ')}\n`);
  }
  return taken;
}

function printCalls(samples: readonly Sample[]): void {
  const last = samples.at(-1)?.calls ?? 0;
  const counted = samples.filter(({ calls }) => calls >= last * WARM_SHARE);
  const slope = (read: (memory: MemoryReport) => number): string =>
    (slopeOf(counted.map(({ calls, memory }) => [calls, read(memory)] as const)) ?? Number.NaN).toFixed(1);
  process.stdout.write(
    `bytes a call, after the first ${WARM_SHARE * 100} %: resident ${slope(({ rss }) => rss)}, heap and external ${slope(({ heapUsed, external }) => heapUsed + external)}\n`,
  );
}

async function perStream(scene: Scene, count: number, round: number): Promise<void> {
  const {
    gateway: {
      url,
      keys: [key = ''],
    },
    loadCore,
  } = scene;
  const rest = await lookAtRest(scene);
  const plain = callOf({ dialect: 'openai', provider: 'openai', shape: 'stream' });
  const call: CallSpec = { ...plain, body: plain.body.replace(/"model":"([^"]+)"/, `"model":"$1${HELD_SUFFIX}"`) };
  const streams: HeldStreams = { url, call, key, count };
  const client = spawn(
    'taskset',
    ['-c', String(loadCore), process.execPath, join(import.meta.dirname, 'held-streams.ts'), JSON.stringify(streams)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = once(client, 'exit');
  const opened = await Promise.race([once(client.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!opened) throw new Error('the streams could not be opened');
  const held = await readMemory(scene);
  client.stdin.end();
  await ended;
  const each = (read: (memory: MemoryReport) => number): string =>
    ((read(held) - read(rest)) / count / 1024).toFixed(1);
  process.stdout.write(
    `round ${round}: ${count} streams, each ${each(({ rss }) => rss)} KiB resident, ${each(({ heapUsed }) => heapUsed)} heap, ${each(({ external }) => external)} external; at rest ${mib(rest.rss)} MiB resident, ${mib(rest.heapUsed)} heap\n`,
  );
}

const WIDTHS = [9, 14, 8, 8] as const;

function rowOf({ calls, memory }: Sample): string[] {
  return [String(calls), mib(memory.rss), mib(memory.heapUsed), mib(memory.external)].map((cell, column) =>
    cell.padStart(WIDTHS[column] ?? 0),
  );
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
