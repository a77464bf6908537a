/**
 * Keeps the holds of running calls: tells the ledger regularly what each has cost so far, all in one step. When that
 * has failed for so long that the ledger may give the holds away, it tells the calls that they are lost. Time is
 * monotonic, so that a process that was stopped notices at once when it goes on.
 */
import { CallMap } from './call-map.ts';
import type { Ledger } from './ledger.ts';
import type { CallProgress } from './usage-record.ts';

export interface LeaseKeeperDeps {
  readonly ledger: Pick<Ledger, 'recordProgress'>;
  /** Between two renewals; default 1000, so that one that fails leaves time for another within 2 s. */
  readonly intervalMs?: number;
  /** Without a renewal for so long, a call is lost; default 20 000. */
  readonly loseAfterMs?: number;
  readonly monotonicMs?: () => number;
  /** Calls `tick` regularly until the function that it returns is called. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
  /** Told of each renewal, and why it failed. */
  readonly onRenewal?: (outcome: 'ok' | 'unavailable', durationMs: number, error?: unknown) => void;
}

export interface LeaseKeeper {
  /** From the granted hold on: `progress` is what the call would owe now; `lost` is called at most once. */
  track(callId: string, progress: () => CallProgress, lost: () => void): void;
  untrack(callId: string): void;
  stop(): void;
}

interface Lease {
  readonly progress: () => CallProgress;
  readonly lost: () => void;
  /** When the ledger was last known to keep the hold. */
  renewedMs: number;
  recorded: CallProgress | undefined;
  isLost: boolean;
}

const INTERVAL_MS = 1_000;
const LOSE_AFTER_MS = 20_000;

export function createLeaseKeeper(deps: LeaseKeeperDeps): LeaseKeeper {
  const { ledger, intervalMs = INTERVAL_MS, loseAfterMs = LOSE_AFTER_MS, every = everyInterval, onRenewal } = deps;
  const { monotonicMs = () => performance.now() } = deps;
  const leases = new CallMap<Lease>();
  let renewing = false;

  const tick = (): void => {
    loseExpired(leases.values(), monotonicMs() - loseAfterMs);
    if (renewing || leases.size === 0) return;
    renewing = true;
    void renew();
  };

  /** Never rejects: a renewal that fails is tried again, until the calls are lost. */
  const renew = async (): Promise<void> => {
    const startedMs = monotonicMs();
    try {
      const running = [...leases.entries()].filter(([, lease]) => !lease.isLost);
      const changed = changedProgress(running, (error) => onRenewal?.('unavailable', 0, error));
      // also without any change: that the ledger takes it is what renews
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
    track: (callId, progress, lost) => {
      leases.set(callId, { progress, lost, renewedMs: monotonicMs(), recorded: undefined, isLost: false });
    },
    untrack: (callId) => leases.delete(callId),
    stop,
  };
}

function loseExpired(leases: Iterable<Lease>, notSinceMs: number): void {
  for (const lease of leases) {
    if (lease.isLost || lease.renewedMs > notSinceMs) continue;
    lease.isLost = true;
    lease.lost();
  }
}

/** A call that throws keeps what was recorded last, and the others are renewed all the same. */
function changedProgress(
  leases: readonly (readonly [string, Lease])[], onDefect: (error: unknown) => void,
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
  return a.costNanoUsd === b.costNanoUsd && a.usageSource === b.usageSource && a.tokens.input === b.tokens.input
    && a.tokens.cached === b.tokens.cached && a.tokens.cacheWrite5m === b.tokens.cacheWrite5m
    && a.tokens.cacheWrite1h === b.tokens.cacheWrite1h && a.tokens.output === b.tokens.output;
}

function everyInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
