/**
 * `npm run bench:profile`: where the gateway's time goes. It runs under V8's sampling profiler with load on it; the
 * main thread's samples are summed up by stage (stages.ts), the other threads by their CPU time. The profiler itself
 * costs 5–10 %.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { callOf, CASES, EVENTS_PER_STREAM } from './cases.ts';
import type { BenchCase } from './cases.ts';
import { startGateway } from './gateway.ts';
import type { MeasuredGateway } from './gateway.ts';
import { findLoadGenerator } from './load.ts';
import { threadSeconds } from './proc.ts';
import { startScript, urlOf } from './scripts.ts';
import { aggregate } from './stages.ts';
import type { Aggregated, CpuProfile, TimeWindow } from './stages.ts';
import { alignedTable } from './summary.ts';

const HELP = `npm run bench:profile -- [options]
  --case NAME     default openai-json-64; see npm run bench -- --help
  --seconds N     of load that counts, default 8
  --warm-up N     seconds of load before that, default 15
  --functions N   how many functions are listed, default 30
  --keep          keeps the .cpuprofile files, for a browser's developer tools`;

const [LOAD_CORE, CORE] = [0, 1];
const SAMPLE_MICROS = 200;

interface ProfileRun {
  readonly benchCase: BenchCase;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly functions: number;
  readonly folder: string;
}

interface LoadRun {
  readonly window: TimeWindow;
  readonly requests: number;
  /** CPU seconds of each thread within the load, by name and id. */
  readonly threads: ReadonlyMap<string, number>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      case: { type: 'string', default: 'openai-json-64' },
      seconds: { type: 'string', default: '8' },
      'warm-up': { type: 'string', default: '15' },
      functions: { type: 'string', default: '30' },
      keep: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${HELP}\n`);
  const benchCase = CASES.find(({ name }) => name === values.case);
  if (!benchCase) throw new TypeError(`no case ${values.case}; there are ${CASES.map(({ name }) => name).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'mgw-profile-'));
  try {
    await profile({
      benchCase,
      seconds: Number(values.seconds),
      warmUpSeconds: Number(values['warm-up']),
      functions: Number(values.functions),
      folder,
    });
    if (values.keep) process.stdout.write(`\nprofiles: ${globSync(join(folder, 'profiles', '*')).join(' ')}\n`);
  } finally {
    if (!values.keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function profile(run: ProfileRun): Promise<void> {
  const { folder } = run;
  const profiles = join(folder, 'profiles');
  const mock = startScript('mock', [], { core: LOAD_CORE, folder });
  let loaded: LoadRun;
  try {
    const mockUrl = await urlOf(mock);
    const nodeFlags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${SAMPLE_MICROS}`];
    const gateway = await startGateway({ folder, mockUrl, core: CORE, large: false, nodeFlags });
    try {
      loaded = await load(run, gateway);
    } finally {
      // the profiler writes its files when the process exits
      await gateway.process.stop();
    }
  } finally {
    await mock.stop();
  }
  printProfile(run, loaded, mainThread(profiles, loaded.window));
}

async function load(
  { benchCase, seconds, warmUpSeconds, folder }: ProfileRun,
  { url, keys, process: { pid } }: MeasuredGateway,
): Promise<LoadRun> {
  const generator = findLoadGenerator();
  const common = { url, call: callOf(benchCase), keys, connections: benchCase.connections, core: LOAD_CORE, folder };
  await generator.run({ ...common, seconds: warmUpSeconds });
  const before = threadSeconds(pid);
  const fromUs = monotonicMicros();
  const { requests, errors } = await generator.run({ ...common, seconds });
  const window = { fromUs, toUs: monotonicMicros() };
  if (errors > 0) process.stderr.write(`${errors} errors\n`);
  const threads = new Map(
    [...threadSeconds(pid)].map(([id, { name, seconds: used }]) => [
      `${name} ${id}`,
      used - (before.get(id)?.seconds ?? 0),
    ]),
  );
  return { window, requests, threads };
}

/** The clock of V8's profiles. */
function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Each thread has a profile; the main thread's is the one with HTTP in it. */
function mainThread(folder: string, window: TimeWindow): Aggregated {
  const profiles = globSync(join(folder, '*.cpuprofile')).map(
    (file) => JSON.parse(readFileSync(file, 'utf8')) as CpuProfile,
  );
  const main = profiles.find(({ nodes }) =>
    nodes.some(({ callFrame }) => callFrame.url.endsWith('dataplane/pipeline/pipeline.ts')),
  );
  if (!main) throw new Error(`none of ${profiles.length} profiles is the main thread's`);
  return aggregate(main, window);
}

function printProfile({ benchCase, functions }: ProfileRun, { requests, threads }: LoadRun, main: Aggregated): void {
  const per = (micros: number): string => (micros / requests).toFixed(2);
  const share = (micros: number): string => `${((micros / main.busyMicros) * 100).toFixed(1)} %`;
  const events = benchCase.shape === 'json' ? '' : `, ${requests * EVENTS_PER_STREAM} events`;
  process.stdout.write(
    [
      `${benchCase.name}: ${requests} requests${events}; main thread ${per(main.busyMicros)} µs a request, idle ` +
        `${per(main.idleMicros)} µs`,
      '',
      alignedTable([
        ['stage', '', 'µs/request', 'share'],
        ...main.stages.map(({ stage, micros }) => [stage, '', per(micros), share(micros)]),
      ]),
      '',
      alignedTable([
        ['thread', '', 'CPU µs/request'],
        ...[...threads]
          .filter(([, seconds]) => seconds > 0.01)
          .map(([name, seconds]) => [name, '', per(seconds * 1e6)]),
      ]),
      '',
      alignedTable([
        ['function', '', 'self µs/request'],
        ...main.functions.slice(0, functions).map(({ where, micros }) => [where, '', per(micros)]),
      ]),
      '',
    ].join('\n'),
  );
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof TypeError ? 64 : 1;
});
