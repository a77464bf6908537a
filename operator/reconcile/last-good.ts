/**
 * [P] Makes a snapshot publishable: an invalid object keeps its last valid version, or is left out if it never had one,
 * so that one tenant's mistake does not block others.
 */
import type { Logger } from 'pino';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { SNAPSHOT_KINDS } from '#snapshot/kinds.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compareNamed, differences } from '#snapshot/sorted.ts';
import type { Named } from '#snapshot/sorted.ts';
import { validateOffering, validateOneAccount, validateOneKey, validateSnapshot } from '#snapshot/validate.ts';
import { sameItems } from '../store/same.ts';
import { objectId } from '#objects/resources.ts';
import type { PublishResult } from './controller.ts';

interface ValidPublisherOptions {
  readonly publish: (snapshot: Snapshot) => void;
  readonly log: Pick<Logger, 'error'>;
}

/** Publishes what is valid of each snapshot to a fleet. */
export function createValidPublisher({ publish, log }: ValidPublisherOptions): (snapshot: Snapshot) => PublishResult {
  let lastGood: Snapshot | undefined;
  return (snapshot) => {
    const good = publishable(snapshot, lastGood);
    if (!good) {
      log.error('the configuration is invalid as a whole; the last good configuration stays in effect');
      return { accepted: false, faults: [] };
    }
    publish((lastGood = good.snapshot));
    return { accepted: true, faults: good.faults };
  };
}

interface Publishable {
  readonly snapshot: Snapshot;
  /** The faults of the objects whose new version is not published. */
  readonly faults: readonly SnapshotFault[];
}

/** What keys can call, which is validated together. */
const OFFERING = SNAPSHOT_KINDS.map(({ field }) => field).filter((field) => field !== 'keys' && field !== 'accounts');

/** Leaving out one object can reveal a fault of another, once or twice. */
const MAX_ROUNDS = 5;

/** Returns undefined if no part can be published; the last snapshot then stays in force. */
export function publishable(wanted: Snapshot, lastGood: Snapshot | undefined): Publishable | undefined {
  if (lastGood && isGoodAfter(lastGood, wanted)) return { snapshot: wanted, faults: [] };
  const faults: SnapshotFault[] = [];
  let snapshot = wanted;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = validateSnapshot(snapshot);
    if (found.length === 0) return { snapshot, faults };
    faults.push(...found);
    const faulty = new Set(found.map((each) => objectId(each.kind, each)));
    snapshot = holdBack(snapshot, faulty, round === 0 ? lastGood : undefined);
  }
  return undefined;
}

/**
 * Validates what has changed since the last good snapshot. Keys are not compared with each other: translate gives each
 * hash to one key, and the API server keeps names and uids unique.
 */
function isGoodAfter(lastGood: Snapshot, wanted: Snapshot): boolean {
  const keys = differences(lastGood.keys, wanted.keys, compareNamed);
  if (keys.some(([, key]) => key && validateOneKey(key).length > 0)) return false;
  const accounts = differences(lastGood.accounts, wanted.accounts, compareNamed);
  if (accounts.some(([, account]) => account && validateOneAccount(account).length > 0)) return false;
  const isSameOffering = OFFERING.every((field) => sameItems<Named>(lastGood[field], wanted[field]));
  return isSameOffering || validateOffering(wanted).length === 0;
}

function holdBack(snapshot: Snapshot, faulty: ReadonlySet<string>, lastGood: Snapshot | undefined): Snapshot {
  const held = { ...snapshot };
  for (const { kind, field } of SNAPSHOT_KINDS) {
    const isFaulty = (object: Named): boolean => faulty.has(objectId(kind, object));
    const kept = (lastGood?.[field] ?? []).filter(isFaulty);
    const objects = [...snapshot[field].filter((object) => !isFaulty(object)), ...kept].sort(compareNamed);
    Object.assign(held, { [field]: objects });
  }
  return held;
}
