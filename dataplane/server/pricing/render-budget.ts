/**
 * A budget of CPU time for views of the price list that are not cached: nobody needs a key to ask for one, and a long
 * list takes a while. Together they may have a tenth of the process's time, and a little at once.
 */
import { GatewayError } from '../../errors.ts';

/** Renders, or throws too_busy where the budget is used up. */
export type RenderLimit = (render: () => string) => string;

const SHARE = 0.1;
const BURST_MS = 250;
const RETRY_SECONDS = 1;

/** `monotonicMs`: a clock that never goes back, in milliseconds. */
export function createRenderBudget(monotonicMs: () => number): RenderLimit {
  /** Time spent that has not been earned back. */
  let owedMs = 0;
  let asOfMs = monotonicMs();
  return (render) => {
    const startedMs = monotonicMs();
    owedMs = Math.max(0, owedMs - (startedMs - asOfMs) * SHARE);
    asOfMs = startedMs;
    if (owedMs >= BURST_MS)
      throw new GatewayError('too_busy',
        'Too many different views of the price list are asked for. Try again shortly; /pricing.json has all of it.',
        { retryAfterSeconds: RETRY_SECONDS });
    try {
      return render();
    } finally {
      owedMs += monotonicMs() - startedMs;
    }
  };
}
