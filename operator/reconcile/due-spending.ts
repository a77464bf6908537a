/**
 * [P] Selects the objects whose spending must be read: all of them at first, after the end of a period, and if the
 * ledger does not report changes; otherwise those with changed spending and new or edited objects. Idle keys cost
 * nothing.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import { keyUidOf, namespacedName } from '#objects/resources.ts';

export interface SpendingSources {
  readonly ledger: LedgerReader;
  readonly nowMs: number;
}

/** The objects whose spending is read. */
export interface SpendingOwners {
  readonly apiKeys: readonly ApiKey[];
  readonly accounts: readonly Account[];
}

export interface DueSpending {
  /** Returns the objects to read, each once. Rejects with the ledger's errors. */
  take(owners: SpendingOwners, sources: SpendingSources): Promise<SpendingOwners>;
  /**
   * Notes the end of a period that was read. All objects are read again then, because the ledger reports no change for
   * it.
   */
  until(endMs: number | null): void;
  /** Adds an object to the next selection. */
  again(object: ApiKey | Account): void;
  /** Call it if selected objects could not be read: the next selection has all objects. */
  missed(): void;
}

export function trackDueSpending(): DueSpending {
  const keys = trackObjects(keyUidOf);
  const accounts = trackObjects(({ metadata }: Account) => namespacedName(metadata));
  let mark: object | undefined;
  let endMs = Number.POSITIVE_INFINITY;
  let readMs = Number.NEGATIVE_INFINITY;

  return {
    async take(owners, { ledger, nowMs }) {
      if (!ledger.changesSince) return owners;
      const changes = await ledger.changesSince(mark);
      ({ mark } = changes);
      // a clock that was set back starts another period too
      const periods = nowMs >= readMs && nowMs < endMs;
      readMs = nowMs;
      if (!periods) endMs = Number.POSITIVE_INFINITY;
      return {
        apiKeys: keys.take(owners.apiKeys, periods ? changes.keys : undefined),
        accounts: accounts.take(owners.accounts, periods ? changes.accounts : undefined),
      };
    },
    until(ms) {
      if (ms !== null && ms < endMs) endMs = ms;
    },
    again(object) {
      if (object.kind === 'ApiKey') keys.again(object);
      else accounts.again(object);
    },
    missed() {
      mark = undefined;
    },
  };
}

interface TrackedObjects<T> {
  /** Returns new objects, those to be read again, and changed ones; all objects if the changes are unknown. */
  take(objects: readonly T[], changed: readonly string[] | undefined): readonly T[];
  again(object: T): void;
}

function trackObjects<T extends object>(idOf: (object: T) => string): TrackedObjects<T> {
  let byId: ReadonlyMap<string, T> = new Map();
  const again = new Set<T>();

  /** The objects that are new or were edited. */
  function follow(objects: readonly T[]): readonly T[] {
    const before = byId;
    byId = new Map(objects.map((object) => [idOf(object), object]));
    return objects.filter((object) => before.get(idOf(object)) !== object);
  }

  return {
    take(objects, changed) {
      const due = new Set(follow(objects));
      // an object that was edited or removed meanwhile is skipped
      for (const object of again) if (byId.get(idOf(object)) === object) due.add(object);
      again.clear();
      if (!changed) return objects;
      for (const id of changed) {
        const object = byId.get(id);
        if (object) due.add(object);
      }
      return [...due];
    },
    again: (object) => void again.add(object),
  };
}
