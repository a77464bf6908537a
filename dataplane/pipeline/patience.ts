/** Waiting for the ledger, but not for ever. Every call waits so, and hardly any in vain. */
import { LedgerUnavailable } from '../ledger/ledger.ts';
import { NOWHERE, TimeLimits } from '../time-limits.ts';
import type { Limited } from '../time-limits.ts';

class Waiting implements Limited {
  dueMs = 0;
  place = NOWHERE;
  readonly #ms: number;
  readonly #giveUp: (error: LedgerUnavailable) => void;

  constructor(ms: number, giveUp: (error: LedgerUnavailable) => void) {
    this.#ms = ms;
    this.#giveUp = giveUp;
  }

  expire(): void {
    this.#giveUp(new LedgerUnavailable(`no answer within ${this.#ms} ms`));
  }
}

/** The work's result, or LedgerUnavailable when so much time has passed first; the work goes on, and its late failure is nobody's. */
export function createPatience(): <T>(ms: number, work: Promise<T>) => Promise<T> {
  // what is waited for keeps the process, not the waiting
  const limits = new TimeLimits({ keepsProcess: false });
  return (ms, work) => new Promise((resolve, reject) => {
    const waiting = new Waiting(ms, reject);
    limits.set(waiting, ms);
    work.then((result) => {
      limits.clear(waiting);
      resolve(result);
    }, (error: unknown) => {
      limits.clear(waiting);
      reject(error instanceof Error ? error : new LedgerUnavailable('the ledger failed', { cause: error }));
    });
  });
}
