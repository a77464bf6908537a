/**
 * [P] Whether a snapshot that differs from the last one in a few objects can be given out: what is new is validated as a proxy
 * would, and what no two keys may share is counted. Where anything is amiss it says no more than that; the whole snapshot then has
 * to be validated to know what.
 */
import type { Key, Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateOneKey, validateSnapshot } from '#snapshot/validate.ts';
import { listChanges, sameItems } from '../store/list-changes.ts';

/** Whether a snapshot is without faults. */
export type IsFaultless = (snapshot: Snapshot) => boolean;

export function createEditValidator(): IsFaultless {
  const shared = countShared();
  const faultyKeys = new Set<Key>();
  let rest: Snapshot | undefined;
  let restFaultless = true;
  let keys: readonly Key[] = [];

  return (snapshot) => {
    const { removed, added } = listChanges(keys, snapshot.keys);
    keys = snapshot.keys;
    for (const key of removed) {
      shared.count(key, -1);
      faultyKeys.delete(key);
    }
    for (const key of added) {
      shared.count(key, 1);
      if (validateOneKey(key).length > 0) faultyKeys.add(key);
    }
    if (!rest || !sameRest(rest, snapshot)) {
      rest = snapshot;
      restFaultless = validateSnapshot({ ...snapshot, keys: [] }).length === 0;
    }
    return restFaultless && faultyKeys.size === 0 && shared.conflicts === 0;
  };
}

function sameRest(a: Snapshot, b: Snapshot): boolean {
  return sameItems(a.accounts, b.accounts) && sameItems(a.groups, b.groups) && sameItems(a.routes, b.routes) && sameItems(a.catalogs, b.catalogs);
}

interface SharedCounts {
  count(key: Key, by: 1 | -1): void;
  /** Names, uids and hashes that more than one key has, or one key twice. */
  readonly conflicts: number;
}

function countShared(): SharedCounts {
  const counts = { name: new Map<string, number>(), uid: new Map<string, number>(), hash: new Map<string, number>() };
  let conflicts = 0;
  function add(map: Map<string, number>, text: string, by: 1 | -1): void {
    const before = map.get(text) ?? 0;
    const now = before + by;
    if (now === 0) map.delete(text);
    else map.set(text, now);
    conflicts += Number(now > 1) - Number(before > 1);
  }
  return {
    count(key, by) {
      add(counts.name, `${key.namespace}/${key.name}`, by);
      add(counts.uid, key.uid, by);
      for (const { sha256 } of key.hashes) add(counts.hash, sha256, by);
    },
    get conflicts() { return conflicts; },
  };
}
