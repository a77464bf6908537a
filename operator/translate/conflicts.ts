/**
 * [P] Who wins when two objects claim one thing: the older one, then the one whose namespace and name come first.
 * Objects without a creation time (a folder's manifests) are the youngest, and go by namespace and name alone.
 */
import type { Resource } from '#crds/types.gen.ts';
import { compareText } from './words.ts';

type Claimant = Pick<Resource, 'metadata'>;

/** What one claimant lost, and to whom. */
export type Losses<T> = ReadonlyMap<T, ReadonlyMap<string, T>>;

/** Orders objects by their right to what they claim. */
export function compareSeniority(a: Claimant, b: Claimant): number {
  return creationMs(a) - creationMs(b) || compareName(a, b);
}

/** Orders objects by namespace, then name. */
export function compareName({ metadata: a }: Claimant, { metadata: b }: Claimant): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Finds the most senior claimant of each thing, and notes what the others lose to it. */
export function findLosses<T extends Claimant>(
  claimants: readonly T[], claimsOf: (claimant: T) => readonly string[],
): Losses<T> {
  const owners = new Map<string, T>();
  const contested = new Set<string>();
  for (const claimant of claimants)
    for (const claim of claimsOf(claimant)) {
      const owner = owners.get(claim);
      if (owner !== undefined && owner !== claimant) contested.add(claim);
      if (owner === undefined || compareSeniority(claimant, owner) < 0) owners.set(claim, claimant);
    }
  const losses = new Map<T, ReadonlyMap<string, T>>();
  if (contested.size === 0) return losses;
  for (const claimant of claimants) {
    const lost = claimsOf(claimant).flatMap((claim) => {
      const owner = owners.get(claim);
      return owner === undefined || owner === claimant ? [] : [[claim, owner] as const];
    });
    if (lost.length > 0) losses.set(claimant, new Map(lost));
  }
  return losses;
}

/** Far in the future where it is unknown, so that the difference of two unknown ones is 0 and not NaN. */
function creationMs({ metadata: { creationTimestamp = '' } }: Claimant): number {
  const ms = Date.parse(creationTimestamp);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}
