/**
 * What is said of every object at this moment: the last findings, the proxies' answer and the last known spending, joined into
 * conditions whose transition times live on from one reconciliation to the next.
 */
import type { Condition } from '#crds/types.gen.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { ON_THE_WAY, PROGRAMMED, conditionsOf, mergeConditions } from '../status/conditions.ts';
import type { Programming } from '../status/conditions.ts';
import type { Findings, StatusFields } from '../status/findings.ts';
import { freshRefusals, refusalCondition } from '../status/refusals.ts';
import type { Refusal } from '../status/refusals.ts';
import type { SpendingStatus } from '../status/spending.ts';

/** One object's status, as a status subresource would have it. */
export interface ObjectStatus {
  readonly kind: Findings['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly status: StatusFields & { readonly observedGeneration: number; readonly conditions: readonly Condition[] };
}

export interface StatusBook {
  /** Replaces all findings; objects that are not among them are forgotten. What is published is on its way again. */
  observe(findings: readonly Findings[], nowMs: number): void;
  /** The proxies have what was observed last. */
  programmed(nowMs: number): void;
  /** The proxies refused it, and go on with what they had. */
  rejected(faults: readonly SnapshotFault[], nowMs: number): void;
  /** What is known of an object's spending. */
  spent(id: string, spending: SpendingStatus, nowMs: number): void;
  /** A provider refused what the object gives it. */
  refused(id: string, refusal: Refusal): void;
  /** Forgets refusals that have not come again for long. */
  expire(nowMs: number): void;
  /** All statuses, sorted by kind, namespace and name. */
  list(): ObjectStatus[];
}

interface Entry {
  readonly findings: Findings;
  readonly programming: Programming;
  /** The generation that the proxies have. */
  readonly programmedGeneration?: number;
  readonly spending?: SpendingStatus;
  /** Of this generation. */
  readonly refusals?: readonly Refusal[];
  readonly conditions: readonly Condition[];
}

/** Of an accepted object that the proxies are given nothing of: its key is not there yet. */
const NOTHING_TO_PROGRAM: Programming = { status: 'Unknown', reason: 'Pending', message: 'There is nothing yet that the proxies could have in force.' };
const HELD_UP: Programming = {
  status: 'False', reason: 'Reconciling', message: 'Other objects were refused; the proxies go on with the last good state, which this version is not part of.',
};

/** "Kind namespace/name". */
export function statusId({ kind, namespace, name }: Pick<Findings, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`;
}

export function openStatusBook(): StatusBook {
  let entries = new Map<string, Entry>();

  function update(id: string, entry: Entry, nowMs: number): void {
    const { findings, programming, spending, refusals = [] } = entry;
    const refusal = refusalCondition(refusals);
    const desired = [...conditionsOf(findings, programming, spending?.spent), ...spending?.conditions ?? [], ...refusal ? [refusal] : []];
    entries.set(id, { ...entry, conditions: mergeConditions(entry.conditions, desired, { generation: findings.generation, nowMs }) });
  }

  function program(programming: (entry: Entry, id: string) => Programming, nowMs: number): void {
    for (const [id, entry] of entries) {
      const next = entry.findings.published ? programming(entry, id) : NOTHING_TO_PROGRAM;
      const has = next.status === 'True' ? { programmedGeneration: entry.findings.generation } : {};
      update(id, { ...entry, ...has, programming: next }, nowMs);
    }
  }

  return {
    observe(findings, nowMs) {
      const before = entries;
      entries = new Map();
      for (const found of findings) {
        const id = statusId(found);
        const old = before.get(id);
        const programming = programmingBefore(found, old);
        const changed = old?.findings.generation !== found.generation;
        update(id, { conditions: [], ...old, findings: found, programming, ...changed ? { refusals: [] } : {} }, nowMs);
      }
    },
    programmed: (nowMs) => program(() => PROGRAMMED, nowMs),
    rejected(faults, nowMs) {
      const words = wordsByObject(faults);
      program(({ programmedGeneration, findings }, id) => {
        const message = words.get(id);
        if (message !== undefined) return { status: 'False', reason: 'Rejected', message };
        return programmedGeneration === findings.generation ? PROGRAMMED : HELD_UP;
      }, nowMs);
    },
    spent(id, spending, nowMs) {
      const entry = entries.get(id);
      if (entry) update(id, { ...entry, spending }, nowMs);
    },
    refused(id, refusal) {
      const entry = entries.get(id);
      if (entry) update(id, { ...entry, refusals: freshRefusals([...entry.refusals ?? [], refusal], refusal.atMs) }, refusal.atMs);
    },
    expire(nowMs) {
      for (const [id, entry] of entries) {
        const refusals = freshRefusals(entry.refusals ?? [], nowMs);
        if (refusals.length !== (entry.refusals ?? []).length) update(id, { ...entry, refusals }, nowMs);
      }
    },
    list() {
      return [...entries.values()].map(({ findings, spending, conditions }) => ({
        kind: findings.kind,
        namespace: findings.namespace,
        name: findings.name,
        status: { observedGeneration: findings.generation, ...findings.fields, ...spending?.fields, conditions },
      }));
    },
  };
}

/** What the proxies had before stays said while nothing of the object has changed, so that Programmed does not flicker. */
function programmingBefore({ generation, published }: Findings, old: Entry | undefined): Programming {
  if (!published) return NOTHING_TO_PROGRAM;
  return old?.programmedGeneration === generation ? old.programming : ON_THE_WAY;
}

function wordsByObject(faults: readonly SnapshotFault[]): Map<string, string> {
  const words = new Map<string, string>();
  for (const fault of faults) {
    const id = statusId(fault);
    const before = words.get(id);
    words.set(id, before === undefined ? fault.message : `${before}; ${fault.message}`);
  }
  return words;
}
