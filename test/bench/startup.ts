/**
 * From the start of `mgw run` until a first call is answered, with one key and with ten thousand:
 * `npm run bench:startup`. CPU time is told too, since other programs may run on the same cores.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { median } from './figures.ts';
import { startPinned } from './pinned.ts';
import { cpuSeconds } from './proc.ts';
import { writeStartupFolder } from './startup-folders.ts';
import type { StartupFolder } from './startup-folders.ts';

const MGW = join(import.meta.dirname, '..', '..', 'bin', 'mgw.js');
const POLL_MS = 2;
const TIMEOUT_MS = 120_000;
const HELP = `npm run bench:startup -- [options]
  --rounds N     starts per folder, default 7
  --keys N       ApiKeys of the large folder, default 10000
  --cores LIST   the cores that the gateway may use, default 0,1
  --cold         without the cache of compiled modules, as at the first start after an installation
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      rounds: { type: 'string', default: '7' },
      keys: { type: 'string', default: '10000' },
      cores: { type: 'string', default: '0,1' },
      cold: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  for (const keys of [1, Number(values.keys)]) {
    const folder = mkdtempSync(join(tmpdir(), 'mgw-startup-'));
    try {
      const { cores, cold } = values;
      const setup = { folder: writeStartupFolder(folder, keys), cores, cold, log: join(folder, 'log') };
      process.stdout.write(`${keys} ${keys === 1 ? 'key' : 'keys'}\n`);
      report(await measure(setup, Number(values.rounds)));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

interface Setup {
  readonly folder: StartupFolder;
  readonly cores: string;
  readonly cold: boolean;
  /** The file that the gateway's output goes to. */
  readonly log: string;
}

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** The first start fills the compile cache and is not counted. */
async function measure(setup: Setup, rounds: number): Promise<readonly Start[]> {
  const starts: Start[] = [];
  for (let round = 0; round <= rounds; round++) starts.push(await startOnce(setup));
  return starts.slice(1);
}

function report(starts: readonly Start[]): void {
  process.stdout.write(`  until a call is answered  ${spread(starts.map(({ ms }) => ms))}\n`);
  process.stdout.write(`  CPU time until then       ${spread(starts.map(({ cpuMs }) => cpuMs))}\n`);
}

function spread(values: readonly number[]): string {
  const shown = (value: number): string => value.toFixed(0).padStart(5);
  return `min ${shown(Math.min(...values))}  median ${shown(median(values) ?? 0)}  max ${shown(Math.max(...values))} ms`;
}

async function startOnce({ folder, cores, cold, log }: Setup): Promise<Start> {
  const [port, adminPort] = [await freePort(), await freePort()];
  // the processes of a bench inherit no NODE_ variable
  const environment = cold ? ['env', 'NODE_DISABLE_COMPILE_CACHE=1'] : [];
  const startedAt = performance.now();
  const started = startPinned(
    [
      ...environment,
      process.execPath,
      MGW,
      'run',
      '--config',
      folder.config,
      '--data',
      folder.data,
      '--listen',
      `127.0.0.1:${port}`,
      '--admin',
      `127.0.0.1:${adminPort}`,
    ],
    { core: cores, outputFile: log },
  );
  try {
    while (!(await isAnswered(port, folder.key))) {
      if (performance.now() - startedAt > TIMEOUT_MS) throw new Error(`no call is answered:\n${started.output()}`);
      await delay(POLL_MS);
    }
    return { ms: performance.now() - startedAt, cpuMs: cpuSeconds(started.pid) * 1000 };
  } finally {
    await started.stop();
  }
}

function isAnswered(port: number, key: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    get({ host: '127.0.0.1', port, path: '/v1/models', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).once('error', () => resolve(false));
  });
}

await main();
