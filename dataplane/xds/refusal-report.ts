/**
 * Tells the operator what providers refuse, so that it is in the ModelRoute's status. A busy client may be refused a
 * thousand times in a second; each channel's refusal is told once in a while.
 */
import type { Refusal } from '../snapshot/fleet.gen.ts';

export interface RefusalReportOptions {
  /** Resolves where the operator has it; rejects where there is none. */
  readonly send: (refusals: readonly Refusal[]) => Promise<void>;
  readonly nowMs: () => number;
  readonly log: { debug(fields: object, message: string): void };
}

/** Much less than what a status remembers it for. */
const AGAIN_MS = 60_000;
const MOST_KNOWN = 1_000;

/** Returns what takes a refusal. */
export function createRefusalReport({ send, nowMs, log }: RefusalReportOptions): (refusal: Refusal) => void {
  const toldMs = new Map<string, number>();
  return ({ route, channel, status }) => {
    const id = `${route}/${channel}/${status}`;
    const last = toldMs.get(id);
    if (last !== undefined && nowMs() - last < AGAIN_MS) return;
    if (toldMs.size >= MOST_KNOWN) toldMs.clear();
    toldMs.set(id, nowMs());
    send([{ route, channel, status }]).catch((error: unknown) => {
      toldMs.delete(id); // the next one is told
      log.debug({ err: error, route, channel }, 'the operator could not be told what a provider refuses');
    });
  };
}
