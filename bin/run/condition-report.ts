/**
 * Tells people what a change of manifests led to where an object does not do what it says: a key whose group does not
 * exist, a route whose Secret is missing, a model without a price. Such an object is no mistake of the file, so nothing
 * else would say it on one machine.
 */
import type { Operator } from '../../operator/file.ts';

type Changes = Awaited<ReturnType<Operator['statusChanges']>>;
type ObjectStatus = NonNullable<ReturnType<Changes['get']>>;

/** Conditions that say so when they are False. */
const TOLD = ['Accepted', 'ResolvedRefs', 'Ready'];
/** Conditions that are a warning by being there. */
const TOLD_WHILE_TRUE = ['UpstreamRefused', 'UnpricedModels'];
/** What its owner wants, what passes by itself or with time, and what is told as a problem of the manifests. */
const SILENT_REASONS =
  new Set(['Disabled', 'Expired', 'LimitReached', 'Pending', 'Reconciling', 'NoProxies', 'Rejected']);

interface ConditionReport {
  /** Prints what was not true of an object before; what is mended is forgotten. */
  update(changes: Changes): void;
}

export function createConditionReport(print: (line: string) => void): ConditionReport {
  /** By object; only of those of which there is something to say. */
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
  const said = status.conditions.filter((each) =>
    (each.status === 'False' ? TOLD : TOLD_WHILE_TRUE).includes(each.type) && !SILENT_REASONS.has(each.reason));
  return [...new Set(said.map(({ reason, message }) => `${kind} ${namespace}/${name}: ${message} (${reason})`))];
}
