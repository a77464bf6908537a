/**
 * The desired status of every object: its findings, the proxies' acknowledgements and its last known spending, merged
 * into conditions whose transition times survive from one reconciliation to the next.
 */
import { objectId } from '#objects/resources.ts';
import { isTenantKind } from '#crds/kinds.ts';
import type { Condition } from '#crds/types.gen.ts';
import type { SnapshotFault } from '#snapshot/faults.ts';
import { differences } from '#snapshot/sorted.ts';
import { RECONCILING, conditionsOf, mergeConditions } from '../status/conditions.ts';
import type { Programming } from '../status/conditions.ts';
import { compareFindings } from '../status/findings.ts';
import type { Finding, Findings, StatusFields } from '../status/findings.ts';
import { freshRefusals, refusalConditions, refusedChannels, refusedCredential } from '../status/refusals.ts';
import type { Refusal } from '../status/refusals.ts';
import { sameJson } from '../status/same-json.ts';
import { SPENDING_WARNINGS, accountLimitFinding, isSpendingWarning } from '../status/spending.ts';
import type { SpendingStatus } from '../status/spending.ts';

/** One object's status, as a status subresource would have it. */
export interface ObjectStatus {
  readonly kind: Findings['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly status: StatusFields & { readonly observedGeneration: number; readonly conditions: readonly Condition[] };
}

export interface StatusTracker {
  /**
   * Replaces all findings, which are in the order of compareFindings, and removes objects without any. `before` gives
   * the live status of an object that is not tracked yet, so that its transition times continue.
   */
  observe(findings: readonly Findings[], nowMs: number, before?: (id: string) => EarlierStatus | undefined): void;
  /**
   * Records an object's spending, measured against the limits of a generation; default: the observed one. Returns false,
   * and records nothing, if the object is unknown or another generation is observed.
   */
  spent(id: string, spending: SpendingStatus, nowMs: number, generation?: number): boolean;
  /** Replaces the spending of an edited object until the ledger has been read. */
  remeasured(id: string, spending: SpendingStatus, nowMs: number): void;
  /** True if an object's spending is recorded. */
  hasSpending(id: string): boolean;
  /** True for a key or an account whose spending is unknown, or is measured against the limits of an earlier version. */
  awaitsSpending(id: string): boolean;
  /** Records a provider's refusal of a ModelRoute's credential, address or model name. */
  refused(id: string, refusal: Refusal): void;
  /** Removes refusals that have not been repeated lately. */
  expire(nowMs: number): void;
  /** Updates Programmed of published objects; `next` computes it from the previous value. */
  reprogram(ids: Iterable<string>, next: (id: string, before: Programming) => Programming, nowMs: number): void;
  /** All statuses, sorted by kind, namespace and name. */
  list(): ObjectStatus[];
  /** By "Kind namespace/name". */
  get(id: string): ObjectStatus | undefined;
  /** Drops everything; the next observation continues from the live statuses. */
  clear(): void;
}

/** A live status that an earlier process or leader wrote. */
interface EarlierStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

interface Entry {
  readonly findings: Findings;
  readonly programming: Programming;
  /** The generation that the proxies have put in force. */
  readonly programmedGeneration?: number;
  readonly spending?: SpendingStatus;
  /** The generation whose limits the spending is measured against; undefined: an earlier process read it. */
  readonly spentGeneration?: number;
  /** Refusals of the current generation. */
  readonly refusals?: readonly Refusal[];
  readonly conditions: readonly Condition[];
}

/** Programmed of an accepted object that is not published, because its key does not exist yet. */
const NOTHING_TO_PROGRAM: Programming = {
  status: 'Unknown',
  reason: 'Pending',
  message: 'Waiting for the key.',
};

/** `onChanged` is called for each object whose status changed or which was removed. */
export function createStatusTracker(onChanged: (id: string) => void = () => undefined): StatusTracker {
  const entries = openEntries(onChanged);
  const { byId, update, remove } = entries;
  let observed: readonly Findings[] = [];
  return {
    ...refusalsOf(entries),
    observe(findings, nowMs, before) {
      for (const [old, found] of differences(observed, findings, compareFindings)) {
        if (found) observeOne(entries, found, { id: objectId(found.kind, found), nowMs, before });
        else if (old && remove(objectId(old.kind, old))) onChanged(objectId(old.kind, old));
      }
      observed = findings;
    },
    reprogram(ids, next, nowMs) {
      for (const id of ids) {
        const entry = byId.get(id);
        if (!entry?.findings.published) continue;
        const programming = next(id, entry.programming);
        if (!sameJson(programming, entry.programming)) update(id, entryWith(entry, programming), nowMs);
      }
    },
    spent(id, spending, nowMs, generation) {
      const entry = byId.get(id);
      if (!entry) return false;
      const spentGeneration = entry.findings.generation;
      if ((generation ?? spentGeneration) !== spentGeneration) return false;
      if (!sameJson(entry.spending, spending)) update(id, { ...entry, spending, spentGeneration }, nowMs);
      else if (entry.spentGeneration !== spentGeneration) update(id, { ...entry, spentGeneration }, nowMs);
      return true;
    },
    remeasured(id, spending, nowMs) {
      const entry = byId.get(id);
      if (entry && !sameJson(entry.spending, spending)) update(id, { ...entry, spending }, nowMs);
    },
    hasSpending: (id) => byId.get(id)?.spending !== undefined,
    awaitsSpending(id) {
      const entry = byId.get(id);
      return entry !== undefined && isSpender(entry.findings) && entry.spentGeneration !== entry.findings.generation;
    },
    list: () => listStatuses(observed, byId),
    get(id) {
      const entry = byId.get(id);
      return entry && statusOf(entry);
    },
    clear() {
      observed = [];
      entries.clear();
    },
  };
}

/** Invalid objects have no limits that spending could be measured against. */
function isSpender({ kind, refused }: Findings): boolean {
  return isTenantKind(kind) && refused?.reason !== 'Invalid';
}

interface Entries {
  readonly byId: Map<string, Entry>;
  /** Stores an entry with the conditions that follow from it, and those of an Account's keys. */
  readonly update: (id: string, entry: Entry, nowMs: number) => void;
  /** Returns whether there was an entry. */
  readonly remove: (id: string) => boolean;
  readonly clear: () => void;
}

function openEntries(onChanged: (id: string) => void): Entries {
  const byId = new Map<string, Entry>();
  /** The ids of ApiKeys by the id of their Account. */
  const keysOf = new Map<string, Set<string>>();

  function store(id: string, entry: Entry, nowMs: number): void {
    const { findings, programming, spending, refusals = [] } = entry;
    const account = byId.get(accountIdOf(findings) ?? '');
    const spent = spending?.spent ?? accountLimitOf(account) ?? refusedCredential(refusals);
    const desired = [
      ...conditionsOf(findings, programming, spent),
      ...(spending?.conditions ?? []),
      ...refusalConditions(refusals, findings.signsIn),
    ];
    const { generation } = findings;
    moveKey(id, byId.get(id)?.findings, findings);
    byId.set(id, { ...entry, conditions: mergeConditions(entry.conditions, desired, { generation, nowMs }) });
    onChanged(id);
  }

  /** Keeps `keysOf` up to date when a key changes its Account, appears, or is removed. */
  function moveKey(id: string, before: Findings | undefined, now: Findings | undefined): void {
    const [from, to] = [before && accountIdOf(before), now && accountIdOf(now)];
    if (from === to) return;
    if (from !== undefined) {
      const keys = keysOf.get(from);
      keys?.delete(id);
      if (keys?.size === 0) keysOf.delete(from);
    }
    if (to !== undefined) keysOf.set(to, (keysOf.get(to) ?? new Set()).add(id));
  }

  return {
    byId,
    update(id, entry, nowMs) {
      const before = accountLimitOf(byId.get(id));
      store(id, entry, nowMs);
      if (sameJson(before, accountLimitOf(entry))) return;
      for (const key of keysOf.get(id) ?? []) {
        const known = byId.get(key);
        if (known) store(key, known, nowMs);
      }
    },
    remove(id) {
      moveKey(id, byId.get(id)?.findings, undefined);
      return byId.delete(id);
    },
    clear() {
      byId.clear();
      keysOf.clear();
    },
  };
}

/** The id of an ApiKey's Account; undefined for other kinds. */
function accountIdOf({ namespace, account }: Findings): string | undefined {
  return account === undefined ? undefined : objectId('Account', { namespace, name: account });
}

/** Why an Account's keys are not Ready, if the entry is an Account's. */
function accountLimitOf(entry: Entry | undefined): Finding<'AccountLimitReached'> | undefined {
  if (entry?.findings.kind !== 'Account' || !entry.spending) return undefined;
  return accountLimitFinding(entry.findings.name, entry.spending.conditions);
}

interface Observation {
  readonly id: string;
  readonly nowMs: number;
  readonly before: ((id: string) => EarlierStatus | undefined) | undefined;
}

function observeOne({ byId, update }: Entries, found: Findings, { id, nowMs, before }: Observation): void {
  const known = byId.get(id);
  if (known && isUnchanged(known, found)) byId.set(id, { ...known, findings: found });
  else update(id, nextEntry(found, known ?? entryBefore(found, before?.(id))), nowMs);
}

function refusalsOf({ byId, update }: Entries): Pick<StatusTracker, 'refused' | 'expire'> {
  /** Objects with refusals: a few of perhaps a hundred thousand. */
  const refused = new Set<string>();
  return {
    refused(id, refusal) {
      const entry = byId.get(id);
      if (!entry) return;
      const refusals = freshRefusals([...(entry.refusals ?? []), refusal], refusal.atMs);
      update(id, { ...entry, refusals }, refusal.atMs);
      refused.add(id);
    },
    expire(nowMs) {
      for (const id of refused) {
        const entry = byId.get(id);
        const refusals = freshRefusals(entry?.refusals ?? [], nowMs);
        if (refusals.length === 0) refused.delete(id);
        if (entry && refusals.length !== (entry.refusals?.length ?? 0)) update(id, { ...entry, refusals }, nowMs);
      }
    },
  };
}

function listStatuses(observed: readonly Findings[], entries: ReadonlyMap<string, Entry>): ObjectStatus[] {
  return observed.flatMap((findings) => {
    const entry = entries.get(objectId(findings.kind, findings));
    return entry ? [statusOf(entry)] : [];
  });
}

/** An object's entry with new findings. Refusals of an earlier generation are dropped: the edit may have fixed them. */
function nextEntry(findings: Findings, old: Entry | undefined): Entry {
  const edited = old?.findings.generation !== findings.generation;
  return {
    conditions: [],
    ...old,
    findings,
    programming: programmingBefore(findings, old),
    ...(edited ? { refusals: [] } : {}),
  };
}

function entryWith(entry: Entry, programming: Programming): Entry {
  return {
    ...entry,
    ...(programming.status === 'True' && { programmedGeneration: entry.findings.generation }),
    programming,
  };
}

function isUnchanged(entry: Entry, findings: Findings): boolean {
  return programmingBefore(findings, entry) === entry.programming && sameJson(entry.findings, findings);
}

function statusOf({ findings, spending, refusals, conditions }: Entry): ObjectStatus {
  const { kind, namespace, name, generation, fields } = findings;
  const channels = channelsLeft(findings, refusals);
  return {
    kind,
    namespace,
    name,
    status: { observedGeneration: generation, ...fields, ...channels, ...spending?.fields, conditions },
  };
}

/** The number of a ModelRoute's usable channels, if providers refuse the credentials of some. */
function channelsLeft({ usableChannels = [] }: Findings, refusals: readonly Refusal[] = []): StatusFields {
  if (refusals.length === 0) return {};
  const refused = refusedChannels(refusals);
  return { channels: usableChannels.filter((name) => !refused.has(name)).length };
}

/** Continues from a live status: keeps its transition times and its Programmed. */
function entryBefore(findings: Findings, before: EarlierStatus | undefined): Entry | undefined {
  // without an observedGeneration the conditions are the schema's defaults
  if (!before?.conditions || before.observedGeneration === undefined) return undefined;
  const { conditions, observedGeneration } = before;
  const spending = spendingBefore(conditions);
  const known = {
    findings: { ...findings, generation: observedGeneration },
    conditions,
    ...(spending && { spending }),
  };
  const programmed = conditions.find(
    ({ type, status, observedGeneration: generation }) =>
      type === 'Programmed' && status === 'True' && generation === findings.generation,
  );
  if (!programmed) return { ...known, programming: RECONCILING };
  const programming: Programming = { status: 'True', reason: 'Programmed', message: programmed.message };
  return { ...known, programming, programmedGeneration: findings.generation };
}

/** Warnings about spending stay until the ledger has been read; amounts are left out until then. */
function spendingBefore(conditions: readonly Condition[]): SpendingStatus | undefined {
  const warnings = conditions.flatMap(({ type, status, message }) =>
    isSpendingWarning(type) ? [{ type, status, reason: SPENDING_WARNINGS[type], message }] : [],
  );
  const exhausted = warnings.find(({ reason }) => reason === 'LimitReached');
  if (warnings.length === 0) return undefined;
  return {
    fields: {},
    conditions: warnings,
    ...(exhausted && { spent: { reason: 'LimitReached', message: exhausted.message } }),
  };
}

/** Programmed stays as it was while the object's generation is unchanged, so that it does not flicker. */
function programmingBefore({ generation, published }: Findings, old: Entry | undefined): Programming {
  if (!published) return NOTHING_TO_PROGRAM;
  return old?.programmedGeneration === generation ? old.programming : RECONCILING;
}

/** The faults' messages by "Kind namespace/name", joined where an object has several. */
export function messagesByObject(faults: readonly SnapshotFault[]): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const fault of faults) {
    const id = objectId(fault.kind, fault);
    const before = messages.get(id);
    messages.set(id, before === undefined ? fault.message : `${before}; ${fault.message}`);
  }
  return messages;
}
