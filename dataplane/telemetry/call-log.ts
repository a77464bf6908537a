/** The fields of the log lines about calls and jobs: ids and figures, nothing of requests or responses. */
import { formatDecimal } from '#snapshot/decimal.ts';
import type { AttemptReport, CallReport, JobEnd, LateBilling } from './call-report.ts';

/** A log line's fields; pino leaves out those that are undefined. */
type LogFields = Readonly<Record<string, unknown>>;

/** The fields of a finished call's line. Durations are in milliseconds, rounded to microseconds. */
export function callFields(report: CallReport): LogFields {
  const { key, attempts, billing, firstByteMs } = report;
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
    attempts: attempts.map(attemptFields),
    ...(billing && billingFields(billing)),
    duration_ms: roundMs(report.durationMs),
    first_byte_ms: firstByteMs === undefined ? undefined : roundMs(firstByteMs),
  };
}

/** The fields of the line about a settlement that came after its call's own line. */
export function lateBillingFields({ requestId, model, group, billing }: LateBilling): LogFields {
  return { request_id: requestId, model, group, ...billingFields(billing) };
}

/** The fields of the line about a job's end. */
export function jobFields({ requestId, jobId, model, group, channel, end, billing }: JobEnd): LogFields {
  return {
    request_id: requestId,
    job_id: jobId,
    model,
    group,
    channel,
    end,
    ...(billing && billingFields(billing)),
  };
}

function attemptFields({ channel, outcome, durationMs }: AttemptReport): LogFields {
  return { channel, outcome, duration_ms: roundMs(durationMs) };
}

function billingFields(billing: LateBilling['billing']): LogFields {
  const { status, tokens, usageSource, costNanoUsd, unbilledNanoUsd } = billing;
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

function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
