/**
 * A whole gateway with its ledger in a file and on Valkey, by turns, beside the bare proxy: `node
 * test/bench/valkey-gateway.ts [--rounds 3] [--seconds 5] [--case openai-json-64]`. The measured process has a core of
 * its own; load, provider and Valkey share the other, and Valkey's share is printed. The gateway's own metrics tell
 * what the hold adds to a call.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startValkey } from '../support/valkey.ts';
import { CASES } from './cases.ts';
import { median } from './figures.ts';
import { startGateway } from './gateway.ts';
import { findLoadGenerator } from './load.ts';
import { measure } from './measure.ts';
import type { Measured } from './measure.ts';
import { wholeNumber } from './options.ts';
import { pinRunning } from './pinned.ts';
import type { PinnedProcess } from './pinned.ts';
import { cpuSeconds } from './proc.ts';
import { ANY_KEY, startScript, urlOf } from './scripts.ts';
import type { Target } from './targets.ts';

const { values } = parseArgs({
  options: {
    rounds: {
      type: 'string',
      default: '3',
    },
    seconds: { type: 'string', default: '5' },
    case: { type: 'string', default: 'openai-json-64' },
  },
});
const [LOAD_CORE, CORE] = [0, 1];
const benchCase = CASES.find(({ name }) => name === values.case);
if (!benchCase) throw new Error(`no such case: ${values.case}`);
const rounds = wholeNumber(values.rounds, '--rounds', 1);
const seconds = wholeNumber(values.seconds, '--seconds', 1);

const folder = mkdtempSync(join(tmpdir(), 'mgw-bench-'));
const processes: PinnedProcess[] = [];
await using valkey = await startValkey();
pinRunning(valkey.pid(), LOAD_CORE);
const bench = { generator: findLoadGenerator(), seconds, core: CORE, loadCore: LOAD_CORE, folder };

interface Subject extends Target {
  readonly title: string;
  readonly adminUrl: string | undefined;
}

async function script(name: 'mock' | 'floor', args: readonly string[], core: number): Promise<Subject> {
  const started = startScript(name, args, { core, folder });
  processes.push(started);
  return {
    title: name === 'floor' ? 'bare proxy' : name,
    name,
    url: await urlOf(started),
    keys: [ANY_KEY],
    pid: started.pid,
    restBytes: undefined,
    readyMs: undefined,
    adminUrl: undefined,
  };
}

async function gateway(title: string, mockUrl: string, ledgerUrl?: string): Promise<Subject> {
  const place = join(folder, title.replaceAll(' ', '-'));
  mkdirSync(place);
  const started = await startGateway({
    folder: place,
    mockUrl,
    core: CORE,
    large: false,
    ...(ledgerUrl === undefined ? {} : { ledgerUrl }),
  });
  processes.push(started.process);
  return {
    title,
    name: 'gateway',
    url: started.url,
    keys: started.keys,
    pid: started.process.pid,
    restBytes: undefined,
    readyMs: undefined,
    adminUrl: started.adminUrl,
  };
}

/** Milliseconds that holds took so far, and how many there were. */
async function holds({ adminUrl }: Subject): Promise<{ seconds: number; count: number }> {
  if (adminUrl === undefined) return { seconds: 0, count: 0 };
  const page = await (await fetch(`${adminUrl}/metrics`)).text();
  const sum = (suffix: string): number =>
    [
      ...page.matchAll(
        new RegExp(`^modelgateway_ledger_duration_seconds_${suffix}\\{[^}]*operation="hold"[^}]*\\} (\\S+)$`, 'gm'),
      ),
    ].reduce((total, [, value]) => total + Number(value), 0);
  return { seconds: sum('sum'), count: sum('count') };
}

try {
  const mock = await script('mock', ['0'], LOAD_CORE);
  const subjects = [
    await script('floor', [mock.url], CORE),
    await gateway('ledger in a file', mock.url),
    await gateway('ledger on Valkey', mock.url, valkey.url),
  ];
  const results = new Map<string, { measured: Measured; serverMicros: number; holdMs: number }[]>();
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) {
      const [server, before] = [cpuSeconds(valkey.pid()), await holds(subject)];
      const measured = await measure(bench, benchCase, subject);
      const after = await holds(subject);
      const serverMicros = ((cpuSeconds(valkey.pid()) - server) * 1e6) / measured.requests;
      results.set(subject.title, [
        ...(results.get(subject.title) ?? []),
        {
          measured,
          serverMicros,
          holdMs: ((after.seconds - before.seconds) * 1_000) / Math.max(1, after.count - before.count),
        },
      ]);
    }
  }
  const floor = median((results.get('bare proxy') ?? []).map(({ measured }) => measured.cpuMicrosPerRequest ?? 0)) ?? 0;
  for (const [title, rounds] of results) {
    const of = (pick: (each: (typeof rounds)[number]) => number | undefined): number =>
      median(rounds.map((each) => pick(each) ?? 0)) ?? 0;
    const cpu = of(({ measured }) => measured.cpuMicrosPerRequest);
    console.log(
      `${benchCase.name}, ${title}: ${of(({ measured }) => measured.requestsPerSecond).toFixed(0)} requests/s, p50 ${of(({ measured }) => measured.p50Ms).toFixed(2)} ms, p99 ${of(({ measured }) => measured.p99Ms).toFixed(2)} ms; ` +
        `processor time per request ${cpu.toFixed(0)} µs (${((100 * floor) / cpu).toFixed(0)} % of the bare proxy's ` +
        `throughput by that), Valkey ${of(({ serverMicros }) => serverMicros).toFixed(0)} µs; ` +
        `a hold ${of(({ holdMs }) => holdMs).toFixed(2)} ms; ${of(({ measured }) => measured.errors)} errors, others ` +
        `had ${(100 * of(({ measured }) => measured.foreignShare)).toFixed(0)} % of its core`,
    );
  }
} finally {
  for (const each of processes.toReversed()) await each.stop();
  rmSync(folder, { recursive: true });
}
