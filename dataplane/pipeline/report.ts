/** What telemetry is told of a call when it is over: ids and figures, never a key or a prompt. */
import type { CallReport } from '../telemetry/call-report.ts';
import type { CallRecord, PipelineDeps, Received } from './context.ts';
import type { Settled } from './settle.ts';
import type { Told } from './answer.ts';

export function report(deps: Pick<PipelineDeps, 'clock' | 'telemetry'>, received: Received, record: CallRecord, end: { settled: Settled; told: Told }): void {
  deps.telemetry.finished(callReport(received, record, { ...end, endedAt: deps.clock.monotonicMs() }));
}

function callReport(received: Received, record: CallRecord, { settled, told, endedAt }: { settled: Settled; told: Told; endedAt: number }): CallReport {
  return {
    requestId: record.requestId,
    endpoint: received.endpoint,
    dialect: received.dialect,
    stream: record.routed?.call.stream ?? false,
    httpStatus: told.httpStatus,
    errorCode: told.errorCode,
    key: record.authenticated?.key,
    model: record.routed?.call.model,
    group: record.admitted?.candidate.group ?? record.authenticated?.key.group,
    attempts: record.attempts,
    billing: settled.result?.record,
    durationMs: endedAt - received.arrivedAt,
    firstByteMs: record.firstByteAt === undefined ? undefined : record.firstByteAt - received.arrivedAt,
  };
}
