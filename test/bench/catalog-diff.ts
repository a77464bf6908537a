/**
 * `node test/bench/catalog-diff.ts [--calls 100000]`: the time that `mgw catalog diff` takes for calls of every
 * dimension, from a ledger's file and from what `mgw usage` prints. CPU time is shown too, since other programs may run
 * on the same cores.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFile } from '../../dataplane/ledger/embedded/schema.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { BillLine } from '#price/bill.ts';
import { numberFlag, readFlags } from '../support/flags.ts';
import { addRecords } from '../support/usage-rows.ts';

const MGW = join(import.meta.dirname, '..', '..', 'bin', 'mgw.js');
const HELP = 'node test/bench/catalog-diff.ts [--calls 100000]';
const MODELS = 40;
const KEYS = 500;
const ACCOUNTS = 50;
const GROUPS = ['standard', 'vip', 'batch'];
const DAYS = 30;
const DAY_MS = 86_400_000;
/** Records are added in groups of this size. */
const TOGETHER = 1_000;

const calls = numberFlag(readFlags(HELP, ['calls']).calls ?? '100000', 'calls', HELP);
const folder = mkdtempSync(join(tmpdir(), 'mgw-catalog-diff-'));
try {
  const ledger = join(folder, 'ledger.db');
  fill(ledger);
  writeFileSync(join(folder, 'old.yaml'), catalog('2.5'));
  writeFileSync(join(folder, 'new.yaml'), catalog('2.75'));
  const usage = join(folder, 'usage.json');
  timed(['usage', '--ledger', `file:${ledger}`, '--format', 'json'], usage);
  for (const source of [
    ['--ledger', `file:${ledger}`],
    ['--usage', usage],
  ]) {
    const report = join(folder, 'report.txt');
    const args = ['catalog', 'diff', join(folder, 'old.yaml'), join(folder, 'new.yaml'), ...source];
    const { seconds, cpuSeconds } = timed(args, report);
    const head = execFileSync('head', ['-1', report], { encoding: 'utf8' });
    process.stdout.write(`${source[0]}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU: ${head}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

interface Times {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Runs `mgw`. A shell tells the CPU time of its children on the last line of `times`. */
function timed(args: readonly string[], output: string): Times {
  const startedMs = performance.now();
  const script = '"$@" > "$OUT" || exit 1; times';
  const printed = execFileSync('sh', ['-c', script, 'sh', process.execPath, MGW, ...args], {
    encoding: 'utf8',
    env: { ...process.env, OUT: output },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const parts =
    printed
      .trim()
      .split('\n')
      .at(-1)
      ?.matchAll(/(\d+)m([\d.]+)s/g) ?? [];
  const cpuSeconds = [...parts].reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  return { seconds, cpuSeconds };
}

function catalog(input: string): string {
  const models = Array.from(
    { length: MODELS },
    (_, index) => `
  - name: model-${index}
    vendor: Bench
    quotaType: Token
    usdPerMillion: {input: "${input}", output: "15", cacheRead: "0.25", cacheWrite5m: "3.125"}
    contextTiers: [{above: 200000, inputMultiplier: "2", outputMultiplier: "1.5"}]
    serviceTiers: {priority: {multiplier: "2"}, flex: {multiplier: "0.5"}}
    perUse: {webSearchUsd: "0.01"}
    channels: [{channel: route/dear, multiplier: "1.1"}]`,
  );
  return `apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: bench}
spec:
  models:${models.join('')}
`;
}

function fill(path: string): void {
  const db = openFile(path);
  db.exec('BEGIN');
  for (let index = 0; index < calls; index += TOGETHER) {
    const count = Math.min(TOGETHER, calls - index);
    const records = Array.from({ length: count }, (_, at) => recordOf(index + at));
    addRecords(db, records, records[0]?.createdMs ?? 0);
  }
  db.exec('COMMIT');
  db.close();
}

/** Every tenth call is long, every seventh is served as priority, every fifth consists of several requests. */
function recordOf(index: number): UsageRecord {
  const input = index % 10 === 0 ? 150_000 + index : 1000 + (index % 9000);
  const marks = {
    ...(index % 7 === 0 && { serviceTier: 'priority' }),
    ...(index % 10 === 0 && { above: 200_000 }),
  };
  const request: BillLine[] = [
    { dimension: 'input', quantity: input, rateUsd: '2.5', ...marks },
    { dimension: 'cacheRead', quantity: 60_000, rateUsd: '0.25', ...marks },
    { dimension: 'output', quantity: 1 + (index % 700), rateUsd: '15', ...marks },
  ];
  const lines =
    index % 5 === 0 ? [...request, ...request, { dimension: 'webSearch', quantity: 2, rateUsd: '0.01' }] : request;
  return {
    callId: `req_${String(index).padStart(32, '0')}`,
    keyUid: `team/key-${index % KEYS}`,
    account: `team/account-${index % ACCOUNTS}`,
    createdMs: Date.now() - ((index % DAYS) + 0.5) * DAY_MS,
    group: GROUPS[index % GROUPS.length] ?? 'standard',
    model: `model-${index % MODELS}`,
    channel: index % 3 === 0 ? 'route/dear' : 'route/main',
    catalog: 'model-gateway/bench@1',
    costNanoUsd: 1n,
    lines,
    tokens: { ...NO_TOKENS, input, cached: 60_000, output: 1 + (index % 700) },
    usageSource: 'Provider',
    status: 'Succeeded',
    unbilledNanoUsd: 0n,
    durationMs: 1000,
  };
}
