/**
 * `npm run bench`: what a call costs through the gateway, compared with the mock provider alone and the fastest proxy
 * (floor.ts). Mock and load on one core, what is measured on another. Every round measures all targets one after the
 * other, because machines drift; ratios are taken within a round. docs/design/performance.md says how to read it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CASES, chooseCases, groupCases, QUICK_CASES } from './cases.ts';
import type { BenchCase } from './cases.ts';
import { findLoadGenerator } from './load.ts';
import { assertAnswers, measure } from './measure.ts';
import type { Bench, Measured } from './measure.ts';
import { HELP, parseBenchOptions } from './options.ts';
import type { BenchOptions } from './options.ts';
import { startPinned } from './pinned.ts';
import { aimLines, conversionLines, largeLines, restLines, storeLines, summarize, tableOf } from './summary.ts';
import type { CaseRounds } from './summary.ts';
import { startScene } from './targets.ts';
import type { Target, TargetName } from './targets.ts';

/**
 * The gateway's code is compiled to its end only after some 150,000 calls. Until then V8's helpers take 6 µs of each
 * call on the measured core, and 1 to 2 afterwards; the 99th percentile falls by half.
 */
const WARM_UP_SECONDS = 15;
/** Valkey shares the core of the load generator, so that fewer calls arrive. */
const WARM_UP_SECONDS_ON_VALKEY = 40;
const MAX_FOREIGN_SHARE = 0.05;

async function main(args: readonly string[]): Promise<void> {
  const options = parseBenchOptions(args);
  if (options === 'help') return void process.stdout.write(`${HELP}\n`);
  const cases = casesOf(options);
  if (cases.length === 0)
    throw new TypeError(`no case has such a name; there are ${CASES.map(({ name }) => name).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'mgw-bench-'));
  try {
    await run(options, cases, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function casesOf({ only, alone, quick }: BenchOptions): readonly BenchCase[] {
  if (alone !== undefined) return CASES.filter(({ name }) => name === alone);
  return chooseCases(CASES, only).filter(({ name }) => !quick || only.length > 0 || QUICK_CASES.has(name));
}

async function run(options: BenchOptions, cases: readonly BenchCase[], folder: string): Promise<void> {
  const generator = findLoadGenerator();
  const bench: Bench = { generator, seconds: options.seconds, core: options.core, loadCore: options.loadCore, folder };
  const scene = await startScene(options, folder);
  const loop = options.busy
    ? startPinned([process.execPath, '-e', 'for(;;);'], { core: options.core, outputFile: join(folder, 'loop') })
    : undefined;
  try {
    const targets = scene.targets.filter(({ name }) => options.alone === undefined || name !== 'mock');
    print(`load by ${generator.name}; ${targets.map(({ name, url }) => `${name} ${url}`).join(', ')}`);
    await warmUp({ ...bench, warmUpSeconds: options.warmUp }, cases, targets);
    const all: CaseRounds[] = [];
    for (const group of groupCases(cases))
      all.push(...(await measureGroup(bench, { cases: group, targets, rounds: options.rounds })));
    printReport(options, targets, all);
  } finally {
    await loop?.stop();
    await scene.stop();
  }
}

/** Warms the targets up: compiled code, open connections. */
async function warmUp(
  { warmUpSeconds, ...bench }: Bench & { readonly warmUpSeconds: number | undefined },
  cases: readonly BenchCase[],
  targets: readonly Target[],
): Promise<void> {
  const kinds = new Map(cases.map((each) => [`${each.dialect}-${each.provider}-${each.shape}`, each]));
  for (const target of targets) {
    for (const benchCase of kinds.values()) {
      await assertAnswers(benchCase, target);
      await measure(
        {
          ...bench,
          seconds: warmUpSeconds ?? (target.name === 'valkey' ? WARM_UP_SECONDS_ON_VALKEY : WARM_UP_SECONDS),
        },
        { ...benchCase, connections: 32 },
        target,
      );
    }
  }
}

interface GroupPlan {
  readonly cases: readonly BenchCase[];
  readonly targets: readonly Target[];
  readonly rounds: number;
}

async function measureGroup(bench: Bench, { cases, targets, rounds }: GroupPlan): Promise<readonly CaseRounds[]> {
  const measured = cases.map((benchCase) => ({
    benchCase,
    byTarget: new Map<TargetName, Measured[]>(targets.map(({ name }) => [name, []])),
  }));
  for (let round = 0; round < rounds; round++) {
    for (const { benchCase, byTarget } of measured) {
      for (const target of targets) byTarget.get(target.name)?.push(await measure(bench, benchCase, target));
    }
  }
  const results = measured.map(({ benchCase, byTarget }): CaseRounds => ({
    benchCase,
    rounds: Object.fromEntries(byTarget),
  }));
  print(tableOf(results.flatMap(summarize)));
  return results;
}

function printReport(options: BenchOptions, targets: readonly Target[], all: readonly CaseRounds[]): void {
  const summaries = all.flatMap(summarize);
  print(
    '',
    tableOf(summaries),
    '',
    ...restLines(targets),
    ...storeLines(summaries),
    '',
    ...aimLines(summaries),
    ...largeLines(all),
    ...conversionLines(all),
  );
  const foreign = Math.max(...summaries.map(({ median }) => median.foreignShare ?? 0));
  if (foreign > MAX_FOREIGN_SHARE && !options.busy)
    print(
      '',
      `other processes had up to ${(foreign * 100).toFixed(0)} % of the measured core: only CPU per request ` +
        'can be trusted',
    );
  mkdirSync(dirname(options.output), { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  writeFileSync(
    options.output,
    `${JSON.stringify({ at: new Date().toISOString(), machine, options: { ...options, compare: options.compare?.url }, rest: targets.map(({ name, restBytes, readyMs }) => ({ name, restBytes, readyMs })), summaries, rounds: all }, undefined, 1)}\n`,
  );
  print('', `written to ${options.output}`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof TypeError ? 64 : 1;
});
