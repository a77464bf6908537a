/**
 * Counts running calls under a concurrency limit that an edit of the configuration adds: each takes the slots that it
 * did not need before, even beyond the limit. Therefore calls take no slots where no limit is set.
 */
import type { CountLimit } from '../ledger/ledger.ts';
import { isConcurrency } from '../ledger/load.ts';
import { channelLimits, keyLimits } from '../state/limits.ts';
import type { Admitted, CallRecord, PipelineDeps } from './context.ts';

type Deps = Pick<PipelineDeps, 'state' | 'ledger' | 'running'>;
type KeyLimits = ReturnType<typeof keyLimits>;

/** Counts all running calls under the limits in force now. A call between two channels is counted on the next one. */
export function countRunningCalls(deps: Deps): void {
  const keys = keyLimits(deps.state.get());
  for (const record of deps.running.values()) if (record.sent) countRunningCall(deps, record, keys);
}

/** Counts one running call. A ledger that cannot be reached counts it before it admits another call. */
export function countRunningCall(deps: Deps, record: CallRecord, keys: KeyLimits = keyLimits(deps.state.get())): void {
  const limits = record.admitted ? limitsToAdd(deps, record.admitted, keys) : [];
  if (limits.length > 0) deps.ledger.count(record.received.requestId, limits);
}

/** The concurrency limits in which a new call of this kind would count and this call does not. */
function limitsToAdd({ state }: Deps, { routed, candidate }: Admitted, keys: KeyLimits): readonly CountLimit[] {
  const { group, model, target, limits } = candidate;
  const inForce = channelLimits(state.get(), { group, model: model.name, channel: target.id });
  const counted = new Set([...limits, ...routed.key.limits].filter(isConcurrency).map(({ id }) => id));
  return [...inForce, ...keys(routed)].filter((limit) => isConcurrency(limit) && !counted.has(limit.id));
}
