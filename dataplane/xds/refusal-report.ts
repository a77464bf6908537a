/**
 * Reports to the operator which channels' providers refuse requests, cannot be reached, or accept the credential again.
 * A busy client may be refused a thousand times a second, so each channel's refusal is reported at most once a minute.
 */
import type { Clock } from '../clock.ts';
import type { Refusal } from '#snapshot/fleet.gen.ts';

export interface RefusalReportOptions {
  /** Resolves when an operator has acknowledged it; rejects if none is connected. */
  readonly send: (refusals: readonly Refusal[]) => Promise<void>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: { debug(fields: object, message: string): void };
}

/** Much shorter than the time for which the status shows a refusal. */
const REPEAT_MS = 60_000;
const MAX_KNOWN = 1_000;

/** Returns the function that reports one refusal. It never throws. */
export function createRefusalReport({ send, clock, log }: RefusalReportOptions): (refusal: Refusal) => void {
  const sentMs = new Map<string, number>();
  return (refusal) => {
    const { route, channel, status, connectError } = refusal;
    const of = `${route}/${channel}/`;
    if (refusal.recovered) for (const known of sentMs.keys()) if (known.startsWith(of)) sentMs.delete(known);
    const id = refusal.recovered ? `${of}recovered` : `${of}${status}${connectError}`;
    const last = sentMs.get(id);
    if (last !== undefined && clock.monotonicMs() - last < REPEAT_MS) return;
    if (sentMs.size >= MAX_KNOWN) sentMs.clear();
    sentMs.set(id, clock.monotonicMs());
    send([refusal]).catch((error: unknown) => {
      sentMs.delete(id); // so that the next refusal is sent
      log.debug({ err: error, route, channel }, 'cannot report a provider failure to the operator');
    });
  };
}
