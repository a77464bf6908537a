/**
 * [P] Precedence between objects that claim the same thing: the older one wins, then the first by namespace and name.
 * Objects without a creation time (a folder's manifests) count as the youngest.
 */
import type { Resource } from '#crds/types.gen.ts';
import { compareNamed } from '#snapshot/sorted.ts';

type Claimant = Pick<Resource, 'metadata'>;

/** For each claimant, the claims that it lost, with the winners. */
export type Conflicts<T> = ReadonlyMap<T, ReadonlyMap<string, T>>;

/** Orders objects by precedence. */
export function comparePrecedence(a: Claimant, b: Claimant): number {
  return creationMs(a) - creationMs(b) || compareName(a, b);
}

/** Orders objects by namespace, then name. */
export function compareName({ metadata: a }: Claimant, { metadata: b }: Claimant): number {
  return compareNamed(a, b);
}

/** Returns true for a claim that loses to every claim that is not weak, whatever their precedence. */
type IsWeak<T> = (claimant: T, claim: string) => boolean;

/** Finds the winner of each claim and lists what the others lose to it. */
export function findConflicts<T extends Claimant>(
  claimants: readonly T[],
  claimsOf: (claimant: T) => readonly string[],
  isWeak: IsWeak<T> = () => false,
): Conflicts<T> {
  const owners = new Map<string, T>();
  for (const claimant of claimants)
    for (const claim of claimsOf(claimant)) {
      const owner = owners.get(claim);
      if (owner === undefined || goesBefore(claimant, owner, { claim, isWeak })) owners.set(claim, claimant);
    }
  return conflictsWith(owners, claimants, claimsOf);
}

function conflictsWith<T>(
  owners: ReadonlyMap<string, T>,
  claimants: readonly T[],
  claimsOf: (claimant: T) => readonly string[],
): Conflicts<T> {
  const conflicts = new Map<T, ReadonlyMap<string, T>>();
  for (const claimant of claimants) {
    const lost = claimsOf(claimant).flatMap((claim) => {
      const owner = owners.get(claim);
      return owner === undefined || owner === claimant ? [] : [[claim, owner] as const];
    });
    if (lost.length > 0) conflicts.set(claimant, new Map(lost));
  }
  return conflicts;
}

function goesBefore<T extends Claimant>(
  a: T,
  b: T,
  { claim, isWeak }: { readonly claim: string; readonly isWeak: IsWeak<T> },
): boolean {
  const [weakA, weakB] = [isWeak(a, claim), isWeak(b, claim)];
  return weakA === weakB ? comparePrecedence(a, b) < 0 : weakB;
}

/**
 * The creation time. An unknown one is far in the future, so that the difference of two unknown ones is 0 and not NaN.
 */
function creationMs({ metadata: { creationTimestamp = '' } }: Claimant): number {
  const ms = Date.parse(creationTimestamp);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}
