/**
 * [P] Selects the objects whose spending is to be read: all of them at first, when a period has ended, and where the
 * ledger does not report changes; otherwise those with changed spending and new or edited objects. Idle keys cost
 * nothing.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { LedgerReader } from '#ledger/ledger.ts';
import { keyUidOf, namespacedName } from '../store/resources.ts';
import type { Resources } from '../store/resources.ts';

export interface SpendingSources {
  readonly ledger: LedgerReader;
  readonly nowMs: number;
}

type SpendingOwners = Pick<Resources, 'apiKeys' | 'accounts'>;

export interface DueSpending {
  /** What is to be read, once. Rejects as the ledger does. */
  take(resources: SpendingOwners, sources: SpendingSources): Promise<SpendingOwners>;
  /** A period that was read ends then: all is read again, as no change tells of it. */
  until(endMs: number | null): void;
  /** To be read next time, too. */
  again(object: ApiKey | Account): void;
  /** Something was taken and not read: all is, next time. */
  missed(): void;
}

export function trackDueSpending(): DueSpending {
  const keys = trackObjects(keyUidOf);
  const accounts = trackObjects(({ metadata }: Account) => namespacedName(metadata));
  let mark: object | undefined;
  let endMs = Number.POSITIVE_INFINITY;
  let readMs = Number.NEGATIVE_INFINITY;

  return {
    async take(resources, { ledger, nowMs }) {
      if (!ledger.changesSince) return resources;
      const changes = await ledger.changesSince(mark);
      ({ mark } = changes);
      // the same as then; also a clock that is set back begins another
      const periods = nowMs >= readMs && nowMs < endMs;
      readMs = nowMs;
      if (!periods) endMs = Number.POSITIVE_INFINITY;
      return {
        apiKeys: keys.take(resources.apiKeys, periods ? changes.keys : undefined),
        accounts: accounts.take(resources.accounts, periods ? changes.accounts : undefined),
      };
    },
    until(ms) {
      if (ms !== null && ms < endMs) endMs = ms;
    },
    again(object) {
      if (object.kind === 'ApiKey') keys.again(object);
      else accounts.again(object);
    },
    missed() { mark = undefined; },
  };
}

interface TrackedObjects<T> {
  /**
   * Of these, the new ones, those to be read again, and the changed ones; all where nobody can tell which have changed.
   */
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
      // what was edited or removed meanwhile is no more what it was
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
