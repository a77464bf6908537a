import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallLines } from '../../../dataplane/telemetry/call-log.ts';
import { createLogger } from '../../../dataplane/telemetry/log.ts';
import { createCallTelemetry } from '../../../dataplane/telemetry/telemetry.ts';
import { attemptOf, reportOf } from './report.ts';

const KEY = `sk-${'a1B2'.repeat(12)}`;

/** A logger and what it wrote. */
function capture(): { log: ReturnType<typeof createLogger>; lines: string[] } {
  const lines: string[] = [];
  return { log: createLogger({ to: { write: (line) => void lines.push(line) } }), lines };
}

test('one JSON object per line, with a time and a level in words', () => {
  const { log, lines } = capture();
  log.info({ a: 1 }, 'hello');
  log.debug('not at this level');
  assert.equal(lines.length, 1);
  const line = JSON.parse(lines[0] ?? '');
  assert.match(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual([line.level, line.a, line.msg], ['info', 1, 'hello']);
});

test('no key, token or credential is written, however it comes, and the line stays JSON', () => {
  const { log, lines } = capture();
  log.info(`refused ${KEY}`);
  log.info({ authorization: `Bearer ${KEY}`, 'x-api-key': 'short"quoted"', apiKey: 'plain', cookie: 'session=1' }, 'top');
  log.info({ request: { headers: { authorization: 'Basic dXNlcjpwYXNz', 'X-API-Key': ['one', 'two'], 'set-cookie': 'session=2' } } }, 'nested');
  log.error(new Error(`the provider said: invalid key ${KEY}, from header Bearer abcdefghijklmnop`));
  log.warn({ body: JSON.stringify({ key: KEY }) }, 'escaped');
  const text = lines.join('');
  for (const secret of [KEY, 'short', 'quoted', 'plain', 'session', 'dXNlcjpwYXNz', '"one"', 'abcdefghijklmnop']) assert.ok(!text.includes(secret), secret);
  for (const line of lines) JSON.parse(line);
  assert.equal(lines.length, 5);
});

test('what only looks similar is left alone', () => {
  const { log, lines } = capture();
  const harmless = { key_prefix: 'sk-abcd1234', error_code: 'invalid_api_key', task: 'ask-me-anything', note: 'basic plan, bearer of news' };
  log.info(harmless, 'line');
  const line = JSON.parse(lines[0] ?? '');
  for (const [field, value] of Object.entries(harmless)) assert.equal(line[field], value);
});

test('the line of a call: ids and exact figures', () => {
  assert.deepEqual(JSON.parse(createCallLines()(reportOf(), 'info', ',"time":"now"')), {
    level: 'info', time: 'now', msg: 'call', request_id: 'req_1', endpoint: 'chat_completions', dialect: 'OpenAI', stream: true, status: 200, key: 'team-a/ci-bot', key_prefix: 'sk-abcd',
    account: 'team-a/team-a', model: 'gpt-5', group: 'auto-a', attempts: [{ channel: 'openai/direct', outcome: 'ok', duration_ms: 500 }],
    call_status: 'Succeeded', input_tokens: 1000, cached_tokens: 200, cache_write_tokens: 34, output_tokens: 101, usage_source: 'Provider',
    cost_usd: '0.03375', unbilled_usd: '0', duration_ms: 1500.123, first_byte_ms: 500,
  });
});

test('the line of a call that was refused before anything was known', () => {
  const line = createCallLines()(reportOf({ httpStatus: 401, errorCode: 'invalid_api_key', key: undefined, model: undefined, group: undefined, attempts: [], billing: undefined, firstByteMs: undefined }), 'warn', ',"time":"now"');
  assert.deepEqual(JSON.parse(line), {
    level: 'warn', time: 'now', msg: 'call', request_id: 'req_1', endpoint: 'chat_completions', dialect: 'OpenAI', stream: true, status: 401, error_code: 'invalid_api_key', attempts: [], duration_ms: 1500.123,
  });
});

test('names are escaped and looked through like everything else', () => {
  const { log, lines } = capture();
  const telemetry = createCallTelemetry({ call: () => undefined, billedLate: () => undefined, ledger: () => undefined, jobEnded: () => undefined }, log);
  const model = 'quote " back \\ line \n tab \t \u2028 é 😀 \ud800';
  telemetry.finished(reportOf({ model, group: `after Bearer ${KEY}`, key: { namespace: 'n', name: KEY, prefix: 'p', account: 'x"y' }, attempts: [attemptOf('ok', KEY), attemptOf('connect', 'b"c'), attemptOf('reset', `d ${KEY}`)] }));
  const [text = ''] = lines;
  assert.ok(text.endsWith('}\n') && !text.includes(KEY));
  const line = JSON.parse(text);
  assert.deepEqual([line.model, line.group, line.account, line.attempts[1].channel, line.attempts[2].channel], [model, 'after Bearer sk-[redacted]', 'x"y', 'b"c', 'd sk-[redacted]']);
  assert.match(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('the level of the log holds for calls too', () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', to: { write: (line) => void lines.push(line) } });
  const telemetry = createCallTelemetry({ call: () => undefined, billedLate: () => undefined, ledger: () => undefined, jobEnded: () => undefined }, log);
  telemetry.finished(reportOf());
  telemetry.finished(reportOf({ httpStatus: 500 }));
  assert.deepEqual(lines.map((line) => JSON.parse(line).status), [500]);
});

test('a settlement that came late is counted and logged with what it cost', () => {
  const { log, lines } = capture();
  const late: string[] = [];
  const telemetry = createCallTelemetry({ call: () => undefined, billedLate: ({ requestId }) => void late.push(requestId), ledger: () => undefined, jobEnded: () => undefined }, log);
  const { requestId, model, group, billing } = reportOf();
  assert.ok(billing);
  telemetry.billedLate({ requestId, model, group, billing });
  assert.deepEqual(late, [requestId]);
  const line = JSON.parse(lines[0] ?? '{}');
  assert.deepEqual([line.msg, line.level, line.request_id, typeof line.cost_usd], ['billed late', 'warn', requestId, 'string']);
});

test('each finished call is counted and logged once; the gateway\'s and its providers\' faults are warnings', () => {
  const { log, lines } = capture();
  const counted: number[] = [];
  const telemetry = createCallTelemetry({ call: ({ httpStatus }) => void counted.push(httpStatus), billedLate: () => undefined, ledger: () => undefined, jobEnded: () => undefined }, log);
  telemetry.finished(reportOf());
  telemetry.finished(reportOf({ httpStatus: 502, errorCode: 'upstream_error', attempts: [attemptOf('connect')] }));
  telemetry.finished(reportOf({ errorCode: 'upstream_error', attempts: [attemptOf('cut')] }));
  telemetry.finished(reportOf({ httpStatus: 429, errorCode: 'insufficient_quota', attempts: [] }));
  assert.deepEqual(counted, [200, 502, 200, 429]);
  assert.deepEqual(lines.map((line) => JSON.parse(line)).map(({ level, status, msg }) => [level, status, msg]), [
    ['info', 200, 'call'], ['warn', 502, 'call'], ['warn', 200, 'call'], ['info', 429, 'call'],
  ]);
});
