/**
 * Renews the holds of running calls: every second, one operation records in the ledger what each call has cost so far.
 * When renewals have failed for so long that a reaper may settle the holds, it ends the calls. It uses a monotonic
 * clock, so that a process that was suspended notices as soon as it resumes.
 */
import { every as everyInterval } from '../clock.ts';
import type { Every } from '../clock.ts';
import { CallMap } from './call-map.ts';
import type { Ledger } from './ledger.ts';
import { areSameTokens } from '#price/tokens.ts';
import type { CallProgress } from '#usage/record.ts';

export interface LeaseKeeperDeps {
  readonly ledger: Pick<Ledger, 'recordProgress'>;
  /** The time between two renewals. Default 1000, so that a failed renewal can be repeated within 2 s. */
  readonly intervalMs?: number;
  /** A call whose hold was not renewed for this long is ended. Default 20 000. */
  readonly expireAfterMs?: number;
  readonly monotonicMs?: () => number;
  readonly every?: Every;
  /** Called after each renewal; `error` is why it failed. */
  readonly onRenewal?: (outcome: 'ok' | 'unavailable', durationMs: number, error?: unknown) => void;
}

export interface LeaseKeeper {
  /**
   * Starts when the hold is granted. `progress` returns what the call would owe now; `onExpired` is called at most
   * once.
   */
  track(callId: string, progress: () => CallProgress, onExpired: () => void): void;
  untrack(callId: string): void;
  stop(): void;
}

interface Lease {
  readonly progress: () => CallProgress;
  readonly onExpired: () => void;
  /** When the ledger last renewed the hold. */
  renewedMs: number;
  recorded: CallProgress | undefined;
  isExpired: boolean;
}

const INTERVAL_MS = 1_000;
const EXPIRE_AFTER_MS = 20_000;

export function createLeaseKeeper(deps: LeaseKeeperDeps): LeaseKeeper {
  const { ledger, intervalMs = INTERVAL_MS, expireAfterMs = EXPIRE_AFTER_MS, every = everyInterval, onRenewal } = deps;
  const { monotonicMs = () => performance.now() } = deps;
  const leases = new CallMap<Lease>();
  let renewing = false;

  const tick = (): void => {
    expireLeases(leases.values(), monotonicMs() - expireAfterMs);
    if (renewing || leases.size === 0) return;
    renewing = true;
    void renew();
  };

  /** Never rejects: a failed renewal is repeated until the leases expire. */
  const renew = async (): Promise<void> => {
    const startedMs = monotonicMs();
    try {
      const running = [...leases.entries()].filter(([, lease]) => !lease.isExpired);
      const changed = changedProgress(running, (error) => onRenewal?.('unavailable', 0, error));
      // update calls without changes too: an accepted operation renews all holds
      await ledger.recordProgress(changed);
      for (const [callId, lease] of running) {
        lease.renewedMs = startedMs;
        lease.recorded = changed.get(callId) ?? lease.recorded;
      }
      onRenewal?.('ok', monotonicMs() - startedMs);
    } catch (error) {
      onRenewal?.('unavailable', monotonicMs() - startedMs, error);
    } finally {
      renewing = false;
    }
  };

  const stop = every(intervalMs, tick);
  return {
    track: (callId, progress, onExpired) => {
      leases.set(callId, { progress, onExpired, renewedMs: monotonicMs(), recorded: undefined, isExpired: false });
    },
    untrack: (callId) => leases.delete(callId),
    stop,
  };
}

function expireLeases(leases: Iterable<Lease>, notSinceMs: number): void {
  for (const lease of leases) {
    if (lease.isExpired || lease.renewedMs > notSinceMs) continue;
    lease.isExpired = true;
    lease.onExpired();
  }
}

/** If a call's `progress` throws, its last recorded progress stands, and the other calls are renewed. */
function changedProgress(
  leases: readonly (readonly [string, Lease])[],
  onDefect: (error: unknown) => void,
): Map<string, CallProgress> {
  const changed = new Map<string, CallProgress>();
  for (const [callId, { progress, recorded }] of leases) {
    try {
      const latest = progress();
      if (!recorded || !isSame(latest, recorded)) changed.set(callId, latest);
    } catch (error) {
      onDefect(error);
    }
  }
  return changed;
}

function isSame(a: CallProgress, b: CallProgress): boolean {
  return (
    a.costNanoUsd === b.costNanoUsd &&
    a.upstreamCostNanoUsd === b.upstreamCostNanoUsd &&
    a.usageSource === b.usageSource &&
    areSameTokens(a.tokens, b.tokens)
  );
}
