/**
 * [P] Conditions: findings and the proxies' word → what a status says, in the API's own closed list of types and
 * reasons. Ready sums up the others. Reconciling and Stalled (kstatus) and the warnings are there only while they hold,
 * and a condition's transition time moves only when its status does.
 */
import { CONDITIONS, REASONS } from '#crds/conditions.ts';
import type { ConditionType, Reason, ReasonOf } from '#crds/conditions.ts';
import type { Condition } from '#crds/types.gen.ts';
import type { Finding, Findings } from './findings.ts';

/** A condition before it has a time and a generation. */
export interface DesiredCondition {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  readonly reason: Reason;
  readonly message: string;
}

/** What the proxies say of one object. */
export interface Programming extends Finding<ReasonOf<'Programmed'>> {
  readonly status: Condition['status'];
}

/** An accepted object on its way to the proxies. */
export const ON_THE_WAY: Programming = { status: 'Unknown', reason: 'Reconciling', message: REASONS.Reconciling };
/** All proxies have it. */
export const PROGRAMMED: Programming = { status: 'True', reason: 'Programmed', message: REASONS.Programmed };

const MOST_MESSAGE_CHARACTERS = 2048;

/** The conditions of one object, in the order in which people read them. `spent`: its money is used up. */
export function conditionsOf(
  findings: Findings, programming: Programming, spent?: Finding<ReasonOf<'Ready'>>,
): DesiredCondition[] {
  const accepted = acceptedOf(findings);
  const programmed = findings.refused ? notProgrammed() : { type: 'Programmed', ...programming } as const;
  const resolved = resolvedOf(findings);
  const ready = readyOf([accepted, ...resolved], findings.notReady ?? spent, programmed);
  return [accepted, ...resolved, programmed, ready, ...progressOf(ready), ...unpricedOf(findings)].map(bounded);
}

/**
 * Conditions with generation and times: those of before are kept where nothing is new, and the order is the desired
 * one.
 */
export function mergeConditions(
  before: readonly Condition[], desired: readonly DesiredCondition[],
  at: { readonly generation: number; readonly nowMs: number },
): Condition[] {
  return desired.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(at.nowMs);
    return { ...condition, lastTransitionTime, observedGeneration: at.generation };
  });
}

/** The last time that was formatted: all conditions of one reconciliation have the same. */
let formatted = { ms: 0, text: '1970-01-01T00:00:00Z' };

/** A metav1.Time: RFC 3339 in whole seconds. */
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

/** The first thing that is wrong, in the order: the object, what it refers to, the proxies, its use. */
function readyOf(own: readonly DesiredCondition[], notReady:
  | Finding | undefined, programmed: DesiredCondition): DesiredCondition {
  const fault = own.find(({ status }) => status !== 'True') ?? (programmed.status === 'False' ? programmed : undefined);
  if (fault) return { ...fault, type: 'Ready' };
  if (notReady) return { type: 'Ready', status: 'False', ...notReady };
  if (programmed.status !== 'True') return { ...programmed, type: 'Ready' };
  return { type: 'Ready', status: 'True', reason: 'Ready', message: REASONS.Ready };
}

/** kstatus: what is not ready is either still being worked on, or waits for somebody to change something. */
function progressOf({ status, reason, message }: DesiredCondition): DesiredCondition[] {
  if (status === 'True') return [];
  for (const type of ['Reconciling', 'Stalled'] as const)
    if ((CONDITIONS[type].reasons as readonly Reason[]).includes(reason))
      return [{ type, status: 'True', reason, message }];
  return [];
}

function unpricedOf({ refused, unpriced }: Findings): DesiredCondition[] {
  return unpriced && !refused ? [{ type: 'UnpricedModels', status: 'True', ...unpriced }] : [];
}

function bounded(condition: DesiredCondition): DesiredCondition {
  if (condition.message.length <= MOST_MESSAGE_CHARACTERS) return condition;
  return { ...condition, message: `${condition.message.slice(0, MOST_MESSAGE_CHARACTERS - 1)}…` };
}
