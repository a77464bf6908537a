/**
 * [P] Who wins when two objects claim one thing: the older one, then the one whose namespace and name come first. Objects
 * without a creation time (a folder's manifests) are the youngest, and go by namespace and name alone.
 */
import type { Resource } from '#crds/types.gen.ts';
import { openHolders } from '../store/holders.ts';
import { listChanges } from '../store/list-changes.ts';
import { timeOnce } from './remember.ts';
import { compareText } from './words.ts';

/** What one claimant lost, and to whom. */
export type Losses<T> = ReadonlyMap<T, ReadonlyMap<string, T>>;

/** Orders objects by their right to what they claim. */
export function compareSeniority(a: Pick<Resource, 'metadata'>, b: Pick<Resource, 'metadata'>): number {
  return creationMs(a) - creationMs(b) || compareName(a, b);
}

/** Orders objects by namespace, then name. */
export function compareName({ metadata: a }: Pick<Resource, 'metadata'>, { metadata: b }: Pick<Resource, 'metadata'>): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Goes through claimants, the most senior first, and notes for each what a more senior one had claimed already. */
export function findLosses<T>(bySeniority: readonly T[], claimsOf: (claimant: T) => Iterable<string>): Losses<T> {
  const owners = new Map<string, T>();
  const losses = new Map<T, Map<string, T>>();
  for (const claimant of bySeniority)
    for (const claim of claimsOf(claimant)) {
      const owner = owners.get(claim);
      if (owner === undefined) owners.set(claim, claimant);
      else if (owner !== claimant) addLoss(losses, claimant, { claim, owner });
    }
  return losses;
}

/** findLosses for a list that changes a little at a time: claims are kept, and only contested ones are looked at. */
export function keepLosses<T extends Pick<Resource, 'metadata'>>(claimsOf: (claimant: T) => Iterable<string>): (bySeniority: readonly T[]) => Losses<T> {
  const claims = openHolders<T>();
  let before: readonly T[] = [];
  let losses: Losses<T> = new Map();

  return (bySeniority) => {
    const { removed, added } = listChanges(before, bySeniority);
    before = bySeniority;
    let matters = false;
    for (const claimant of removed) for (const claim of claimsOf(claimant)) if (claims.leave(claim, claimant)) matters = true;
    for (const claimant of added) for (const claim of claimsOf(claimant)) if (claims.enter(claim, claimant)) matters = true;
    if (!matters) return losses;
    const involved = new Set([...claims.shared()].flatMap((those) => [...those]));
    losses = findLosses([...involved].sort(compareSeniority), claimsOf);
    return losses;
  };
}

function addLoss<T>(losses: Map<T, Map<string, T>>, loser: T, { claim, owner }: { readonly claim: string; readonly owner: T }): void {
  const lost = losses.get(loser);
  if (lost) lost.set(claim, owner);
  else losses.set(loser, new Map([[claim, owner]]));
}

/** Far in the future where it is unknown, so that differences of two unknown ones are 0 and not NaN. */
function creationMs({ metadata }: Pick<Resource, 'metadata'>): number {
  const { creationTimestamp } = metadata;
  if (creationTimestamp === undefined) return Number.MAX_SAFE_INTEGER;
  return timeOnce(metadata, () => {
    const ms = Date.parse(creationTimestamp);
    return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
  });
}
