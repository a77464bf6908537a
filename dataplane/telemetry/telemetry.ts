/**
 * What becomes of a call's report: metrics and one log line.
 */
import type { Logger } from 'pino';
import type { CallReport, CallTelemetry, JobEnd } from './call-report.ts';
import { createCallLog, lateLogLine } from './call-log.ts';
import type { Metrics } from './metrics.ts';

/** Tells of every finished call. Calls that ended in a fault of the gateway or its providers are warnings. */
export function createCallTelemetry(metrics: Pick<Metrics, 'call' | 'billedLate' | 'ledger' | 'jobEnded'>, log: Logger): CallTelemetry {
  const logCall = createCallLog(log);
  return {
    finished(report: CallReport) {
      metrics.call(report);
      logCall(report, isFault(report) ? 'warn' : 'info');
    },
    billedLate(late) {
      metrics.billedLate(late);
      log.warn(lateLogLine(late), 'billed late');
    },
    jobEnded(end) {
      metrics.jobEnded(end);
      if (end.end === 'GivenUp') log.warn(jobLogLine(end), 'a job was given up: nobody heard how it ended, and it stays paid');
      else log.info(jobLogLine(end), 'job ended');
    },
    ledger: metrics.ledger,
  };
}

function jobLogLine({ requestId, jobId, model, group, channel, end }: JobEnd): Record<string, unknown> {
  return { request_id: requestId, job_id: jobId, model, group, channel, end };
}

/** A 5xx, or an answer that had begun well and ended in an error. */
function isFault({ httpStatus, errorCode }: CallReport): boolean {
  return httpStatus >= 500 || (httpStatus < 400 && errorCode !== undefined);
}
