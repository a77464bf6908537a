/**
 * Gateways and the bare proxy under load at the same time, on one core: `npm run bench:together -- [--tree FOLDER]
 * [--large] [--valkey]`. What disturbs one of them disturbs all of them in the same moment, so that the ratios of their
 * CPU time per call, each taken within a round, are reproducible within two per cent; measured in turn they differ by
 * fifteen. There are two processes of each kind: a difference that is not larger than that between these two means
 * nothing. The processes evict each other's caches, so that a call costs more here than alone; latencies mean nothing.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startValkey } from '../support/valkey.ts';
import type { ValkeyServer } from '../support/valkey.ts';
import { callOf, CASES } from './cases.ts';
import type { BenchCase } from './cases.ts';
import { median, medianRatio } from './figures.ts';
import { startGateway } from './gateway.ts';
import { findLoadGenerator } from './load.ts';
import { wholeNumber } from './options.ts';
import { pinRunning } from './pinned.ts';
import { cpuSeconds, threadSeconds } from './proc.ts';
import { ANY_KEY, startScript, urlOf } from './scripts.ts';

const HELP = `npm run bench:together -- [options]
  --tree FOLDER    another tree of sources, installed, to compare this one with
  --large          gateways with 100,000 keys and 1,000 models, too
  --valkey         gateways whose ledger is on Valkey, too (its servers are on the core of the load)
  --case NAME      default openai-json-64
  --rounds N       default 12
  --seconds N      of load per round, default 4
  --warm-up N      seconds of load before the first round, default 60: code is fully compiled after some 150,000 calls
  --cores LOAD,CORE  default 0,1`;
const MICROSECONDS = 1e6;

interface Subject {
  readonly title: string;
  readonly url: string;
  readonly keys: readonly string[];
  readonly pid: number;
  /** The Valkey that it has its ledger on. */
  readonly serverPid: number | undefined;
  /** The folder for the files of its load generator. */
  readonly folder: string;
  readonly rounds: Round[];
}

/** A subject's figures in one round; CPU in microseconds per call. */
interface Round {
  readonly requestsPerSecond: number;
  readonly cpu: number;
  readonly mainThread: number;
  /** CPU of its Valkey; 0 where it has none. */
  readonly server: number;
  readonly errors: number;
}

interface Scene {
  readonly benchCase: BenchCase;
  readonly folder: string;
  readonly loadCore: number;
  readonly core: number;
  /** What ends with the scene, last first. */
  readonly ending: AsyncDisposableStack;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      tree: { type: 'string' },
      large: {
        type: 'boolean',
        default: false,
      },
      valkey: { type: 'boolean', default: false },
      case: { type: 'string', default: 'openai-json-64' },
      rounds: { type: 'string', default: '12' },
      seconds: {
        type: 'string',
        default: '4',
      },
      'warm-up': { type: 'string', default: '60' },
      cores: { type: 'string', default: '0,1' },
    },
  });
  if (values.help) return void process.stdout.write(`${HELP}\n`);
  const benchCase = CASES.find(({ name }) => name === values.case);
  if (!benchCase) throw new TypeError(`no case has such a name; there are ${CASES.map(({ name }) => name).join(', ')}`);
  const rounds = wholeNumber(values.rounds, '--rounds', 1);
  const seconds = wholeNumber(values.seconds, '--seconds', 1);
  const warmUpSeconds = wholeNumber(values['warm-up'], '--warm-up');
  const [loadCore = 0, core = 1] = values.cores.split(',').map((text) => wholeNumber(text, '--cores'));
  const folder = mkdtempSync(join(tmpdir(), 'mgw-together-'));
  await using ending = new AsyncDisposableStack();
  ending.defer(() => rmSync(folder, { recursive: true, force: true }));
  const subjects = await startAll({ benchCase, folder, loadCore, core, ending }, values);
  const load = (seconds: number): Promise<unknown> =>
    Promise.all(subjects.map((subject) => measure(subject, { benchCase, loadCore, seconds })));
  if (warmUpSeconds > 0) await load(warmUpSeconds);
  for (const subject of subjects) subject.rounds.length = 0;
  for (let round = 0; round < rounds; round++) await load(seconds);
  process.stdout.write(tableOf(subjects));
}

interface Kinds {
  readonly tree?: string | undefined;
  readonly large: boolean;
  readonly valkey: boolean;
}

async function startAll(scene: Scene, { tree, large, valkey }: Kinds): Promise<readonly Subject[]> {
  const { folder, core, loadCore, ending } = scene;
  const mock = startScript('mock', [], { core: loadCore, folder });
  ending.defer(() => mock.stop());
  const mockUrl = await urlOf(mock);
  const floor = startScript('floor', [mockUrl], { core, folder });
  ending.defer(() => floor.stop());
  const subjects: Subject[] = [
    { ...place(scene, 'floor'), url: await urlOf(floor), keys: [ANY_KEY], pid: floor.pid, serverPid: undefined },
  ];
  const programs = [
    {
      title: 'this tree',
      program: undefined,
    },
    ...(tree === undefined ? [] : [{ title: 'that tree', program: join(resolve(tree), 'bin', 'mgw.js') }]),
  ];
  for (const number of [1, 2]) {
    for (const { title, program } of programs) {
      subjects.push(await gateway(scene, { title: `${title} ${number}`, mockUrl, program }));
      if (large) subjects.push(await gateway(scene, { title: `${title}, large ${number}`, mockUrl, program, large }));
      if (valkey)
        subjects.push(
          await gateway(scene, { title: `${title} on Valkey ${number}`, mockUrl, program, store: await store(scene) }),
        );
    }
  }
  return subjects;
}

/** A name and a folder of its own. */
function place({ folder }: Scene, title: string): Pick<Subject, 'title' | 'folder' | 'rounds'> {
  const own = join(folder, title.replaceAll(/\W+/g, '-'));
  mkdirSync(own, { recursive: true });
  return { title, folder: own, rounds: [] };
}

interface GatewayPlan {
  readonly title: string;
  readonly mockUrl: string;
  readonly program: string | undefined;
  readonly large?: boolean;
  readonly store?: ValkeyServer;
}

async function gateway(
  scene: Scene,
  { title, mockUrl, program, large = false, store: server }: GatewayPlan,
): Promise<Subject> {
  const own = place(scene, title);
  const started = await startGateway({
    folder: own.folder,
    mockUrl,
    core: scene.core,
    large,
    ...(program !== undefined && { program }),
    ...(server !== undefined && { ledgerUrl: server.url }),
  });
  scene.ending.defer(() => started.process.stop());
  return { ...own, url: started.url, keys: started.keys, pid: started.process.pid, serverPid: server?.pid() };
}

async function store({ loadCore, ending }: Scene): Promise<ValkeyServer> {
  const server = ending.use(await startValkey());
  pinRunning(server.pid(), loadCore);
  return server;
}

async function measure(
  { url, keys, pid, serverPid, folder, rounds }: Subject,
  {
    benchCase,
    loadCore,
    seconds,
  }: { readonly benchCase: BenchCase; readonly loadCore: number; readonly seconds: number },
): Promise<void> {
  const serverSeconds = (): number => (serverPid === undefined ? 0 : cpuSeconds(serverPid));
  const [before, serverBefore] = [threadSeconds(pid), serverSeconds()];
  const {
    requests,
    seconds: took,
    errors,
  } = await findLoadGenerator().run({
    url,
    call: callOf(benchCase),
    keys,
    connections: benchCase.connections,
    seconds,
    core: loadCore,
    folder,
  });
  const used = [...threadSeconds(pid)].map(([thread, { name, seconds: now }]) => ({
    name,
    perCall: ((now - (before.get(thread)?.seconds ?? 0)) * MICROSECONDS) / requests,
  }));
  const server = ((serverSeconds() - serverBefore) * MICROSECONDS) / requests;
  const sum = (of: typeof used): number => of.reduce((total, { perCall }) => total + perCall, 0);
  rounds.push({
    requestsPerSecond: requests / took,
    cpu: sum(used),
    mainThread: sum(used.filter(({ name }) => name.endsWith('MainThread'))),
    server,
    errors,
  });
}

function tableOf(subjects: readonly Subject[]): string {
  const [floor, first] = subjects;
  const widths = [24, 10, 12, 14, 16, 14, 13, 8];
  const line = (cells: readonly string[]): string =>
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join('')}\n`;
  const shown = (value: number | undefined, digits: number): string =>
    value === undefined ? '' : value.toFixed(digits);
  return (
    line([
      '',
      'µs/call',
      'main thread',
      "× floor's µs",
      '% of its req/s',
      `× ${first?.title}`,
      "its Valkey's",
      'errors',
    ]) +
    subjects
      .map(({ title, serverPid, rounds }) => {
        const share = medianRatio(rounds, floor?.rounds ?? [], (round) => round.requestsPerSecond);
        return line([
          title,
          shown(median(rounds.map(({ cpu }) => cpu)), 1),
          shown(median(rounds.map(({ mainThread }) => mainThread)), 1),
          shown(
            medianRatio(rounds, floor?.rounds ?? [], ({ cpu }) => cpu),
            2,
          ),
          shown(share && share * 100, 0),
          shown(
            medianRatio(rounds, first?.rounds ?? [], ({ cpu }) => cpu),
            3,
          ),
          serverPid === undefined ? '' : shown(median(rounds.map(({ server }) => server)), 1),
          String(rounds.reduce((total, { errors }) => total + errors, 0)),
        ]);
      })
      .join('')
  );
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof TypeError ? 64 : 1;
});
