/**
 * The channels whose providers refuse the gateway's credential. Calls try them last, and every half minute one call
 * tries a channel at its usual place again, until the provider accepts the credential. A new credential makes a new
 * target, which nothing is held against.
 */
import type { Clock } from '../clock.ts';
import type { Candidate } from '../state/state.ts';
import type { UpstreamTarget } from '../upstream/upstream.ts';

export interface RefusingChannels {
  /** The candidates in their order, those whose channels refuse the credential behind the others. */
  ordered(candidates: readonly Candidate[]): readonly Candidate[];
  /** A call is about to be sent to the channel: others do not try it at its usual place meanwhile. */
  trying(target: UpstreamTarget): void;
  /** The provider refuses the credential. */
  refused(target: UpstreamTarget): void;
  /** The provider has accepted the credential. Returns true if it had refused this or an earlier one. */
  accepted(target: UpstreamTarget): boolean;
}

interface Refusing {
  readonly target: UpstreamTarget;
  readonly lastUntilMs: number;
}

/** Time between two calls that try a refusing channel at its usual place. */
const PROBE_EVERY_MS = 30_000;

export function createRefusingChannels({ monotonicMs }: Pick<Clock, 'monotonicMs'>): RefusingChannels {
  /** By the channel's id. */
  const refusing = new Map<string, Refusing>();
  const entryOf = (target: UpstreamTarget): Refusing | undefined => {
    const entry = refusing.get(target.id);
    return entry?.target === target ? entry : undefined;
  };
  const postpone = (target: UpstreamTarget): void => {
    refusing.set(target.id, { target, lastUntilMs: monotonicMs() + PROBE_EVERY_MS });
  };
  const comesLast = ({ target }: Candidate): boolean => (entryOf(target)?.lastUntilMs ?? 0) > monotonicMs();
  return {
    ordered(candidates) {
      if (refusing.size === 0 || !candidates.some(comesLast)) return candidates;
      return [...candidates.filter((each) => !comesLast(each)), ...candidates.filter(comesLast)];
    },
    trying(target) {
      if (entryOf(target)) postpone(target);
    },
    refused: postpone,
    accepted: ({ id }) => refusing.delete(id),
  };
}
