/**
 * What becomes of a call's report: metrics and one log line.
 */
import type { Logger } from 'pino';
import type { CallReport, CallTelemetry } from './call-report.ts';
import { callLogLine } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Tells of every finished call. Calls that ended in a fault of the gateway or its providers are warnings. */
export function createCallTelemetry(metrics: Pick<Metrics, 'call' | 'ledger'>, log: Pick<Logger, 'info' | 'warn'>): CallTelemetry {
  return {
    finished(report: CallReport) {
      metrics.call(report);
      if (report.httpStatus >= 500) log.warn(callLogLine(report), 'call');
      else log.info(callLogLine(report), 'call');
    },
    ledger: metrics.ledger,
  };
}
