/**
 * [P] Makes a snapshot publishable: an invalid object keeps its last valid version, or is left out if it never had one,
 * so that one tenant's mistake holds up nobody else.
 */
import type { SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import { compareText } from '../translate/quote-names.ts';
import { statusId } from './status-tracker.ts';

interface Publishable {
  readonly snapshot: Snapshot;
  /** The faults of the objects that were held back. */
  readonly faults: readonly SnapshotFault[];
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Holding back one object can bring out the fault of another, once or twice. */
const MAX_ROUNDS = 5;

/** undefined: no part of it can be published, and the last one stays in force. */
export function publishable(wanted: Snapshot, lastGood: Snapshot | undefined): Publishable | undefined {
  const faults: SnapshotFault[] = [];
  let snapshot = wanted;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = validateSnapshot(snapshot);
    if (found.length === 0) return { snapshot, faults };
    faults.push(...found);
    const faulty = new Set(found.map(statusId));
    snapshot = holdBack(snapshot, faulty, round === 0 ? lastGood : undefined);
  }
  return undefined;
}

function holdBack(snapshot: Snapshot, faulty: ReadonlySet<string>, lastGood: Snapshot | undefined): Snapshot {
  const held = <O extends Named>(kind: SnapshotFault['kind'], objects: readonly O[], before:
    | readonly O[] | undefined): O[] => {
    const isFaulty = ({ namespace, name }: O): boolean => faulty.has(statusId({ kind, namespace, name }));
    const kept = (before ?? []).filter(isFaulty);
    return [...objects.filter((object) => !isFaulty(object)), ...kept].sort(compareNamed);
  };
  return {
    keys: held('ApiKey', snapshot.keys, lastGood?.keys),
    accounts: held('Account', snapshot.accounts, lastGood?.accounts),
    groups: held('Group', snapshot.groups, lastGood?.groups),
    routes: held('ModelRoute', snapshot.routes, lastGood?.routes),
    catalogs: held('PriceCatalog', snapshot.catalogs, lastGood?.catalogs),
  };
}

function compareNamed(a: Named, b: Named): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}
