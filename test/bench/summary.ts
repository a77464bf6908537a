/** Summarizes all rounds: medians, ratios to the floor within a round, and whether the aims are reached. */
import type { BenchCase } from './cases.ts';
import { median, medianRatio } from './figures.ts';
import type { Measured } from './measure.ts';
import type { Target, TargetName } from './targets.ts';

/** The rounds of one case, by target. */
export interface CaseRounds {
  readonly benchCase: BenchCase;
  readonly rounds: Readonly<Partial<Record<TargetName, readonly Measured[]>>>;
}

interface CaseSummary {
  readonly name: string;
  readonly target: TargetName;
  /** Medians over the rounds. */
  readonly median: Readonly<Partial<Record<keyof Measured, number>>>;
  /** Medians of the ratios to the floor within a round. */
  readonly toFloor: {
    readonly throughput: number | undefined;
    readonly cpu: number | undefined;
    readonly p50: number | undefined;
    readonly p99: number | undefined;
  };
}

const FIGURES = [
  'requestsPerSecond',
  'eventsPerSecond',
  'p50Ms',
  'p99Ms',
  'maxMs',
  'cpuMicrosPerRequest',
  'cpuMicrosPerEvent',
  'storeMicrosPerRequest',
  'firstEventP50Ms',
  'firstEventP99Ms',
  'peakBytes',
  'errors',
  'foreignShare',
] as const;

export function summarize({ benchCase, rounds }: CaseRounds): CaseSummary[] {
  const floor = rounds.floor ?? [];
  return Object.entries(rounds).map(([target, measured]) => ({
    name: benchCase.name,
    target: target as TargetName,
    median: Object.fromEntries(
      FIGURES.flatMap((figure) => {
        const value = median(measured.map((round) => round[figure]).filter((each) => each !== undefined));
        return value === undefined ? [] : [[figure, value]];
      }),
    ),
    toFloor: {
      throughput: medianRatio(measured, floor, (round) => round.requestsPerSecond),
      cpu: medianRatio(measured, floor, (round) => round.cpuMicrosPerRequest),
      p50: medianRatio(measured, floor, (round) => round.p50Ms),
      p99: medianRatio(measured, floor, (round) => round.p99Ms),
    },
  }));
}

const COLUMNS = [
  'case',
  'target',
  'req/s',
  'of floor',
  'events/s',
  'p50 ms',
  'p99 ms',
  '× floor',
  'CPU µs/req',
  '× floor',
  'CPU µs/ev',
  '1st ev p50',
  'p99',
  'peak MiB',
  'errors',
  'others',
];

export function tableOf(summaries: readonly CaseSummary[]): string {
  const rows = summaries.map(({ name, target, median: m, toFloor }) => [
    name,
    target,
    whole(m.requestsPerSecond),
    percent(toFloor.throughput),
    whole(m.eventsPerSecond),
    fixed(m.p50Ms),
    fixed(m.p99Ms),
    fixed(toFloor.p99),
    fixed(m.cpuMicrosPerRequest, 0),
    fixed(toFloor.cpu),
    fixed(m.cpuMicrosPerEvent, 1),
    fixed(m.firstEventP50Ms),
    fixed(m.firstEventP99Ms),
    m.peakBytes === undefined ? '' : whole(m.peakBytes / 2 ** 20),
    whole(m.errors),
    percent(m.foreignShare),
  ]);
  return alignedTable([COLUMNS, ...rows]);
}

/** Text columns, the first two to the left. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Memory at rest, and the time until the gateway answered. */
export function restLines(targets: readonly Target[]): string[] {
  return targets
    .filter(({ restBytes }) => restBytes !== undefined)
    .map(
      ({ name, restBytes = 0, readyMs }) =>
        `${name}: ${whole(restBytes / 2 ** 20)} MiB at rest${
          readyMs === undefined ? '' : `, ready after ${whole(readyMs)} ms`
        }`,
    );
}

interface Aim {
  /** Default: the gateway with its ledger in a file. */
  readonly target?: TargetName;
  readonly words: string;
  readonly matches: (name: string) => boolean;
  readonly read: (summary: CaseSummary) => number | undefined;
  readonly reached: (value: number) => boolean;
  readonly show: (value: number | undefined) => string;
}

const AIMS: readonly Aim[] = [
  {
    words: "at least 33 % of the floor's requests/s",
    matches: (name) => /json-(?:16|64|256)$/.test(name),
    read: ({ toFloor }) => toFloor.throughput,
    reached: (value) => value >= 0.33,
    show: percent,
  },
  {
    words: "at least 90 % of the floor's streamed events/s",
    matches: (name) => name.endsWith('burst-64'),
    read: ({ toFloor }) => toFloor.throughput,
    reached: (value) => value >= 0.9,
    show: percent,
  },
  {
    target: 'valkey',
    words: 'on Valkey, at least 30 % of what the bare proxy does with its processor time',
    matches: (name) => name.endsWith('json-64'),
    read: ({ toFloor: { cpu } }) => cpu && 1 / cpu,
    reached: (value) => value >= 0.3,
    show: percent,
  },
  {
    words: "p99 at 64 connections at most 2 times the floor's",
    matches: (name) => /(?:json|stream)-64$/.test(name),
    read: ({ toFloor }) => toFloor.p99,
    reached: (value) => value <= 2,
    show: fixed,
  },
];

export function aimLines(summaries: readonly CaseSummary[]): string[] {
  return AIMS.flatMap(({ target: of = 'gateway', words, matches, read, reached, show }) =>
    summaries
      .filter(({ name, target }) => target === of && matches(name))
      .map((summary) => {
        const value = read(summary);
        return aimLine(value !== undefined && reached(value), `${words}: ${summary.name} ${show(value)}`);
      }),
  );
}

/** What the store of a shared ledger costs beside the gateway. */
export function storeLines(summaries: readonly CaseSummary[]): string[] {
  return summaries
    .filter(({ median: { storeMicrosPerRequest } }) => storeMicrosPerRequest !== undefined)
    .map(
      ({ name, median: { storeMicrosPerRequest } }) =>
        `Valkey: ${fixed(storeMicrosPerRequest, 0)} µs of its own processor time per request of ${name}`,
    );
}

const MIN_LARGE_RATIO = 0.97;

/** What a large configuration changes, round by round. */
export function largeLines(all: readonly CaseRounds[]): string[] {
  return all.flatMap(({ benchCase: { name }, rounds: { gateway = [], large = [] } }) => {
    const ratio = medianRatio(large, gateway, (round) => round.requestsPerSecond);
    if (ratio === undefined) return [];
    const others = [
      `CPU ${fixed(
        medianRatio(large, gateway, (round) => round.cpuMicrosPerRequest),
        3,
      )} times`,
      `p99 ${fixed(medianRatio(large, gateway, (round) => round.p99Ms))} times`,
    ];
    return [
      aimLine(
        ratio >= MIN_LARGE_RATIO,
        `at least 97 % of the requests/s with 100,000 keys and 1,000 models: ` +
          `${name} ${fixed(ratio * 100, 1)} %, ${others.join(', ')}`,
      ),
    ];
  });
}

/** The highest CPU of a converted call or event, relative to one that passes through. */
const MAX_CONVERSION_RATIO = { json: 1.3, stream: 1.2, paced: 1.2, burst: 1.2 } as const;

/** What a conversion costs beside the same client's calls that pass through, where both were measured. */
export function conversionLines(all: readonly CaseRounds[]): string[] {
  return all
    .filter(({ benchCase }) => benchCase.provider !== benchCase.dialect)
    .flatMap(({ benchCase, rounds }) => {
      const { dialect, shape, connections } = benchCase;
      const passing = all.find(
        ({ benchCase: other }) =>
          other.provider === dialect &&
          other.dialect === dialect &&
          other.shape === shape &&
          other.connections === connections,
      );
      const ratio = medianRatio(rounds.gateway ?? [], passing?.rounds.gateway ?? [], (round) =>
        shape === 'json' ? round.cpuMicrosPerRequest : round.cpuMicrosPerEvent,
      );
      if (ratio === undefined) return [];
      const max = MAX_CONVERSION_RATIO[shape];
      const unit = shape === 'json' ? 'call' : 'event';
      return [
        aimLine(
          ratio <= max,
          `at most ${max} times the CPU per ${unit} of ${passing?.benchCase.name}: ${benchCase.name} ${fixed(ratio)}`,
        ),
      ];
    });
}

function aimLine(reached: boolean, words: string): string {
  return `${reached ? 'reached' : 'MISSED '}  ${words}`;
}

function whole(value: number | undefined): string {
  return value === undefined ? '' : Math.round(value).toLocaleString('en');
}

function fixed(value: number | undefined, digits = 2): string {
  return value === undefined ? '' : value.toFixed(digits);
}

function percent(value: number | undefined): string {
  return value === undefined ? '' : `${(value * 100).toFixed(0)} %`;
}
