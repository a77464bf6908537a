/**
 * Takes a proxy out of rotation that is cut off from the operators while other proxies are not: keys may have been
 * revoked that it still accepts. The proxies learn of one another through the shared ledger, where the connected ones
 * note themselves. While nobody is noted, or the ledger does not answer, a proxy stays in rotation.
 */
import type { Logger } from 'pino';
import type { Clock, Every } from './clock.ts';
import type { Ledger } from './ledger/ledger.ts';

export interface RotationOptions {
  readonly ledger: Pick<Ledger, 'noteConnected' | 'othersConnected'>;
  /** True while an operator is connected. */
  readonly connected: () => boolean;
  /** For how long others must be connected while this proxy is not; 0: it never leaves. */
  readonly leaveAfterMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly every: Every;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export interface Rotation {
  /** True if the proxy should get no new calls. */
  readonly left: boolean;
  /** Notes this proxy no more. */
  stop(): void;
}

const EVERY_MS = 3_000;
/** What the ledger said counts for this long, so that one failure decides nothing. */
const COUNTS_MS = 15_000;

export function keepRotation(options: RotationOptions): Rotation {
  const { ledger, connected, leaveAfterMs, clock, every, log } = options;
  /** When others were seen while this proxy was not connected: first and last; undefined: they were not. */
  let others: { readonly firstMs: number; lastMs: number } | undefined;
  let asking = false;
  let told = false;

  const hasLeft = (): boolean => {
    if (!others || connected()) return false;
    return others.lastMs - others.firstMs >= leaveAfterMs && clock.monotonicMs() - others.lastMs < COUNTS_MS;
  };

  async function look(): Promise<void> {
    if (connected()) {
      others = undefined;
      await ledger.noteConnected?.();
      return;
    }
    const seen = await ledger.othersConnected?.();
    const nowMs = clock.monotonicMs();
    if (!seen || connected()) others = undefined;
    else if (others) others.lastMs = nowMs;
    else others = { firstMs: nowMs, lastMs: nowMs };
  }

  function tell(): void {
    if (hasLeft() === told) return;
    told = !told;
    if (told)
      log.warn('not connected to an operator, while other proxies are: this proxy is not ready until it is connected');
    else log.info('this proxy is ready again');
  }

  /** Without an answer of the ledger, what it said last counts for a while. */
  function unanswered(): void {
    if (others && clock.monotonicMs() - others.lastMs >= COUNTS_MS) others = undefined;
  }

  function tick(): void {
    tell();
    if (asking) return unanswered();
    asking = true;
    look()
      .catch(unanswered)
      .finally(() => {
        asking = false;
        tell();
      });
  }

  const isShared = leaveAfterMs > 0 && ledger.noteConnected !== undefined;
  const stop = isShared ? every(EVERY_MS, tick) : () => undefined;
  return {
    get left() {
      return hasLeft();
    },
    stop,
  };
}
