/**
 * What becomes of a call's report: metrics and one log line.
 */
import type { Logger } from 'pino';
import type { CallReport, CallTelemetry } from './call-report.ts';
import { callLogLine, lateLogLine } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Tells of every finished call. Calls that ended in a fault of the gateway or its providers are warnings. */
export function createCallTelemetry(metrics: Pick<Metrics, 'call' | 'billedLate' | 'ledger'>, log: Pick<Logger, 'info' | 'warn'>): CallTelemetry {
  return {
    finished(report: CallReport) {
      metrics.call(report);
      if (isFault(report)) log.warn(callLogLine(report), 'call');
      else log.info(callLogLine(report), 'call');
    },
    billedLate(late) {
      metrics.billedLate(late);
      log.warn(lateLogLine(late), 'billed late');
    },
    ledger: metrics.ledger,
  };
}

/** A 5xx, or an answer that had begun well and ended in an error. */
function isFault({ httpStatus, errorCode }: CallReport): boolean {
  return httpStatus >= 500 || (httpStatus < 400 && errorCode !== undefined);
}
