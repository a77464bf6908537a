/** Opens the ledger that a command line names, and logs its events. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { LedgerFault } from '../dataplane/ledger/embedded/committer.ts';
import { openEmbeddedLedger } from '../dataplane/ledger/embedded.ts';
import type { Ledger } from '../dataplane/ledger/ledger.ts';
import type { LedgerEvent } from '../dataplane/ledger/valkey/instance.ts';
import type { RefillSource } from '../dataplane/ledger/valkey/refill.ts';
import type { LedgerLocation } from './ledger-location.ts';

interface LedgerFlags {
  /** The location of the ledger; undefined: ledger.db in the data folder. */
  readonly place: LedgerLocation | undefined;
  /** What an acknowledged step of a ledger file survives; a shared ledger ignores it. */
  readonly sync: 'normal' | 'full';
  /** The folder of the ledger's files; undefined for a shared ledger without a journal. */
  readonly dataDir: string | undefined;
  readonly log: Logger;
  /** True if objects come from files, so that each process counts generations itself. */
  readonly ownGenerations?: boolean;
  /** Returns the known spending, with which an empty shared store is refilled. */
  readonly refill?: RefillSource;
}

/**
 * Rejects with a message for users if the ledger cannot be used. A shared ledger that cannot be reached is opened
 * nevertheless, and refuses calls until it can be reached.
 */
export async function openLedger({ place, sync, dataDir, log, ownGenerations, refill }: LedgerFlags): Promise<Ledger> {
  if (place?.kind === 'valkey') {
    // loads the client only if it is needed
    const { openValkeyLedger } = await import('../dataplane/ledger/valkey.ts');
    return openValkeyLedger({
      url: place.url,
      dataDir,
      onEvent: (event) => logEvent(log, event),
      ownGenerations: ownGenerations ?? false,
      ...(refill ? { refill } : {}),
    });
  }
  return openEmbeddedLedger({
    path: place?.path ?? join(dataDir ?? '.', 'ledger.db'),
    sync,
    onFault: (fault) => logFault(log, fault),
  });
}

function logFault(log: Logger, { state, reason }: LedgerFault): void {
  switch (state) {
    case 'Failing':
      return log.error({ reason }, 'the ledger fails: calls are refused');
    case 'Recovered':
      return log.info('the ledger works again');
    case 'Damaged':
      return log.error({ reason }, 'the log of the ledger is damaged: the latest calls are lost');
    case 'Lagging':
      return log.warn(
        { reason },
        'cannot checkpoint the log of the ledger into its file: calls continue, and the log grows',
      );
    case 'CaughtUp':
      return log.info('the log of the ledger is checkpointed into its file again');
  }
}

function logEvent(log: Logger, event: LedgerEvent): void {
  switch (event.kind) {
    case 'Failing':
      return log.warn({ reason: event.reason }, 'the ledger fails: calls are refused');
    case 'Working':
      return log.info('the ledger works');
    case 'Emptied':
      return log.warn(
        { putBack: event.putBack },
        'the store of the ledger was empty: restoring it from this process and the statuses',
      );
    case 'LostWrites':
      return log.warn(
        { putBack: event.putBack },
        'the store of the ledger had lost acknowledged data: restored it from this process',
      );
    case 'LostValues':
      return log.warn(
        { lost: event.names },
        'the store of the ledger had lost balances of keys (k:) or accounts (a:), or holds of calls (c:), which are ' +
          'restored from their copies: they were deleted, or evicted because maxmemory-policy is not noeviction',
      );
    case 'Reaped':
      return log.warn({ calls: event.calls }, 'billed the calls of a process that died at their last progress');
    case 'Evicts':
      return log.warn(event.reason);
    case 'JournalFails':
      return log.error(
        { reason: event.reason },
        'cannot write the journal of the ledger: settlements that Valkey does not accept are lost with this ' +
          'process',
      );
  }
}
