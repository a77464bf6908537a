/** [P] What pages say where the ledger's records are missing, or do not go back far enough. */
import { renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { SpendingSums } from '../data/usage.ts';

/** The notice shown if the records cannot be read. */
export function renderLedgerNotice(why: 'Missing' | 'Unavailable'): Html {
  if (why === 'Unavailable')
    return html`<div class="notice warn" role="status">
      <p>
        The ledger does not answer at the moment, so calls and spending by day cannot be shown. Try again in a few
        seconds.
      </p>
    </div>`;
  return html`<div class="notice">
    <p>
      The console has not been told where the ledger is, so calls and spending by day cannot be shown. Balances are as
      the gateway last wrote them into the accounts.
    </p>
  </div>`;
}

/** The notice shown if an account has more calls than the console keeps. */
export function renderMissing({ wholeSinceMs }: Pick<SpendingSums, 'wholeSinceMs'>, sinceMs: number): Html {
  if (wholeSinceMs <= sinceMs) return NOTHING;
  return html`<div class="notice" id="calls-missing">
    <p>
      There are more calls than the console keeps: some from before ${renderTime(wholeSinceMs)} are missing.
      <code>mgw usage</code> tells all that the ledger keeps.
    </p>
  </div>`;
}
