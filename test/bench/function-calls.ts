/**
 * How many functions one call runs, and how many promises the process makes for it: `node test/bench/function-calls.ts
 * --help`. V8 counts the calls of each function of the data plane (precise coverage) in a warm gateway, whose calls
 * come one after the other; functions of fastify, undici and Lua don't count, their promises do. Nothing varies from
 * call to call but timers, so that trees compare within a few functions.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startValkey } from '../support/valkey.ts';
import { callOf } from './cases.ts';
import type { BenchCase } from './cases.ts';
import { startGateway } from './gateway.ts';
import type { MeasuredGateway } from './gateway.ts';
import { wholeNumber } from './options.ts';
import { untilOutput } from './pinned.ts';
import { startScript, urlOf } from './scripts.ts';
import { alignedTable } from './summary.ts';

const HELP = `node test/bench/function-calls.ts [options]
  --tree FOLDER   another tree of sources, installed, instead of this one
  --valkey        with the ledger on Valkey; by default it is in a file
  --calls N       that are counted, default 50
  --list N        the N functions of each call that run most often, too; default 0`;
/** So many times as many calls come before those that are counted. */
const WARM_UP = 6;
const DATAPLANE = '/dataplane/';

const COUNTED: readonly Pick<BenchCase, 'dialect' | 'provider' | 'shape'>[] = [
  { dialect: 'openai', provider: 'openai', shape: 'json' },
  { dialect: 'openai', provider: 'anthropic', shape: 'json' },
  { dialect: 'openai', provider: 'anthropic', shape: 'stream' },
  { dialect: 'responses', provider: 'anthropic', shape: 'json' },
  { dialect: 'responses', provider: 'openai', shape: 'stream' },
];

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The inspector of a running gateway. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
      if (id !== undefined) this.#waiting.get(id)?.(result);
    });
  }

  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((done, fail) => {
      socket.addEventListener('open', done);
      socket.addEventListener('error', fail);
    });
    return new Inspector(socket);
  }

  send(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#sent;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((done) => this.#waiting.set(id, done));
  }

  close(): void {
    this.#socket.close();
  }
}

interface RunFunction {
  readonly name: string;
  readonly file: string;
  readonly count: number;
}

interface Counts {
  /** Functions of the data plane, and how often each ran in all counted calls. */
  readonly run: readonly RunFunction[];
  readonly promises: number;
}

function functionsIn({ result }: Coverage): RunFunction[] {
  return result
    .filter(({ url }) => url.includes(DATAPLANE))
    .flatMap(({ url, functions }) =>
      functions.map(({ functionName, ranges: [whole] }) => ({
        name: functionName === '' ? '(anonymous)' : functionName,
        file: url.slice(url.lastIndexOf(DATAPLANE) + 1),
        count: whole?.count ?? 0,
      })),
    )
    .filter(({ count }) => count > 0);
}

/** Scripts for the gateway: the number of promises since they were first asked for it. */
const COUNT_PROMISES = `{
  let promises = 0;
  const init = (id, type) => void (type === 'PROMISE' && promises++);
  process.getBuiltinModule('node:async_hooks').createHook({ init }).enable();
  globalThis.takePromises = () => { const taken = promises; promises = 0; return taken; };
}`;

async function takePromises(inspector: Inspector): Promise<number> {
  const expression = 'globalThis.takePromises()';
  const { result } = (await inspector.send('Runtime.evaluate', { expression })) as { result: { value: number } };
  return result.value;
}

async function countCase(
  inspector: Inspector,
  { url, keys: [key = ''] }: MeasuredGateway,
  { counted, calls }: { readonly counted: (typeof COUNTED)[number]; readonly calls: number },
): Promise<Counts> {
  const { path, body, headers } = callOf(counted);
  const run = async (times: number): Promise<void> => {
    for (let call = 0; call < times; call++) {
      const response = await fetch(url + path, {
        method: 'POST',
        body,
        headers: { ...headers, authorization: `Bearer ${key}` },
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
    }
  };
  await run(WARM_UP * calls);
  await inspector.send('Profiler.takePreciseCoverage');
  await takePromises(inspector);
  await run(calls);
  const promises = await takePromises(inspector);
  return { run: functionsIn((await inspector.send('Profiler.takePreciseCoverage')) as Coverage), promises };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      tree: { type: 'string', default: resolve(import.meta.dirname, '..', '..') },
      valkey: { type: 'boolean', default: false },
      calls: { type: 'string', default: '50' },
      list: { type: 'string', default: '0' },
    },
  });
  if (values.help) return void process.stdout.write(`${HELP}\n`);
  const folder = mkdtempSync(join(tmpdir(), 'mgw-calls-'));
  mkdirSync(folder, { recursive: true });
  const server = values.valkey ? await startValkey() : undefined;
  const mock = startScript('mock', [], { core: 0, folder });
  try {
    const gateway = await startGateway({
      folder,
      mockUrl: await urlOf(mock),
      core: 1,
      large: false,
      nodeFlags: ['--inspect=127.0.0.1:0'],
      program: join(values.tree, 'bin', 'mgw.js'),
      ...(server && { ledgerUrl: server.url }),
    });
    try {
      const list = wholeNumber(values.list, '--list', 0);
      await report(gateway, { calls: wholeNumber(values.calls, '--calls', 1), list });
    } finally {
      await gateway.process.stop();
    }
  } finally {
    await mock.stop();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface ReportOptions {
  readonly calls: number;
  /** The number of functions to list. */
  readonly list: number;
}

async function report(gateway: MeasuredGateway, { calls, list }: ReportOptions): Promise<void> {
  const [, address = ''] = await untilOutput(
    gateway.process,
    (output) => /Debugger listening on (ws:\S+)/.exec(output) ?? undefined,
  );
  const inspector = await Inspector.open(address);
  await inspector.send('Profiler.enable');
  await inspector.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await inspector.send('Runtime.evaluate', { expression: COUNT_PROMISES });
  const rows = [['call', 'files', 'functions', 'function calls', 'promises']];
  const lists: string[] = [];
  for (const counted of COUNTED) {
    const { run, promises } = await countCase(inspector, gateway, { counted, calls });
    const name = `${counted.dialect} -> ${counted.provider}, ${counted.shape}`;
    const all = run.reduce((sum, { count }) => sum + count, 0);
    const figures = [
      new Set(run.map(({ file }) => file)).size,
      run.filter(({ count }) => count >= calls).length,
      Math.round(all / calls),
      Math.round(promises / calls),
    ];
    rows.push([name, ...figures.map(String)]);
    if (list > 0) lists.push(`\n${name}\n${listOf(run, { calls, list })}`);
  }
  inspector.close();
  process.stdout.write(`${alignedTable(rows)}\n${lists.join('')}`);
}

function listOf(run: readonly RunFunction[], { calls, list }: ReportOptions): string {
  const most = run.toSorted((a, b) => b.count - a.count).slice(0, list);
  return `${alignedTable(most.map(({ name, file, count }) => [(count / calls).toFixed(1), name, file]))}\n`;
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = error instanceof TypeError ? 64 : 1;
});
