/** The ledger's part of a proxy's readiness. */
import type { Clock } from './clock.ts';
import type { Ledger, LedgerHealth } from './ledger/ledger.ts';
import type { ReadinessCheck } from './admin/server.ts';

/** How long a process that starts waits for its ledger before it accepts calls without it. */
const FIRST_CONTACT_WITHIN_MS = 15_000;

/**
 * A new process is not ready until it has reached its ledger once, because others serve meanwhile. From then on, and
 * after 15 s in any case, the check is advisory: all replicas share the ledger, and without it they refuse calls with
 * 503 and retry-after, and serve models and prices.
 */
export function checkLedger(ledger: Pick<Ledger, 'health'>, clock: Pick<Clock, 'monotonicMs'>): () => ReadinessCheck {
  const startedMs = clock.monotonicMs();
  const health = (): LedgerHealth => ledger.health?.() ?? { ok: true, reason: '' };
  let isReached = health().ok;
  return () => {
    const { ok, reason } = health();
    isReached ||= ok || clock.monotonicMs() - startedMs >= FIRST_CONTACT_WITHIN_MS;
    return { name: 'ledger', ok, detail: reason, ...(isReached && { advisory: true }) };
  };
}
