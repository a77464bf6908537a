/**
 * From the start of `mgw run` until /readyz answers 200, on one core or several, with ten thousand keys: `npm run bench:startup`. A second
 * process does the same steps one by one, out of the modules themselves, and says what each takes of the core; the whole is told in time and in CPU time,
 * since others may be on the core too. `MGW_JOINED=off` has the whole run out of the modules as well.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { median } from './figures.ts';
import { ownFlags } from './gateway.ts';
import { startPinned } from './pinned.ts';
import { cpuSeconds } from './proc.ts';
import { STARTUP_CASES, writeStartupFolder } from './startup-folders.ts';
import type { StartupCase, StartupFolder } from './startup-folders.ts';
import type { Stage } from './startup-stages.ts';

const MGW = join(import.meta.dirname, '..', '..', 'bin', 'mgw.js');
const STAGES = join(import.meta.dirname, 'startup-stages.ts');
const POLL_MS = 2;
const LONGEST_MS = 120_000;
const HELP = `npm run bench:startup -- [options]
  --rounds N     starts per case, default 7
  --keys N       ApiKeys, default 10000
  --only CASE    ${STARTUP_CASES.join(', ')} (one key); may be repeated
  --core N       the core that the gateway is pinned to, default 1; or several: 0,1
  --cold         without the cache of compiled modules, as at the first start after an installation`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: {
    help: { type: 'boolean' }, rounds: { type: 'string', default: '7' }, keys: { type: 'string', default: '10000' }, core: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true }, cold: { type: 'boolean', default: false },
  } });
  if (values.help) return void process.stdout.write(`${HELP}\n`);
  if (values.cold) process.env['NODE_DISABLE_COMPILE_CACHE'] = '1';
  const { core } = values;
  for (const startupCase of STARTUP_CASES.filter((name) => values.only?.includes(name) ?? true)) {
    const folder = mkdtempSync(join(tmpdir(), 'mgw-startup-'));
    try {
      await measure(startupCase, { folder: writeStartupFolder(folder, startupCase, Number(values.keys)), rounds: Number(values.rounds), core, log: join(folder, 'log') });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

interface Setup {
  readonly folder: StartupFolder;
  readonly rounds: number;
  readonly core: string;
  readonly log: string;
}

/** Whole starts and stages by turns, so that both see the same machine. The first round warms the files and is not counted. */
async function measure(startupCase: StartupCase, setup: Setup): Promise<void> {
  const wholes: Whole[] = [];
  const stages: Stage[][] = [];
  for (let round = 0; round <= setup.rounds; round++) {
    const whole = await startOnce(setup);
    const parts = stagesOnce(setup);
    if (round === 0) continue;
    wholes.push(whole);
    stages.push(parts);
  }
  process.stdout.write(`${startupCase}: start to ready ${spread(wholes.map(({ ms }) => ms))}\n`);
  process.stdout.write(`  ${'CPU of all of it'.padEnd(30)} ${spread(wholes.map(({ cpuMs }) => cpuMs))}\n`);
  for (const [index, { name }] of (stages[0] ?? []).entries()) {
    process.stdout.write(`  ${name.padEnd(30)} ${spread(stages.map((parts) => parts[index]?.cpuMs ?? 0))}\n`);
  }
}

function spread(values: readonly number[]): string {
  const shown = [Math.min(...values), median(values) ?? 0, Math.max(...values)].map((value) => value.toFixed(0).padStart(5));
  return `min ${shown[0]}  median ${shown[1]}  max ${shown[2]} ms`;
}

interface Whole {
  readonly ms: number;
  readonly cpuMs: number;
}

async function startOnce({ folder, core, log }: Setup): Promise<Whole> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const startedAt = performance.now();
  const command = [process.execPath, ...ownFlags(), MGW, 'run', '--config', folder.config, '--data', folder.data, '--listen', `127.0.0.1:${port}`, '--admin', `127.0.0.1:${adminPort}`];
  const started = startPinned(passEnvironment(command), { core, outputFile: log });
  try {
    while (!await isReady(adminPort)) {
      if (performance.now() - startedAt > LONGEST_MS) throw new Error(`it does not become ready:\n${started.output()}`);
      await delay(POLL_MS);
    }
    return { ms: performance.now() - startedAt, cpuMs: cpuSeconds(started.pid) * 1000 };
  } finally {
    await started.stop();
  }
}

/** Processes of the bench get no NODE_ variables of this one; this one is meant. */
function passEnvironment(command: readonly string[]): string[] {
  return process.env['NODE_DISABLE_COMPILE_CACHE'] ? ['env', 'NODE_DISABLE_COMPILE_CACHE=1', ...command] : [...command];
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).once('error', () => resolve(false));
  });
}

function stagesOnce({ folder, core }: Setup): Stage[] {
  const output = execFileSync('taskset', ['-c', core, process.execPath, ...ownFlags(), STAGES, folder.config, folder.data], { encoding: 'utf8' });
  return JSON.parse(output) as Stage[];
}

await main();
