/**
 * Logs: one JSON object per line, one line per finished call. Nothing that is logged is meant to hold a secret; as a second
 * line of defence the finished line is looked through: fields with a secret's name are censored, and whatever looks like a key
 * or a bearer token is masked, in error messages and stacks too. (Pino's own redaction by path takes 30 µs per line.)
 */
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';
import { formatDecimal } from '../snapshot/decimal.ts';
import type { AttemptReport, CallReport, LateBilling } from './call-report.ts';

export interface LogOptions {
  /** Default "info". */
  readonly level?: Level | 'silent';
  /** Default: standard output, written without waiting, within 50 ms; what is left is written when the process exits. */
  readonly destination?: DestinationStream;
}

/** Lines are written together, at most so many bytes and so late: a write per line costs as much as all else of a line. */
const WRITE_BYTES = 8 * 1024;
const WRITE_EVERY_MS = 50;

const REDACTED = '[redacted]';

/** What a line with a secret in it has; lines without, nearly all, cost this one look. */
const SUSPECT = /sk-[A-Za-z0-9_-]{16}|bearer|basic|authorization|api[-_]?key|cookie/i;
const SECRET_FIELD = /"([\w-]*(?:authorization|api[-_]?key|cookie))":(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi;
/** Longer than any prefix that is shown to people. */
const KEY_LIKE = /sk-[A-Za-z0-9_-]{16,}/g;
const BEARER_LIKE = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;

/** A JSON line without what looks like a secret. */
export function maskSecrets(line: string): string {
  if (!SUSPECT.test(line)) return line;
  return line
    .replace(SECRET_FIELD, `"$1":"${REDACTED}"`)
    .replace(KEY_LIKE, `sk-${REDACTED}`)
    .replace(BEARER_LIKE, `$1 ${REDACTED}`);
}

/** A logger that writes ISO times and levels as words. */
export function createLogger({ level = 'info', destination }: LogOptions = {}): Logger {
  return pino({
    level,
    base: null,
    timestamp: isoTime(),
    formatters: { level: (label) => ({ level: label }) },
    hooks: { streamWrite: maskSecrets },
  }, destination ?? pino.destination({ dest: 1, sync: false, minLength: WRITE_BYTES, periodicFlush: WRITE_EVERY_MS }));
}

/** The time as a member of a line; the text is the same within a millisecond. */
function isoTime(): () => string {
  let latestMs = Number.NaN;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== latestMs) text = `,"time":"${new Date(nowMs).toISOString()}"`;
    latestMs = nowMs;
    return text;
  };
}

/** The line of a finished call: ids and figures, nothing of what was asked or answered. */
export function callLogLine(report: CallReport): Record<string, unknown> {
  const { key } = report;
  return {
    request_id: report.requestId,
    endpoint: report.endpoint,
    dialect: report.dialect,
    stream: report.stream,
    status: report.httpStatus,
    error_code: report.errorCode,
    key: key && `${key.namespace}/${key.name}`,
    key_prefix: key?.prefix,
    account: key?.account,
    model: report.model,
    group: report.group,
    attempts: report.attempts.map(attemptFields),
    ...billingFields(report.billing),
    duration_ms: tidy(report.durationMs),
    first_byte_ms: report.firstByteMs === undefined ? undefined : tidy(report.firstByteMs),
  };
}

/** The line of a settlement that came after its call's own line. */
export function lateLogLine({ requestId, model, group, billing }: LateBilling): Record<string, unknown> {
  return { request_id: requestId, model, group, ...billingFields(billing) };
}

function attemptFields({ channel, outcome, durationMs }: AttemptReport): Record<string, unknown> {
  return { channel, outcome, duration_ms: tidy(durationMs) };
}

function billingFields(billing: CallReport['billing']): Record<string, unknown> {
  if (!billing) return {};
  const { tokens } = billing;
  return {
    call_status: billing.status,
    input_tokens: tokens.input,
    cached_tokens: tokens.cached,
    cache_write_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
    output_tokens: tokens.output,
    usage_source: billing.usageSource,
    cost_usd: formatDecimal(billing.costNanoUsd),
    unbilled_usd: formatDecimal(billing.unbilledNanoUsd),
  };
}

/** Microseconds are enough. */
function tidy(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
