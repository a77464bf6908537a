/** Turns what happens to calls and jobs into metrics and log lines. */
import type { Logger } from 'pino';
import { callFields, jobFields, lateBillingFields } from './call-log.ts';
import type { CallReport, CallTelemetry } from './call-report.ts';
import type { Metrics } from './metrics.ts';

/**
 * Counts each call and writes one log line about it, a warning if the gateway or its providers are at fault. @param
 * record keeps the recent calls that owners of keys see
 */
export function createCallTelemetry(
  metrics: Pick<Metrics, 'call' | 'responded' | 'billedLate' | 'ledger' | 'jobEnded'>,
  log: Logger,
  record?: CallTelemetry['finished'],
): CallTelemetry {
  return {
    finished(report) {
      metrics.call(report);
      record?.(report);
      log[isFault(report) ? 'warn' : 'info'](callFields(report), 'call');
    },
    billedLate(late) {
      metrics.billedLate(late);
      log.warn(lateBillingFields(late), 'billed late');
    },
    jobEnded(end) {
      metrics.jobEnded(end);
      const fields = jobFields(end);
      if (end.end !== 'GivenUp') log.info(fields, 'job ended');
      else log.warn(fields, 'stopped polling a job: its result is unknown, and it stays billed');
    },
    responded: metrics.responded,
    ledger: metrics.ledger,
  };
}

/** True for a 5xx, or a response that began with success and ended in an error. */
function isFault({ httpStatus, errorCode }: CallReport): boolean {
  return httpStatus >= 500 || (httpStatus < 400 && errorCode !== undefined);
}
