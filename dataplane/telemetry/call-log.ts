/**
 * The log line of a finished call: ids and figures, nothing of what was asked or answered. There is one for each call, so it is
 * put together by hand and goes to the logger's own destination, past the steps that a logger takes for lines of any shape. What
 * comes from the configuration or the request is escaped and looked through for secrets like every other line.
 */
import { symbols } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { formatDecimal } from '../snapshot/decimal.ts';
import type { AttemptReport, CallReport, LateBilling } from './call-report.ts';
import { createIsoTime, maskSecrets } from './log.ts';

export type CallLogLevel = 'info' | 'warn';

/** Writes the lines of calls to where this logger writes, as far as it lets their level pass. */
export function createCallLog(log: Logger): (report: CallReport, level: CallLogLevel) => void {
  const destination = destinationOf(log);
  const time = createIsoTime();
  return (report, level) => {
    if (log.isLevelEnabled(level)) destination.write(callLogLine(report, level, time()));
  };
}

function destinationOf(log: Logger): DestinationStream {
  const stream: unknown = Reflect.get(log, symbols.streamSym);
  if (!isDestination(stream)) throw new TypeError('the logger has no destination');
  return stream;
}

function isDestination(stream: unknown): stream is DestinationStream {
  return typeof stream === 'object' && stream !== null && 'write' in stream && typeof stream.write === 'function';
}

/** One line of JSON with its line break; `time` is a member with its comma, as log.ts makes it. */
export function callLogLine(report: CallReport, level: CallLogLevel, time: string): string {
  const { requestId, endpoint, dialect, stream, httpStatus, errorCode, durationMs, firstByteMs } = report;
  return `{"level":"${level}"${time},"request_id":"${requestId}","endpoint":"${endpoint}","dialect":"${dialect}","stream":${stream},"status":${httpStatus}`
    + `${errorCode === undefined ? '' : `,"error_code":"${errorCode}"`}${namesOf(report)}${billingOf(report.billing)}`
    + `,"duration_ms":${tidy(durationMs)}${firstByteMs === undefined ? '' : `,"first_byte_ms":${tidy(firstByteMs)}`},"msg":"call"}\n`;
}

/** The line of a settlement that came after its call's own line. */
export function lateLogLine({ requestId, model, group, billing }: LateBilling): Record<string, unknown> {
  return { request_id: requestId, model, group, ...billingFields(billing) };
}

/** Everything that has a text of people's choice in it. */
function namesOf({ key, model, group, attempts }: CallReport): string {
  const who = key ? whoIs(key) : '';
  const what = (model === undefined ? '' : `,"model":"${write(model)}"`) + (group === undefined ? '' : `,"group":"${write(group)}"`);
  const [only] = attempts;
  return `${who}${what},"attempts":[${only && attempts.length === 1 ? attemptOf(only) : attempts.map(attemptOf).join(',')}]`;
}

/** A key as its lines have it, for as long as the configuration has it so. */
const known = new WeakMap<CalledKey, string>();

type CalledKey = NonNullable<CallReport['key']>;

function whoIs(key: CalledKey): string {
  let who = known.get(key);
  if (who === undefined)
    known.set(key, who = `,"key":"${write(key.namespace)}/${write(key.name)}","key_prefix":"${write(key.prefix)}","account":"${write(key.account)}"`);
  return who;
}

function attemptOf({ channel, outcome, durationMs }: AttemptReport): string {
  return `{"channel":"${write(channel)}","outcome":"${outcome}","duration_ms":${tidy(durationMs)}}`;
}

function billingOf(billing: CallReport['billing']): string {
  if (!billing) return '';
  const { status, tokens, usageSource, costNanoUsd, unbilledNanoUsd } = billing;
  return `,"call_status":"${status}","input_tokens":${tokens.input},"cached_tokens":${tokens.cached},"cache_write_tokens":${tokens.cacheWrite5m + tokens.cacheWrite1h}`
    + `,"output_tokens":${tokens.output},"usage_source":"${usageSource}","cost_usd":"${formatDecimal(costNanoUsd)}","unbilled_usd":"${formatDecimal(unbilledNanoUsd)}"`;
}

function billingFields({ status, tokens, usageSource, costNanoUsd, unbilledNanoUsd }: LateBilling['billing']): Record<string, unknown> {
  return {
    call_status: status,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    cache_write_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
    output_tokens: tokens.output,
    usage_source: usageSource,
    cost_usd: formatDecimal(costNanoUsd),
    unbilled_usd: formatDecimal(unbilledNanoUsd),
  };
}

/** As few names as a configuration has come again and again: what each is in a line is worked out once. */
const written = new Map<string, string>();
const MOST_WRITTEN = 10_000;

/** Within quotes: escaped, and without what looks like a secret. */
function write(text: string): string {
  const known = written.get(text);
  if (known !== undefined) return known;
  const escaped = maskSecrets(JSON.stringify(text).slice(1, -1));
  if (written.size >= MOST_WRITTEN) written.clear();
  written.set(text, escaped);
  return escaped;
}

/** Microseconds are enough. */
function tidy(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
