/**
 * What is said of every object at this moment: the last findings, the proxies' answer and the last known spending,
 * joined into conditions whose transition times live on from one reconciliation to the next.
 */
import type { Condition } from '#crds/types.gen.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { ON_THE_WAY, PROGRAMMED, conditionsOf, mergeConditions } from '../status/conditions.ts';
import type { Programming } from '../status/conditions.ts';
import type { Findings, StatusFields } from '../status/findings.ts';
import { freshRefusals, refusalCondition } from '../status/refusals.ts';
import type { Refusal } from '../status/refusals.ts';
import { sameJson } from '../status/same-json.ts';
import type { SpendingStatus } from '../status/spending.ts';

/** One object's status, as a status subresource would have it. */
export interface ObjectStatus {
  readonly kind: Findings['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly status: StatusFields & { readonly observedGeneration: number; readonly conditions: readonly Condition[] };
}

export interface StatusBook {
  /**
   * Replaces all findings; objects that are not among them are forgotten. What is published is on its way again.
   * `before`: what the live status says of an object that the book does not know yet, so that it goes on from there.
   */
  observe(findings: readonly Findings[], nowMs: number, before?: (id: string) => StatusBefore | undefined): void;
  /** The proxies have what was observed last. */
  programmed(nowMs: number): void;
  /** The proxies refused it, and go on with what they had. */
  rejected(faults: readonly SnapshotFault[], nowMs: number): void;
  /** What is known of an object's spending. */
  spent(id: string, spending: SpendingStatus, nowMs: number): void;
  /** Whether anything is known of it. */
  knowsSpending(id: string): boolean;
  /** A provider refused what the object gives it. */
  refused(id: string, refusal: Refusal): void;
  /** Forgets refusals that have not come again for long. */
  expire(nowMs: number): void;
  /**
   * What the proxies say of some objects: told of what was said last of those that they are given, and gives back what
   * is to be said now.
   */
  judge(ids: Iterable<string>, verdict: (id: string, before: Programming) => Programming, nowMs: number): void;
  /** All statuses, sorted by kind, namespace and name. */
  list(): ObjectStatus[];
  /** By "Kind namespace/name". */
  get(id: string): ObjectStatus | undefined;
  /** Forgets everything; what is observed next goes on from the live statuses. */
  clear(): void;
}

/** A status from before the book was opened. */
interface StatusBefore {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
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
const NOTHING_TO_PROGRAM: Programming = {
  status: 'Unknown', reason: 'Pending', message: 'There is nothing yet that the proxies could have in force.',
};
const HELD_UP: Programming = {
  status: 'False', reason: 'Reconciling', message:
    'Other objects were refused; the proxies go on with the last good state, which this version is not part of.',
};

/** "Kind namespace/name". */
export function statusId({ kind, namespace, name }: Pick<Findings, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`;
}

/** `onChanged` is told of each object whose status has become another, or which was forgotten. */
export function openStatusBook(onChanged: (id: string) => void = () => undefined): StatusBook {
  const entries = new Map<string, Entry>();
  /** Objects with refusals, of which there are few where there may be a hundred thousand objects. */
  const refused = new Set<string>();
  let observed: readonly Findings[] = [];

  function update(id: string, entry: Entry, nowMs: number): void {
    const { findings, programming, spending, refusals = [] } = entry;
    const refusal = refusalCondition(refusals);
    const desired = [...conditionsOf(findings, programming, spending?.spent), ...spending?.conditions ??
      [], ...refusal ? [refusal] : []];
    entries.set(id, {
      ...entry, conditions: mergeConditions(entry.conditions, desired, { generation: findings.generation, nowMs }),
    });
    onChanged(id);
  }

  function observeOne(id: string, found: Findings, nowMs: number, before?: (id: string) =>
    | StatusBefore | undefined): void {
    const known = entries.get(id);
    if (known?.findings === found) return;
    if (known && isUnchanged(known, found)) entries.set(id, { ...known, findings: found });
    else update(id, nextEntry(found, known ?? entryBefore(found, before?.(id))), nowMs);
  }

  function program(programming: (entry: Entry, id: string) => Programming, nowMs: number): void {
    for (const [id, entry] of entries) {
      const next = entry.findings.published ? programming(entry, id) : NOTHING_TO_PROGRAM;
      if (next !== entry.programming || !isProgrammed(entry)) update(id, entryWith(entry, next), nowMs);
    }
  }

  return {
    observe(findings, nowMs, before) {
      observed = findings;
      const gone = new Set(entries.keys());
      for (const found of findings) {
        const id = statusId(found);
        gone.delete(id);
        observeOne(id, found, nowMs, before);
      }
      for (const id of gone) if (entries.delete(id)) onChanged(id);
    },
    judge(ids, verdict, nowMs) {
      for (const id of ids) {
        const entry = entries.get(id);
        if (!entry?.findings.published) continue;
        const programming = verdict(id, entry.programming);
        if (sameJson(programming, entry.programming)) continue;
        update(id, entryWith(entry, programming), nowMs);
      }
    },
    programmed: (nowMs) => program(() => PROGRAMMED, nowMs),
    rejected(faults, nowMs) {
      const words = wordsByObject(faults);
      program((entry, id) => programmingAfterRejection(entry, words.get(id)), nowMs);
    },
    spent(id, spending, nowMs) {
      const entry = entries.get(id);
      if (entry && !sameJson(entry.spending, spending)) update(id, { ...entry, spending }, nowMs);
    },
    knowsSpending: (id) => entries.get(id)?.spending !== undefined,
    refused(id, refusal) {
      const entry = entries.get(id);
      if (entry) update(
        id, { ...entry, refusals: freshRefusals([...entry.refusals ?? [], refusal], refusal.atMs) }, refusal.atMs,
      );
      refused.add(id);
    },
    expire(nowMs) {
      for (const id of refused) {
        const entry = entries.get(id);
        const refusals = freshRefusals(entry?.refusals ?? [], nowMs);
        if (refusals.length === 0) refused.delete(id);
        if (entry && refusals.length !== entry.refusals?.length) update(id, { ...entry, refusals }, nowMs);
      }
    },
    list: () => listStatuses(observed, entries),
    get(id) {
      const entry = entries.get(id);
      return entry && statusOf(entry);
    },
    clear() { observed = []; entries.clear(); refused.clear(); },
  };
}

function listStatuses(observed: readonly Findings[], entries: ReadonlyMap<string, Entry>): ObjectStatus[] {
  return observed.flatMap((findings) => {
    const entry = entries.get(statusId(findings));
    return entry ? [statusOf(entry)] : [];
  });
}

/** `message`: what the proxies refused about the object itself. */
function programmingAfterRejection({ programmedGeneration, findings }: Entry, message:
  | string | undefined): Programming {
  if (message !== undefined) return { status: 'False', reason: 'Rejected', message };
  return programmedGeneration === findings.generation ? PROGRAMMED : HELD_UP;
}

/** False: the proxies have the object, and it is not noted yet of which generation. */
function isProgrammed({ programming, programmedGeneration, findings }: Entry): boolean {
  return programming.status !== 'True' || programmedGeneration === findings.generation;
}

/**
 * What an object's entry becomes with new findings. A refusal that was heard of another generation may have been
 * mended.
 */
function nextEntry(findings: Findings, old: Entry | undefined): Entry {
  const edited = old?.findings.generation !== findings.generation;
  return {
    conditions: [], ...old, findings, programming: programmingBefore(findings, old), ...edited ? { refusals: [] } : {},
  };
}

function entryWith(entry: Entry, programming: Programming): Entry {
  return { ...entry, ...programming.status === 'True' &&
    { programmedGeneration: entry.findings.generation }, programming };
}

function isUnchanged(entry: Entry, findings: Findings): boolean {
  return programmingBefore(findings, entry) === entry.programming && sameJson(entry.findings, findings);
}

function statusOf({ findings, spending, conditions }: Entry): ObjectStatus {
  const { kind, namespace, name, generation, fields } = findings;
  return {
    kind, namespace, name, status: { observedGeneration: generation, ...fields, ...spending?.fields, conditions },
  };
}

/** Goes on from what a live status says: transition times live on, and what the proxies had is taken to be still so. */
function entryBefore(findings: Findings, before: StatusBefore | undefined): Entry | undefined {
  if (!before?.conditions) return undefined;
  const { conditions, observedGeneration = 0 } = before;
  const spending = spendingBefore(conditions);
  const known = { findings: { ...findings, generation: observedGeneration }, conditions, ...spending && { spending } };
  const programmed = conditions.find(({ type, status, observedGeneration: generation }) =>
    type === 'Programmed' && status === 'True' && generation === findings.generation);
  if (!programmed) return { ...known, programming: ON_THE_WAY };
  const programming: Programming = { status: 'True', reason: 'Programmed', message: programmed.message };
  return { ...known, programming, programmedGeneration: findings.generation };
}

const WARNINGS = { QuotaLow: 'AboveThreshold', QuotaExhausted:
  'LimitReached', BalanceLow: 'AboveThreshold', BalanceExhausted: 'LimitReached' } as const;

function isWarning(type: string): type is keyof typeof WARNINGS {
  return Object.hasOwn(WARNINGS, type);
}

/** Warnings about spending hold until the ledger has been read; of its figures nothing is said until then. */
function spendingBefore(conditions: readonly Condition[]): SpendingStatus | undefined {
  const warnings = conditions.flatMap(({ type, status, message }) =>
    isWarning(type) ? [{ type, status, reason: WARNINGS[type], message }] : []);
  const exhausted = warnings.find(({ reason }) => reason === 'LimitReached');
  if (warnings.length === 0) return undefined;
  return { fields: {}, conditions: warnings, ...exhausted &&
    { spent: { reason: 'LimitReached', message: exhausted.message } } };
}

/**
 * What the proxies had before stays said while nothing of the object has changed, so that Programmed does not flicker.
 */
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
