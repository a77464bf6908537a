/**
 * How many functions one call runs: `node test/bench/function-calls.ts [--tree FOLDER] [--valkey] [--calls N]`. V8
 * counts the calls of each function of the data plane (precise coverage) in a warm gateway, whose calls come one after
 * the other; those of fastify, undici and Lua don't count. Nothing varies from call to call but timers, so that trees
 * compare within a few functions.
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
  --calls N       that are counted, default 50`;
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
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
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

interface Counts {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

function countsOf({ result }: Coverage, calls: number): Counts {
  const files = result
    .filter(({ url }) => url.includes(DATAPLANE))
    .map(({ functions }) => functions.flatMap(({ ranges: [whole] }) => (whole && whole.count > 0 ? [whole.count] : [])))
    .filter((counts) => counts.length > 0);
  const counts = files.flat();
  return {
    files: files.length,
    functions: counts.filter((count) => count >= calls).length,
    calls: Math.round(counts.reduce((sum, count) => sum + count, 0) / calls),
  };
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
  await run(calls);
  return countsOf((await inspector.send('Profiler.takePreciseCoverage')) as Coverage, calls);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      tree: { type: 'string', default: resolve(import.meta.dirname, '..', '..') },
      valkey: { type: 'boolean', default: false },
      calls: { type: 'string', default: '50' },
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
      await report(gateway, wholeNumber(values.calls, '--calls', 1));
    } finally {
      await gateway.process.stop();
    }
  } finally {
    await mock.stop();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function report(gateway: MeasuredGateway, calls: number): Promise<void> {
  const [, address = ''] = await untilOutput(
    gateway.process,
    (output) => /Debugger listening on (ws:\S+)/.exec(output) ?? undefined,
  );
  const inspector = await Inspector.open(address);
  await inspector.send('Profiler.enable');
  await inspector.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const rows = [['call', 'files', 'functions', 'function calls']];
  for (const counted of COUNTED) {
    const counts = await countCase(inspector, gateway, { counted, calls });
    const name = `${counted.dialect} -> ${counted.provider}, ${counted.shape}`;
    rows.push([name, String(counts.files), String(counts.functions), String(counts.calls)]);
  }
  inspector.close();
  process.stdout.write(`${alignedTable(rows)}\n`);
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = error instanceof TypeError ? 64 : 1;
});
