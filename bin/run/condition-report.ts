/**
 * Tells people what a change of manifests led to where an object does not do what it says: a key whose group does not exist, a
 * route whose Secret is missing, a model without a price. Such an object is no mistake of the file, so nothing else would say it
 * on one machine.
 */
import type { Operator } from '../../operator/main.ts';

type ObjectStatus = Awaited<ReturnType<Operator['statuses']>>[number];

/** Conditions that say so when they are False. */
const TOLD = ['Accepted', 'ResolvedRefs', 'Ready'];
/** Conditions that are a warning by being there. */
const TOLD_WHILE_TRUE = ['UpstreamRefused', 'UnpricedModels'];
/** What its owner wants, what passes by itself or with time, and what is told as a problem of the manifests. */
const SILENT_REASONS = new Set(['Disabled', 'Expired', 'LimitReached', 'Pending', 'Reconciling', 'NoProxies', 'Rejected']);

interface ConditionReport {
  /** Prints what was not true before; what is mended is forgotten. */
  update(statuses: readonly ObjectStatus[]): void;
}

export function createConditionReport(print: (line: string) => void): ConditionReport {
  let known = new Set<string>();
  return {
    update(statuses) {
      const lines = statuses.flatMap(linesFor);
      for (const line of lines) if (!known.has(line)) print(`warning: ${line}`);
      known = new Set(lines);
    },
  };
}

function linesFor({ kind, namespace, name, status }: ObjectStatus): string[] {
  const said = status.conditions.filter((each) => (each.status === 'False' ? TOLD : TOLD_WHILE_TRUE).includes(each.type) && !SILENT_REASONS.has(each.reason));
  return [...new Set(said.map(({ reason, message }) => `${kind} ${namespace}/${name}: ${message} (${reason})`))];
}
