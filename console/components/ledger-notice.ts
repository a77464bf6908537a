/** [P] What pages say where the ledger's records are missing, or do not go back far enough. */
import { renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { SpendingSums } from '../data/usage.ts';
import { notice } from './notice.ts';

/** The notice shown if the records cannot be read. */
export function renderLedgerNotice(why: 'Missing' | 'Unavailable'): Html {
  if (why === 'Unavailable')
    return notice(
      'The ledger does not answer at the moment, so calls and spending by day cannot be shown. Try again in a few seconds.',
      { tone: 'warn', role: 'status' },
    );
  return notice(
    'The console has not been told where the ledger is, so calls and spending by day cannot be shown. Balances are as ' +
      'the gateway last wrote them into the accounts.',
  );
}

/** The notice shown if an account has more calls than the console keeps. */
export function renderMissing({ wholeSinceMs }: Pick<SpendingSums, 'wholeSinceMs'>, sinceMs: number): Html {
  if (wholeSinceMs <= sinceMs) return NOTHING;
  return notice(
    html`There are more calls than the console keeps: some from before ${renderTime(wholeSinceMs)} are missing.
      <code>mgw usage</code> tells all that the ledger keeps.`,
    { id: 'calls-missing' },
  );
}
