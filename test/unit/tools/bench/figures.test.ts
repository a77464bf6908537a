/** The bench's arithmetic: what it says must be right even though no test measures anything. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { streamChunks, wholeAnswer } from '../../../../tools/bench/answers.ts';
import { callOf, CASES, chooseCases, EVENTS_PER_STREAM, groupCases, QUICK_CASES } from '../../../../tools/bench/cases.ts';
import { median, medianRatio, percentile, quantilesOf, slopeOf } from '../../../../tools/bench/figures.ts';
import { readPort } from '../../../../tools/bench/ready.ts';
import { aggregate } from '../../../../tools/bench/stages.ts';
import type { CpuProfile } from '../../../../tools/bench/stages.ts';
import type { Measured } from '../../../../tools/bench/measure.ts';
import { alignedTable, conversionLines, largeLines } from '../../../../tools/bench/summary.ts';

const ROUND: Measured = {
  requestsPerSecond: 1, eventsPerSecond: 50, p50Ms: 1, p99Ms: 1, maxMs: 1, cpuMicrosPerRequest: 1, cpuMicrosPerEvent: 1,
  firstEventP50Ms: 1, firstEventP99Ms: 1, peakBytes: 1, errors: 0, requests: 1, foreignShare: 0,
};

describe('figures', () => {
  it('words quantiles', () => {
    assert.equal(quantilesOf(Array.from({ length: 100 }, (_none, index) =>
      100 - index)), 'p50 51.0 ms, p90 91.0 ms, p99 100.0 ms, longest 100.0 ms (100)');
  });
  it('takes the middle, or the mean of two', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.equal(median([]), undefined);
  });
  it('finds the slope of a line among points that do not lie on it', () => {
    assert.equal(slopeOf([[0, 1], [1, 3], [2, 5]]), 2);
    assert.equal(slopeOf([[0, 0], [10, 10], [20, 0]]), 0);
    assert.equal(slopeOf([[1, 1]]), undefined);
    assert.equal(slopeOf([]), undefined);
  });
  it('takes percentiles of values in any order', () => {
    const values = Array.from({ length: 100 }, (_none, index) => 100 - index);
    assert.equal(percentile(values, 50), 51);
    assert.equal(percentile(values, 99), 100);
    assert.equal(percentile([], 50), 0);
  });
  it('takes ratios within a round, so that a drift of the machine cancels out', () => {
    assert.equal(medianRatio([5, 50, 10], [10, 100, 20], (value) => value), 0.5);
    assert.equal(medianRatio([5, 7], [10], (value) => value), 0.5);
    assert.equal(medianRatio([5], [0], (value) => value), undefined);
  });
});

describe('cases', () => {
  it('have requests of 1 KB', () => {
    for (const benchCase of CASES) assert.equal(callOf(benchCase).body.length, 1024, benchCase.name);
  });
  it('have answers of 1 KB, or 50 events that end as the protocol wants', () => {
    for (const dialect of ['openai', 'anthropic'] as const) {
      const [head = '', body = ''] = wholeAnswer(dialect).toString().split('\r\n\r\n');
      assert.equal(body.length, 1024);
      assert.match(head, /content-length: 1024/);
      const chunks = streamChunks(dialect).map(String);
      assert.equal(chunks.length, EVENTS_PER_STREAM);
      assert.match(chunks.at(-1) ?? '', /(?:\[DONE\]|message_stop"\})\n\n\r\n0\r\n\r\n$/);
      for (const chunk of chunks) {
        const [size = '', rest = ''] = chunk.split(/\r\n(.*)/s);
        assert.ok(rest.startsWith('data: ') || rest.startsWith('event: '));
        assert.equal(rest.slice(Number.parseInt(size, 16), Number.parseInt(size, 16) + 2), '\r\n');
      }
    }
  });
  it('of conversions are measured in turns with what passes through, and told as a ratio of the same round', () => {
    const burst = chooseCases(CASES, ['burst']);
    assert.deepEqual(groupCases(burst).map((group) => group.map(({ name }) => name)), [
      ['openai-burst-64', 'openai-anthropic-burst-64'], ['anthropic-openai-burst-64', 'anthropic-burst-64'],
    ]);
    const costs: Readonly<Record<string, readonly number[]>> = { 'openai-burst-64': [
      10, 20,
    ], 'openai-anthropic-burst-64': [11, 22], 'anthropic-burst-64': [10, 20], 'anthropic-openai-burst-64': [12, 24] };
    const measured = (cpuMicrosPerEvent: number): Measured => ({ ...ROUND, cpuMicrosPerEvent });
    const lines = conversionLines(burst.map((benchCase) =>
      ({ benchCase, rounds: { gateway: (costs[benchCase.name] ?? []).map(measured) } })));
    assert.deepEqual(lines.map((line) =>
      [line.slice(0, 7), line.slice(-4)]), [['reached', '1.10'], ['MISSED ', '1.20']]);
    assert.deepEqual(conversionLines(burst.slice(1, 2).map((benchCase) => ({ benchCase, rounds: {} }))), []);
  });
  it('are compared with a large configuration round by round', () => {
    const [benchCase] = CASES;
    assert.ok(benchCase);
    const rounds = (...all: readonly number[]): Measured[] =>
      all.map((requestsPerSecond) => ({ ...ROUND, requestsPerSecond, p99Ms: 1000 / requestsPerSecond }));
    const told = (large: readonly Measured[] | undefined): readonly string[] =>
      largeLines([{ benchCase, rounds: { gateway: rounds(100, 200, 400), ...large && { large } } }]);
    assert.deepEqual(told(undefined), []);
    assert.match(told(rounds(98, 196, 100)).join(), /^reached .* 98\.0 %, CPU 1\.000 times, p99 1\.02 times$/);
    assert.match(told(rounds(96, 192, 400)).join(), /^MISSED .* 96\.0 %/);
  });
  it('are chosen by parts of their names', () => {
    assert.deepEqual(chooseCases(CASES, ['anthropic-json']).map(({ name }) => name), ['anthropic-json-64']);
    assert.equal(chooseCases(CASES, []).length, CASES.length);
    for (const name of QUICK_CASES) assert.ok(CASES.some((each) => each.name === name), name);
  });
});

describe('stages', () => {
  const frame = (id: number, functionName: string, url: string, children: number[] = []): CpuProfile['nodes'][number] =>
    ({ id, callFrame: { functionName, url, lineNumber: 0 }, children });
  const profile: CpuProfile = {
    nodes: [
      frame(1, '(root)', '', [2, 3, 6, 7]),
      frame(2, 'authenticate', 'file:///x/dataplane/pipeline/authenticate.ts', [4]),
      frame(4, 'hash', 'node:internal/crypto/hash'),
      frame(3, 'writeBuffer', 'file:///x/node_modules/undici/lib/dispatcher/client-h1.js', [5]),
      frame(5, 'writev', ''),
      frame(6, '(idle)', ''),
      frame(7, 'processTicksAndRejections', 'node:internal/process/task_queues'),
    ],
    startTime: 1000,
    samples: [4, 5, 6, 7, 1, 4],
    timeDeltas: [10, 20, 40, 5, 3, 1000],
  };
  it('gives the time of what serves everybody to whom it served', () => {
    const { stages, idleMicros, busyMicros } = aggregate(profile, { fromUs: 1000, toUs: 1100 });
    const times = Object.fromEntries(stages.map(({ stage, micros }) => [stage, micros]));
    assert.equal(times['authenticate'], 10);
    assert.equal(times['upstream: undici'], 20);
    assert.equal(times['other (runtime, timers, promises)'], 5);
    assert.equal(times['native (epoll, libuv, system calls)'], 3);
    assert.equal(idleMicros, 40);
    assert.equal(busyMicros, 38);
  });
  it('leaves out what is not within the window', () => {
    assert.equal(aggregate(profile, { fromUs: 1065, toUs: 1080 }).busyMicros, 8);
  });
  it('lists functions by their own time', () => {
    const [first, second] = aggregate(profile, { fromUs: 1000, toUs: 1100 }).functions;
    assert.deepEqual([first?.where, second?.where], ['writev', 'hash node:internal/crypto/hash:1']);
  });
});

describe('tables and ports', () => {
  it('align their columns', () => {
    assert.equal(alignedTable([['a', 'b', 'n'], ['long', '', '12']]), 'a     b   n\nlong     12');
  });
  it('read the port that a process tells of', () => {
    assert.equal(readPort('(node) warning\nlistening on port 4711\n'), 4711);
    assert.equal(readPort('nothing yet'), undefined);
  });
});
