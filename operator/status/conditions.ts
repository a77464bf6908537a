/**
 * [P] Converts findings and the proxies' acknowledgements to conditions, with the types and reasons of the API's
 * complete list. Ready summarises the others. Reconciling and Stalled (kstatus) and warnings are present only while
 * True, and a condition's transition time changes only with its status.
 */
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import type { ConditionType, Reason, ReasonOf } from '#crds/conditions.ts';
import type { Condition } from '#crds/types.gen.ts';
import type { Finding, Findings } from './findings.ts';

/** A condition without time and generation. */
export interface DesiredCondition {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
}

/** The condition Programmed of one object. */
export interface Programming extends Finding<ReasonOf<'Programmed'>> {
  readonly status: Condition['status'];
}

/** Programmed of an accepted object that the proxies have not acknowledged yet. */
export const RECONCILING: Programming = { status: 'Unknown', reason: 'Reconciling', message: REASONS.Reconciling };
/** Programmed of an object that all proxies have in force. */
export const PROGRAMMED: Programming = { status: 'True', reason: 'Programmed', message: REASONS.Programmed };

const MAX_MESSAGE_CHARACTERS = 2048;

/** The conditions of one object, in display order. `spent`: its quota or balance is exhausted. */
export function conditionsOf(
  findings: Findings,
  programming: Programming,
  spent?: Finding<ReasonOf<'Ready'>>,
): DesiredCondition[] {
  const accepted = acceptedOf(findings);
  const programmed = findings.refused ? notProgrammed() : ({ type: 'Programmed', ...programming } as const);
  const resolved = resolvedOf(findings);
  const ready = readyOf([accepted, ...resolved], findings.notReady ?? spent, programmed);
  return [accepted, ...resolved, programmed, ready, ...progressOf(ready), ...warningsOf(findings)].map(bounded);
}

/** Adds generation and times. A condition keeps its transition time while its status is the same. */
export function mergeConditions(
  before: readonly Condition[],
  desired: readonly DesiredCondition[],
  at: { readonly generation: number; readonly nowMs: number },
): Condition[] {
  return desired.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(at.nowMs);
    return { ...condition, lastTransitionTime, observedGeneration: at.generation };
  });
}

/** Caches one time, because all conditions of one reconciliation have the same. */
let formatted = { ms: 0, text: '1970-01-01T00:00:00Z' };

/** Formats a metav1.Time: RFC 3339 in whole seconds. */
export function formatTime(ms: number): string {
  if (ms !== formatted.ms) formatted = { ms, text: new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z') };
  return formatted.text;
}

function acceptedOf({ refused, remark, kind }: Findings): DesiredCondition {
  if (refused) return { type: 'Accepted', status: 'False', ...refused };
  if (!remark) return { type: 'Accepted', status: 'True', reason: 'Accepted', message: REASONS.Accepted };
  const reason = kind === 'PriceCatalog' ? remark.reason : 'Accepted';
  return { type: 'Accepted', status: 'True', reason, message: remark.message };
}

function resolvedOf({ kind, refused, unresolved }: Findings): DesiredCondition[] {
  if (kind !== 'ModelRoute' || refused) return [];
  if (unresolved) return [{ type: 'ResolvedRefs', status: 'False', ...unresolved }];
  return [{ type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: REASONS.ResolvedRefs }];
}

function notProgrammed(): DesiredCondition {
  return { type: 'Programmed', status: 'False', reason: 'NotAccepted', message: REASONS.NotAccepted };
}

/** Ready. Its reason is the first failure in this order: the object, its references, the proxies, its use. */
function readyOf(
  own: readonly DesiredCondition[],
  notReady: Finding | undefined,
  programmed: DesiredCondition,
): DesiredCondition {
  // a route whose costs are unknown serves
  const failed = own.find(({ status, reason }) => status !== 'True' && reason !== 'CatalogNotFound');
  const fault = failed ?? (programmed.status === 'False' ? programmed : undefined);
  if (fault) return { ...fault, type: 'Ready' };
  if (notReady) return { type: 'Ready', status: 'False', ...notReady };
  if (programmed.status !== 'True') return { ...programmed, type: 'Ready' };
  return { type: 'Ready', status: 'True', reason: 'Ready', message: REASONS.Ready };
}

/** The kstatus condition: an object that is not Ready is either Reconciling or Stalled. */
function progressOf({ status, reason, message }: DesiredCondition): DesiredCondition[] {
  if (status === 'True') return [];
  for (const type of ['Reconciling', 'Stalled'] as const)
    if ((CONDITIONS[type].reasons as readonly Reason[]).includes(reason))
      return [{ type, status: 'True', reason, message }];
  return [];
}

function warningsOf({ refused, allDrained, unpriced, limitsDiffer }: Findings): DesiredCondition[] {
  if (refused) return [];
  return [
    ...(allDrained ? [{ type: 'AllChannelsDrained', status: 'True', ...allDrained } as const] : []),
    ...(unpriced ? [{ type: 'UnpricedModels', status: 'True', ...unpriced } as const] : []),
    ...(limitsDiffer ? [{ type: 'LimitsDiffer', status: 'True', ...limitsDiffer } as const] : []),
  ];
}

function bounded(condition: DesiredCondition): DesiredCondition {
  if (condition.message.length <= MAX_MESSAGE_CHARACTERS) return condition;
  return { ...condition, message: `${condition.message.slice(0, MAX_MESSAGE_CHARACTERS - 1)}…` };
}
