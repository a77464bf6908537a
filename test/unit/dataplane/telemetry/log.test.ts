import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'vitest';
import type { CallReport, LateBilling } from '../../../../dataplane/telemetry/call-report.ts';
import { createLogger } from '../../../../dataplane/telemetry/log.ts';
import { createCallTelemetry } from '../../../../dataplane/telemetry/telemetry.ts';
import { attemptOf, reportOf } from './report.ts';

const KEY = `sk-${'a1B2'.repeat(12)}`;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NO_METRICS: Parameters<typeof createCallTelemetry>[0] = {
  call: () => undefined,
  responded: () => undefined,
  billedLate: () => undefined,
  ledger: () => undefined,
  jobEnded: () => undefined,
};

/** A logger and what it wrote. */
function capture(): { log: ReturnType<typeof createLogger>; lines: string[] } {
  const lines: string[] = [];
  return { log: createLogger({ to: { write: (line) => void lines.push(line) } }), lines };
}

test('writes one JSON object per line, with a time and a level by name', () => {
  const { log, lines } = capture();
  log.info({ a: 1 }, 'hello');
  log.debug('not at this level');
  assert.equal(lines.length, 1);
  const line = JSON.parse(lines[0] ?? '');
  assert.match(line.time, TIME);
  assert.deepEqual([line.level, line.a, line.msg], ['info', 1, 'hello']);
});

test('writes no key, token or credential, in any form, and the line stays JSON', () => {
  const { log, lines } = capture();
  log.info(`refused ${KEY}`);
  const top = { authorization: `Bearer ${KEY}`, 'x-api-key': 'short"quoted"', apiKey: 'plain', cookie: 'session=1' };
  log.info(top, 'top');
  const headers = { authorization: 'Basic dXNlcjpwYXNz', 'X-API-Key': ['one', 'two'], 'set-cookie': 'session=2' };
  log.info({ request: { headers } }, 'nested');
  log.error(new Error(`the provider said: invalid key ${KEY}, from header Bearer abcdefghijklmnop`));
  log.warn({ body: JSON.stringify({ key: KEY }) }, 'escaped');
  const text = lines.join('');
  for (const secret of [KEY, 'short', 'quoted', 'plain', 'session', 'dXNlcjpwYXNz', '"one"', 'abcdefghijklmnop']) {
    assert.ok(!text.includes(secret), secret);
  }
  for (const line of lines) JSON.parse(line);
  assert.equal(lines.length, 5);
});

test('does not redact text that only looks similar', () => {
  const { log, lines } = capture();
  const harmless = {
    key_prefix: 'sk-abcd1234',
    error_code: 'invalid_api_key',
    task: 'ask-me-anything',
    note: 'basic plan, bearer of news',
  };
  log.info(harmless, 'line');
  const line = JSON.parse(lines[0] ?? '');
  for (const [field, value] of Object.entries(harmless)) assert.equal(line[field], value);
});

/** The line of a finished call, parsed, without its time. */
function lineOf(report: CallReport): Record<string, unknown> {
  const { log, lines } = capture();
  createCallTelemetry(NO_METRICS, log).finished(report);
  assert.equal(lines.length, 1);
  const { time, ...line } = JSON.parse(lines[0] ?? '');
  assert.match(time, TIME);
  return line;
}

test("writes a call's ids and exact amounts", () => {
  assert.deepEqual(lineOf(reportOf()), {
    level: 'info',
    msg: 'call',
    request_id: 'req_1',
    endpoint: 'chat_completions',
    dialect: 'OpenAI',
    stream: true,
    status: 200,
    key: 'team-a/ci-bot',
    key_prefix: 'sk-abcd',
    account: 'team-a/team-a',
    model: 'gpt-5',
    group: 'auto-a',
    attempts: [{ channel: 'openai/direct', outcome: 'ok', duration_ms: 500 }],
    call_status: 'Succeeded',
    input_tokens: 1000,
    cached_tokens: 200,
    cache_write_tokens: 34,
    output_tokens: 101,
    usage_source: 'Provider',
    cost_usd: '0.03375',
    unbilled_usd: '0',
    duration_ms: 1500.123,
    first_byte_ms: 500,
  });
});

test('writes a line for a call that was refused before anything was known', () => {
  const refused = {
    httpStatus: 401,
    errorCode: 'invalid_api_key',
    key: undefined,
    model: undefined,
    group: undefined,
    attempts: [],
    billing: undefined,
    firstByteMs: undefined,
  };
  assert.deepEqual(lineOf(reportOf(refused)), {
    level: 'info',
    msg: 'call',
    request_id: 'req_1',
    endpoint: 'chat_completions',
    dialect: 'OpenAI',
    stream: true,
    status: 401,
    error_code: 'invalid_api_key',
    attempts: [],
    duration_ms: 1500.123,
  });
});

test('escapes and redacts names like everything else', () => {
  const { log, lines } = capture();
  const telemetry = createCallTelemetry(NO_METRICS, log);
  const model = 'quote " back \\ line \n tab \t \u2028 é 😀 \ud800';
  telemetry.finished(
    reportOf({
      model,
      group: `after Bearer ${KEY}`,
      key: { uid: 'u1', namespace: 'n', name: KEY, prefix: 'p', account: 'x"y' },
      attempts: [attemptOf('ok', KEY), attemptOf('connect', 'b"c'), attemptOf('reset', `d ${KEY}`)],
    }),
  );
  const [text = ''] = lines;
  assert.ok(text.endsWith('}\n') && !text.includes(KEY));
  const line = JSON.parse(text);
  assert.deepEqual([line.model, line.group, line.account], [model, 'after Bearer sk-[redacted]', 'x"y']);
  assert.deepEqual([line.attempts[1].channel, line.attempts[2].channel], ['b"c', 'd sk-[redacted]']);
  assert.match(line.time, TIME);
});

test('names of objects that look a little like keys stay readable', () => {
  const { log, lines } = capture();
  for (const name of ['task-runner-production-eu', 'team-sk-bratislava-production', 'risk-assessment-2026-11'])
    log.warn({ object: `ApiKey team-a/${name}` }, 'a key could not be made');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).object),
    [
      'ApiKey team-a/task-runner-production-eu',
      'ApiKey team-a/team-sk-bratislava-production',
      'ApiKey team-a/risk-assessment-2026-11',
    ],
  );
});

test('keys are masked after whatever comes before them', () => {
  const { log, lines } = capture();
  const generated = `sk-${'0123456789ab'.repeat(4)}`;
  for (const before of ['', ' ', '"', '=', '/', '\n', '\t', '\u2028', '\u0001', '\\'])
    log.warn({ problem: `${before}sk-proj-0123_4567-89abcdef` }, 'refused');
  for (const before of ['x', '-', '_', '7', '%3D', '%22', 'KEY_', '\u001b[33m', 'x-'])
    for (const key of [generated, 'sk-proj-0123_4567-89abcdef', 'sk-ant-api03-0123abcdEFGH', 'sk-0123abcd0123abcd0123'])
      log.warn({ problem: `${before}${key}` }, 'refused');
  for (const line of lines) assert.ok(line.includes('sk-[redacted]') && !/0123/.test(line), line);
});

test('applies the log level to calls too', () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', to: { write: (line) => void lines.push(line) } });
  const telemetry = createCallTelemetry(NO_METRICS, log);
  telemetry.finished(reportOf());
  telemetry.finished(reportOf({ httpStatus: 500 }));
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).status),
    [500],
  );
});

test('counts and logs a late settlement with its cost', () => {
  const { log, lines } = capture();
  const late: string[] = [];
  const metrics = { ...NO_METRICS, billedLate: (billed: LateBilling) => void late.push(billed.requestId) };
  const telemetry = createCallTelemetry(metrics, log);
  const { requestId, model, group, billing } = reportOf();
  assert.ok(billing);
  telemetry.billedLate({ requestId, model, group, billing });
  assert.deepEqual(late, [requestId]);
  const line = JSON.parse(lines[0] ?? '{}');
  const { time, ...fields } = line;
  assert.match(time, TIME);
  assert.deepEqual(fields, {
    level: 'warn',
    msg: 'billed late',
    request_id: requestId,
    model: 'gpt-5',
    group: 'auto-a',
    call_status: 'Succeeded',
    input_tokens: 1000,
    cached_tokens: 200,
    cache_write_tokens: 34,
    output_tokens: 101,
    usage_source: 'Provider',
    cost_usd: '0.03375',
    unbilled_usd: '0',
  });
});

test('counts and logs each finished call once; faults of the gateway and providers are warnings', () => {
  const { log, lines } = capture();
  const counted: number[] = [];
  const metrics = { ...NO_METRICS, call: ({ httpStatus }: CallReport) => void counted.push(httpStatus) };
  const telemetry = createCallTelemetry(metrics, log);
  telemetry.finished(reportOf());
  telemetry.finished(reportOf({ httpStatus: 502, errorCode: 'upstream_error', attempts: [attemptOf('connect')] }));
  telemetry.finished(reportOf({ errorCode: 'upstream_error', attempts: [attemptOf('cut')] }));
  telemetry.finished(reportOf({ httpStatus: 429, errorCode: 'insufficient_quota', attempts: [] }));
  assert.deepEqual(counted, [200, 502, 200, 429]);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)).map(({ level, status, msg }) => [level, status, msg]),
    [
      ['info', 200, 'call'],
      ['warn', 502, 'call'],
      ['warn', 200, 'call'],
      ['info', 429, 'call'],
    ],
  );
});

test('warns of a job that was given up, but of no other end', () => {
  const { log, lines } = capture();
  const telemetry = createCallTelemetry(NO_METRICS, log);
  const job = { requestId: 'req_1', jobId: 'video_1', model: 'sora', group: 'g', channel: 'r/c' };
  for (const end of ['Completed', 'GivenUp'] as const) telemetry.jobEnded({ ...job, end });
  const [completed, givenUp] = lines.map((line) => JSON.parse(line));
  const { time, ...fields } = completed;
  assert.match(time, TIME);
  assert.deepEqual(fields, {
    level: 'info',
    msg: 'job ended',
    request_id: 'req_1',
    job_id: 'video_1',
    model: 'sora',
    group: 'g',
    channel: 'r/c',
    end: 'Completed',
  });
  assert.deepEqual([givenUp.level, givenUp.end], ['warn', 'GivenUp']);
});

/** A script that has a logger to standard output. */
function scriptOf(work: string): string[] {
  const from = (path: string): string => JSON.stringify(join(import.meta.dirname, '../../../..', path));
  const script = [
    `import { createLogger } from ${from('dataplane/telemetry/log.ts')};`,
    `import { standardOutput } from ${from('bin/run/output.ts')};`,
    'const log = createLogger({ to: standardOutput() });',
    work,
  ];
  return ['--input-type=module', '-e', script.join('\n')];
}

for (const end of ['process.exit(0)', 'throw new Error("crash")', 'undefined']) {
  test(`loses nothing at the end of a process: ${end}`, () => {
    const script = scriptOf(`for (let i = 0; i < 2000; i++) log.info({ i }, 'x'.repeat(100)); ${end};`);
    const { stdout } = spawnSync(process.execPath, script, { encoding: 'utf8', maxBuffer: 2 ** 24 });
    const seen = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).i);
    assert.deepEqual(
      seen,
      Array.from({ length: 2000 }, (_none, i) => i),
    );
  });
}

test('writes a single line without waiting for others or for the end', async () => {
  const child = spawn(process.execPath, scriptOf('log.info("hello"); process.stdin.resume();'));
  const exited = once(child, 'exit');
  const [text] = await once(child.stdout, 'data');
  assert.match(String(text), /"msg":"hello"/);
  child.stdin.end();
  await exited;
});
