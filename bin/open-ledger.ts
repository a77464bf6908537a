/** Opens the ledger that a command line names, and logs its events. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { LedgerFault } from '../dataplane/ledger/embedded/committer.ts';
import { openEmbeddedLedger } from '../dataplane/ledger/embedded.ts';
import type { Ledger } from '../dataplane/ledger/ledger.ts';
import type { LedgerEvent } from '../dataplane/ledger/valkey/instance.ts';
import type { RefillSource } from '../dataplane/ledger/valkey/refill.ts';
import type { LedgerLocation } from './options.ts';

interface LedgerFlags {
  /** Undefined: ledger.db in the data folder. */
  readonly place: LedgerLocation | undefined;
  /** For a file: what an acknowledged step survives. */
  readonly sync: 'normal' | 'full';
  /** Undefined: nothing is kept here; only for a shared one. */
  readonly dataDir: string | undefined;
  readonly log: Logger;
  /** True where objects come from files, whose generations each process counts for itself. */
  readonly ownGenerations?: boolean;
  /** For a shared one that begins anew. */
  readonly refill?: RefillSource;
}

/**
 * Rejects with words for people where it cannot be used. A shared ledger that cannot be reached is opened, and refuses
 * calls until it can.
 */
export async function openLedger({ place, sync, dataDir, log, ownGenerations, refill }: LedgerFlags): Promise<Ledger> {
  if (place?.kind === 'valkey') {
    // the client is loaded only by who needs it
    const { openValkeyLedger } = await import('../dataplane/ledger/valkey.ts');
    return openValkeyLedger({ url: place.url, dataDir, onEvent: (event) =>
      tell(log, event), ownGenerations: ownGenerations ?? false, ...(refill ? { refill } : {}) });
  }
  return openEmbeddedLedger({ path: place?.path ??
    join(dataDir ?? '.', 'ledger.db'), sync, onFault: (fault) => logFault(log, fault) });
}

function logFault(log: Logger, { state, reason }: LedgerFault): void {
  switch (state) {
    case 'Failing': return log.error({ reason }, 'the ledger fails: calls are refused');
    case 'Recovered': return log.info('the ledger works again');
    case 'Lagging': return log.warn(
      { reason }, 'the ledger\'s file cannot be written: calls go on, and its journal grows',
    );
    case 'CaughtUp': return log.info('the ledger\'s file has taken in its journal');
  }
}

function tell(log: Logger, event: LedgerEvent): void {
  switch (event.kind) {
    case 'Failing': return log.warn({ reason: event.reason }, 'the ledger fails: calls are refused');
    case 'Working': return log.info('the ledger works');
    case 'Emptied': return log.warn({ putBack:
      event.putBack }, 'the ledger\'s store was empty: it is filled from what this process and the statuses know');
    case 'LostWrites': return log.warn({ putBack:
      event.putBack }, 'the ledger\'s store had lost what it acknowledged: this process has put back what it knows');
    case 'Reaped': return log.warn(
      { calls: event.calls }, 'calls of a process that died are billed at their last progress',
    );
    case 'JournalFails': return log.error({ reason: event.reason }, 'the ledger\'s journal cannot be written: ' +
      'settlements that Valkey does not take are lost with this process');
  }
}
