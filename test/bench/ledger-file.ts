/**
 * Measures the ledger in a file alone: CPU per call on the main thread and beside it, and how long holds and
 * settlements wait. `node test/bench/ledger-file.ts [normal|full] [calls per second] [seconds] [retained records]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedger } from '../../dataplane/ledger/embedded.ts';
import type { Ledger, MoneyLimit } from '../../dataplane/ledger/ledger.ts';
import { NO_TOKENS_LOAD } from '../../dataplane/ledger/load.ts';
import type { CallOrigin, CallProgress } from '#usage/record.ts';

const [mode = 'normal', perSecond = '500', seconds = '10', maxRecords = '1000000'] = process.argv.slice(2);
const KEYS = 100;
const PROVIDER_MS = 50;
const TICK_MS = 5;
/** Progress is recorded for all running calls at once, as the gateway does. */
const PROGRESS_MS = 1_000;

const holds: number[] = [];
const settlements: number[] = [];
const running = new Map<string, CallProgress>();
let done = 0;

function originOf(n: number): CallOrigin {
  const key = n % KEYS;
  return {
    callId: `req_${Date.now().toString(36)}${Math.random().toString(36).slice(2, 14)}${n}`,
    keyUid: `6f1f3c0a-2f6e-4b0e-9d0e-0000000${String(key).padStart(5, '0')}`,
    account: `team-${key % 10}/team-${key % 10}`,
    createdMs: Date.now(),
    group: 'model-gateway/default',
    model: 'gpt-4o',
    channel: 'gpt-4o/openai',
    catalog: 'model-gateway/list@1',
    keyName: `key-${key}`,
  };
}

function progressOf(costNanoUsd: bigint): CallProgress {
  const tokens = { input: 1_000, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 200 };
  const lines = [
    { dimension: 'input', quantity: 1_000, rateUsd: '2.5' },
    { dimension: 'output', quantity: 200, rateUsd: '10' },
  ];
  return { costNanoUsd, tokens, usageSource: 'Provider', lines };
}

async function timed(into: number[], work: Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  await work;
  into.push(performance.now() - startedMs);
}

async function call(ledger: Ledger, n: number): Promise<void> {
  const origin = originOf(n);
  const money = { measure: 'UsdNano', amountNanoUsd: 10n ** 15n, generation: 1n } as const;
  const limits: readonly MoneyLimit[] = [
    { scope: 'Key', id: `key/${origin.keyUid}`, window: 'Month', ...money },
    { scope: 'Account', id: `account/${origin.account}`, window: 'Total', ...money },
  ];
  const progress = progressOf(2_500_000n);
  await timed(
    holds,
    ledger.admit({
      origin,
      limits,
      load: NO_TOKENS_LOAD,
      amountNanoUsd: 10_000_000n,
      minimumNanoUsd: 10_000_000n,
      progress,
    }),
  );
  running.set(origin.callId, progress);
  await sleep(PROVIDER_MS);
  running.delete(origin.callId);
  await timed(
    settlements,
    ledger.settle({
      callId: origin.callId,
      progress: progressOf(4_500_000n),
      status: 'Succeeded',
      durationMs: PROVIDER_MS,
      origin,
    }),
  );
  done++;
}

function at(values: readonly number[], share: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);
}

async function load(ledger: Ledger, ms: number): Promise<void> {
  const startedMs = performance.now();
  const calls: Promise<void>[] = [];
  for (let begun = 0; performance.now() - startedMs < ms; await sleep(TICK_MS)) {
    const due = ((performance.now() - startedMs) / 1_000) * Number(perSecond);
    for (; begun < due; begun++) calls.push(call(ledger, begun));
  }
  await Promise.all(calls);
}

const folder = mkdtempSync(join(process.env['BENCH_DIR'] ?? '/tmp', 'ledger-bench-'));
const ledger = await openEmbeddedLedger({
  path: join(folder, 'ledger.db'),
  sync: mode === 'full' ? 'full' : 'normal',
  retention: { maxRecords: Number(maxRecords) },
});
const renewing = setInterval(() => void ledger.recordProgress(new Map(running)).catch(() => undefined), PROGRESS_MS);
await load(ledger, 3_000);
for (const list of [holds, settlements]) list.length = 0;
done = 0;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const [process0, main0] = [process.cpuUsage(), process.threadCpuUsage()];
await load(ledger, Number(seconds) * 1_000);
const [all, main] = [process.cpuUsage(process0), process.threadCpuUsage(main0)];
delay.disable();
clearInterval(renewing);
const perCall = (us: number): string => (us / done).toFixed(1);
const [mainUs, allUs] = [main.user + main.system, all.user + all.system];
process.stdout.write(
  `${mode} ${perSecond}/s, ${done} calls: CPU a call ${perCall(mainUs)} µs main + ${perCall(allUs - mainUs)} beside; ` +
    `hold p50 ${at(holds, 0.5)} p99 ${at(holds, 0.99)} max ${at(holds, 1)} ms; ` +
    `settle p50 ${at(settlements, 0.5)} p99 ${at(settlements, 0.99)} max ${at(settlements, 1)} ms; ` +
    `loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} max ${(delay.max / 1e6).toFixed(1)} ms\n`,
);
await ledger.close();
rmSync(folder, { recursive: true });
