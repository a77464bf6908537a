/**
 * A budget of CPU time for views of the price list that are not cached, because nobody needs a key to request one, and
 * a long list takes long to render. Together they may use a tenth of the process's time, with a short burst.
 */
import type { Clock } from '../../clock.ts';
import { GatewayError } from '../../errors.ts';

/** Renders, or throws too_busy if the budget is used up. */
export type RenderBudget = (render: () => string) => string;

const SHARE = 0.1;
const BURST_MS = 250;
const RETRY_SECONDS = 1;

/** Creates a full budget. */
export function createRenderBudget(clock: Pick<Clock, 'monotonicMs'>): RenderBudget {
  /** CPU time beyond the budget, which is paid back at SHARE. */
  let owedMs = 0;
  let asOfMs = clock.monotonicMs();
  return (render) => {
    const startedMs = clock.monotonicMs();
    owedMs = Math.max(0, owedMs - (startedMs - asOfMs) * SHARE);
    asOfMs = startedMs;
    if (owedMs >= BURST_MS)
      throw new GatewayError(
        'too_busy',
        'Too many different views of the price list are asked for. Try again shortly; /pricing.json has all of it.',
        { retryAfterSeconds: RETRY_SECONDS },
      );
    try {
      return render();
    } finally {
      owedMs += clock.monotonicMs() - startedMs;
    }
  };
}
