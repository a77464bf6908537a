/**
 * The fleet of a single machine: one proxy in the same process, which puts a snapshot in force as a whole or rejects it.
 */
import type { ApplyResult } from '#snapshot/faults.ts';
import { SNAPSHOT_KINDS } from '#snapshot/kinds.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compareNamed, differences } from '#snapshot/sorted.ts';
import type { Named } from '#snapshot/sorted.ts';
import { objectId } from '#objects/resources.ts';
import type { Proxies } from './controller.ts';

interface OneProxyOptions {
  readonly apply: (snapshot: Snapshot) => ApplyResult | Promise<ApplyResult>;
  /** Called with the objects ("Kind namespace/name") that rejected snapshots had held up, once they are in force. */
  readonly onProgress: (ids: ReadonlySet<string>) => void;
}

const NO_IDS: ReadonlySet<string> = new Set();

export function createOneProxy({ apply, onProgress }: OneProxyOptions): Proxies {
  let inForce: Snapshot | undefined;
  /** Objects whose last version the proxy does not have, because it rejected the snapshot. */
  let behind = NO_IDS;
  let convergedMs: number | undefined;
  return {
    async publish(snapshot) {
      const startedMs = performance.now();
      const result = await apply(snapshot);
      const wasBehind = behind;
      behind = result.accepted ? NO_IDS : changedIds(inForce, snapshot);
      if (!result.accepted) return { accepted: false, faults: result.rejected };
      inForce = snapshot;
      convergedMs = performance.now() - startedMs;
      if (wasBehind.size > 0) onProgress(wasBehind);
      return { accepted: true, faults: [] };
    },
    progress: (id) =>
      behind.has(id)
        ? { version: '', connected: 1, acknowledged: 0, rejected: [], convergedMs: undefined, heldUp: true }
        : { version: '', connected: 1, acknowledged: 1, rejected: [], convergedMs },
  };
}

function changedIds(before: Snapshot | undefined, now: Snapshot): ReadonlySet<string> {
  return new Set(
    SNAPSHOT_KINDS.flatMap(({ kind, field }) =>
      differences<Named>(before?.[field] ?? [], now[field], compareNamed).flatMap(([, object]) =>
        object ? [objectId(kind, object)] : [],
      ),
    ),
  );
}
