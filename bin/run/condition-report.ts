/**
 * Prints warnings about objects that are valid but not fully in force after a change of manifests, for example a key
 * whose group does not exist, a route whose Secret is missing, or a model without a price. On a single machine nothing
 * else reports them.
 */
import type { ObjectStatus } from '../../operator/reconcile/status-tracker.ts';
import type { StatusChanges } from '../../programs/one-machine/operator.ts';

/** Condition types that are reported while they are False. */
const TOLD = ['Accepted', 'ResolvedRefs', 'Ready', 'CredentialReady'];
/** Condition types that are reported while they are present. */
const TOLD_WHILE_TRUE = [
  'UpstreamRefused',
  'UpstreamUnreachable',
  'UsageImplausible',
  'AllChannelsDrained',
  'UnpricedModels',
  'LimitsDiffer',
];
/** Reasons that are not reported: intended or transient states, and those that are printed as diagnostics. */
const SILENT_REASONS = new Set([
  'Disabled',
  'Expired',
  'LimitReached',
  'AccountLimitReached',
  'Pending',
  'Reconciling',
  'NoProxies',
  'Rejected',
]);

interface ConditionReport {
  /** Prints an object's new warnings and forgets fixed ones. */
  update(changes: StatusChanges): void;
}

export function createConditionReport(print: (line: string) => void): ConditionReport {
  /** The last lines reported, by object; objects without a report are left out. */
  const known = new Map<string, readonly string[]>();
  return {
    update(changes) {
      for (const [id, status] of changes) {
        const [before, lines] = [known.get(id) ?? [], status ? linesFor(status) : []];
        for (const line of lines) if (!before.includes(line)) print(`warning: ${line}`);
        if (lines.length > 0) known.set(id, lines);
        else known.delete(id);
      }
    },
  };
}

function linesFor({ kind, namespace, name, status }: ObjectStatus): string[] {
  const said = status.conditions.filter(
    (each) =>
      (each.status === 'False' ? TOLD : TOLD_WHILE_TRUE).includes(each.type) && !SILENT_REASONS.has(each.reason),
  );
  return [...new Set(said.map(({ reason, message }) => `${kind} ${namespace}/${name}: ${message} (${reason})`))];
}
