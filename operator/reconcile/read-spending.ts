/**
 * Reads the spending of keys and accounts from the ledger into the status tracker. Nearly all of a hundred thousand
 * keys are idle between two reads, so only changed spending is read if the ledger reports changes, and only differences
 * are formatted.
 */
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AccountSpending, KeySpending } from '#ledger/spending.ts';
import { isTimeZone, timeZoneOf } from '#snapshot/time-zone.ts';
import { accountSpendingStatus, creditOf, keySpendingStatus, limitsStatus, windowsOf } from '../status/spending.ts';
import type { SpendingStatus } from '../status/spending.ts';
import { accountIdOf, allOf, keyUidOf, namespacedName, objectId } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { createMutex } from '#runtime/mutex.ts';
import { trackDueSpending } from './due-spending.ts';
import type { SpendingSources } from './due-spending.ts';
import type { StatusTracker } from './status-tracker.ts';

interface SpendingReader {
  /** Resolves with false if the ledger does not respond; the tracker then keeps its figures. */
  read(resources: Resources, sources: SpendingSources): Promise<boolean>;
}

/** The size of a batch. Calls have their turn between two batches, because there may be a hundred thousand keys. */
const READS_AT_ONCE = 64;

/** Use one reader per tracker, and create a new reader when the tracker is cleared. */
export function createSpendingReader(tracker: StatusTracker, gatewayNamespace: string): SpendingReader {
  /** By the object's version, because the same spending has another meaning for an edited object. */
  const known = new WeakMap<ApiKey | Account, KeySpending | AccountSpending>();
  const due = trackDueSpending();
  const inTurn = createMutex();

  async function readKey(apiKey: ApiKey, { ledger, nowMs }: SpendingSources): Promise<void> {
    const { quota } = apiKey.spec;
    const { period } = quota;
    const timeZone = timeZoneOf(quota);
    // the finding of a key says that there is no such time zone
    if (!isTimeZone(timeZone)) return;
    const spending = await ledger.readKey(keyUidOf(apiKey), { period, timeZone }, accountIdOf(apiKey));
    due.until(spending.resetsMs);
    enter(apiKey, spending, () => keySpendingStatus(apiKey, spending), nowMs);
  }

  async function readAccount(account: Account, { ledger, nowMs }: SpendingSources): Promise<void> {
    const credit = creditOf(account);
    if (credit === undefined) return;
    const windows = windowsOf(account);
    if (!windows.every(({ timeZone }) => isTimeZone(timeZone))) return;
    const spending = await ledger.readAccount(namespacedName(account.metadata), windows);
    for (const { endMs } of spending.windows ?? []) due.until(endMs);
    enter(account, spending, () => accountSpendingStatus(credit, spending, limitsStatus(account, spending)), nowMs);
  }

  /** Records spending, unless the tracker has it already. */
  function enter(
    object: ApiKey | Account,
    spending: KeySpending | AccountSpending,
    words: () => SpendingStatus,
    nowMs: number,
  ): void {
    const id = objectId(object.kind, object.metadata);
    const before = known.get(object);
    if (before && isDeepStrictEqual(before, spending) && tracker.hasSpending(id)) return;
    if (tracker.spent(id, words(), nowMs, object.metadata.generation)) known.set(object, spending);
    else due.again(object); // the tracker does not know the object or this version of it yet
  }

  async function readAll<T extends ApiKey | Account>(
    objects: readonly T[],
    readOne: (object: T) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < objects.length; at += READS_AT_ONCE) {
      await setImmediate();
      const counting = objects
        .slice(at, at + READS_AT_ONCE)
        .filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace);
      await Promise.all(counting.map((object) => readOne(object)));
    }
  }

  return {
    read: (resources, sources) =>
      inTurn(async () => {
        try {
          const owners = { apiKeys: allOf(resources.apiKeys), accounts: allOf(resources.accounts) };
          const { apiKeys, accounts } = await due.take(owners, sources);
          await readAll(apiKeys, (apiKey) => readKey(apiKey, sources));
          await readAll(accounts, (account) => readAccount(account, sources));
          return true;
        } catch (error) {
          due.missed();
          if (error instanceof LedgerUnavailable) return false;
          throw error;
        }
      }),
  };
}
