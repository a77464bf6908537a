/** A bound on how long a call waits for the ledger. */
import { LedgerUnavailable } from '../ledger/ledger.ts';

/**
 * The work's result, or LedgerUnavailable once `ms` milliseconds have passed. The work goes on then, and a late failure
 * of it is ignored.
 */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new LedgerUnavailable(`no answer within ${ms} ms`)), ms);
  // the work keeps the process, the timeout does not
  timer.unref();
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
