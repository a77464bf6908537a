/**
 * Tells the operator what providers refuse and which cannot be reached, for the ModelRoute's status. A busy client may be refused a
 * thousand times in a second; each channel's refusal is reported once a minute.
 */
import type { Refusal } from '../snapshot/fleet.gen.ts';

export interface RefusalReportOptions {
  /** Resolves where the operator has it; rejects where there is none. */
  readonly send: (refusals: readonly Refusal[]) => Promise<void>;
  readonly monotonicMs: () => number;
  readonly log: { debug(fields: object, message: string): void };
}

/** Much less than the time for which a status shows it. */
const REPEAT_MS = 60_000;
const MAX_KNOWN = 1_000;

/** Returns what takes a refusal. */
export function createRefusalReport({ send, monotonicMs, log }: RefusalReportOptions): (refusal: Refusal) => void {
  const sentMs = new Map<string, number>();
  return ({ route, channel, status, connectError }) => {
    const id = `${route}/${channel}/${status}${connectError}`;
    const last = sentMs.get(id);
    if (last !== undefined && monotonicMs() - last < REPEAT_MS) return;
    if (sentMs.size >= MAX_KNOWN) sentMs.clear();
    sentMs.set(id, monotonicMs());
    send([{ route, channel, status, connectError }]).catch((error: unknown) => {
      sentMs.delete(id); // the next one is sent
      log.debug({ err: error, route, channel }, 'the operator could not be told about a provider\'s refusal');
    });
  };
}
