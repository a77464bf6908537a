/** What is remembered of kinds of calls changes nothing: each call is written and counted as if it were the first. */
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import fc from 'fast-check';
import { createCallLines } from '../../../dataplane/telemetry/call-log.ts';
import { createCallObserver } from '../../../dataplane/telemetry/call-metrics.ts';
import type { AttemptReport, CallReport } from '../../../dataplane/telemetry/call-report.ts';
import { CallKinds, Pairs } from '../../../dataplane/telemetry/kinds.ts';
import { createIsoTime } from '../../../dataplane/telemetry/log.ts';
import { createRecorder } from '../../../dataplane/telemetry/recorder.ts';
import { reportOf } from './report.ts';

const durationMs = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(0, 1, 0.0004, 0.9996, 999.9999, 0.05, 12.5, 100, 1e9));
const attempt: fc.Arbitrary<AttemptReport> = fc.record({
  channel: fc.constantFrom('a/1', 'a/2', 'quote "'), protocol: fc.constantFrom('OpenAI', 'Anthropic'), outcome: fc.constantFrom('ok', 'full', 'status_503'), durationMs,
});
const tokenCount = fc.constantFrom(0, 1, 7, 1000);
const billing: fc.Arbitrary<CallReport['billing']> = fc.option(fc.record({
  status: fc.constantFrom('Succeeded', 'Failed'), usageSource: fc.constantFrom('Provider', 'Estimated'),
  tokens: fc.record({ input: tokenCount, cached: tokenCount, cacheWrite5m: tokenCount, cacheWrite1h: tokenCount, output: tokenCount }),
  costNanoUsd: fc.constantFrom(0n, 5n, 1_230_000_000n), unbilledNanoUsd: fc.constantFrom(0n, 7n),
}), { nil: undefined });
const key = fc.constantFrom(undefined, { namespace: 'team-a', name: 'ci', prefix: 'sk-abcd', account: 'team-a/a' }, { namespace: 'b', name: 'ci', prefix: 'sk-efgh', account: 'b/b' });
/** Few values of each field, so that many calls have much in common. */
const report = fc.record({
  requestId: fc.constantFrom('req_1', 'req_2'), endpoint: fc.constantFrom('chat_completions', 'messages', 'models'), dialect: fc.constantFrom('OpenAI', 'Anthropic'),
  stream: fc.boolean(), httpStatus: fc.constantFrom(200, 429, 503), errorCode: fc.constantFrom(undefined, 'upstream_error', 'rate_limited'), key,
  model: fc.constantFrom(undefined, 'gpt-5', 'claude'), group: fc.constantFrom(undefined, 'g', 'h'), attempts: fc.array(attempt, { maxLength: 3 }), billing,
  durationMs, firstByteMs: fc.option(durationMs, { nil: undefined }),
}) satisfies fc.Arbitrary<CallReport>;
const FIELDS = [...Object.keys(reportOf()), ...Array.from({ length: 12 }, () => 'attempts')] as (keyof CallReport)[];
/** Those that follow differ from the one before in one field. */
const reports = fc.tuple(report, fc.array(fc.tuple(fc.constantFrom(...FIELDS), report), { maxLength: 20 }))
  .map(([first, changes]) => changes.reduce<CallReport[]>((all, [field, other]) => [...all, { ...all.at(-1) ?? first, [field]: other[field] }], [first]));

test('lines are those of a writer that has seen no call before, and their durations are rounded to microseconds', () => {
  fc.assert(fc.property(reports, (calls) => {
    const lineOf = createCallLines();
    for (const call of calls) {
      const text = lineOf(call, 'info', ',"time":"now"');
      assert.equal(text, createCallLines()(call, 'info', ',"time":"now"'));
      const line = JSON.parse(text);
      const rounded = (ms: number | undefined): number | undefined => ms === undefined ? undefined : Math.round(ms * 1000) / 1000;
      assert.deepEqual([line.duration_ms, line.first_byte_ms], [rounded(call.durationMs), rounded(call.firstByteMs)]);
      assert.deepEqual(line.attempts, call.attempts.map(({ channel, outcome, durationMs: ms }) => ({ channel, outcome, duration_ms: rounded(ms) })));
      assert.deepEqual([line.endpoint, line.dialect, line.stream, line.status, line.error_code, line.model, line.group, line.account, line.call_status, line.usage_source],
        [call.endpoint, call.dialect, call.stream, call.httpStatus, call.errorCode, call.model, call.group, call.key?.account, call.billing?.status, call.billing?.usageSource]);
    }
  }));
});

test('metrics are those of an observer that has seen no call before', () => {
  fc.assert(fc.property(reports, (calls) => {
    const [remembering, forgetting] = [createRecorder(), createRecorder()];
    const observe = createCallObserver(remembering);
    for (const call of calls) {
      observe(call);
      createCallObserver(forgetting)(call);
    }
    assert.equal(remembering.render(), forgetting.render());
  }));
});

test('what is remembered is bounded', () => {
  let made = 0;
  const pairs = new Pairs((first: string, second: string) => `${++made} ${first} ${second}`);
  const kinds = new CallKinds(({ requestId }) => ({ requestId, isOf: (other: CallReport) => other.requestId === requestId }));
  const first = kinds.find(reportOf({ requestId: 'first' }));
  assert.equal(pairs.find('a', 'b'), '1 a b');
  assert.equal(pairs.find('a', 'c'), '2 a c');
  assert.equal(pairs.find('a', 'b'), '1 a b');
  for (let index = 0; index < 50_000; index++) pairs.find('c', String(index));
  assert.equal(pairs.find('a', 'b'), `${made} a b`);
  assert.equal(made, 50_003);
  assert.equal(kinds.find(reportOf({ requestId: 'first' })), first);
  for (let index = 0; index < 50_000; index++) kinds.find(reportOf({ requestId: String(index), model: `m${index % 1000}` }));
  assert.notEqual(kinds.find(reportOf({ requestId: 'first' })), first);
});

test('times are those of the clock, on both sides of a second', () => {
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 30, 23, 59, 58, 990) });
  try {
    const time = createIsoTime();
    for (const step of [0, 3, 0, 5, 1, 1, 1, 7, 992, 1000, 12]) {
      mock.timers.setTime(Date.now() + step);
      assert.equal(time(), `,"time":"${new Date().toISOString()}"`);
    }
  } finally {
    mock.timers.reset();
  }
});
