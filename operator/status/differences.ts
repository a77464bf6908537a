/**
 * [P] What has to be written so that a live status says what it should. A status has two owners, each with a field
 * manager of its own: one for what the operator finds, one for what was spent, so that the frequent figures never touch
 * the conditions.
 */
import type { ConditionType } from '#crds/conditions.ts';
import type { Condition } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { sameJson } from './same-json.ts';

export type StatusOwner = 'operator' | 'spending';

/** A status, whichever kind's. */
export interface StatusBody {
  readonly conditions?: readonly Condition[];
  readonly [field: string]: unknown;
}

const SPENDING_FIELDS: ReadonlySet<string> =
  new Set(['periodStartTime', 'spentUsd', 'totalSpentUsd', 'remainingUsd', 'lastUsedTime', 'heldUsd', 'balanceUsd']);
const SPENDING_CONDITIONS: ReadonlySet<string> =
  new Set<ConditionType>(['QuotaLow', 'QuotaExhausted', 'BalanceLow', 'BalanceExhausted']);

/** The part of a status that one owner answers for; without conditions where it has none. */
export function partOf(status: StatusBody, owner: StatusOwner): StatusBody {
  const ours = (isSpending: boolean): boolean => isSpending === (owner === 'spending');
  const { conditions = [], ...fields } = status;
  const part = Object.entries(fields).filter(([name, value]) => value !== undefined && ours(SPENDING_FIELDS.has(name)));
  const said = conditions.filter((condition) => ours(SPENDING_CONDITIONS.has(condition.type)));
  return { ...Object.fromEntries(part), ...said.length === 0 ? {} : { conditions: said } };
}

/** Whether an owner's part is as it should be; the order of conditions is the server's affair. */
export function samePart(desired: StatusBody, live: StatusBody, owner: StatusOwner): boolean {
  const [should, is] = [partOf(desired, owner), partOf(live, owner)];
  return sameJson({ ...should, conditions: byType(should) }, { ...is, conditions: byType(is) });
}

/** Whether spending has crossed a threshold that the live status does not tell of, or tells of wrongly. */
export function crossesThreshold(desired: StatusBody, live: StatusBody): boolean {
  const types = (status: StatusBody): string => Object.keys(byType(partOf(status, 'spending'))).sort().join();
  return types(desired) !== types(live);
}

/** Whether the limit itself has moved, and not only what is spent of it: a new grant, another quota. */
export function movesLimit(desired: StatusBody, live: StatusBody): boolean {
  return limitOf(desired) !== limitOf(live);
}

/** What is spent and what is left, together; undefined where that cannot be said. */
function limitOf(status: StatusBody): bigint | undefined {
  const [spent, left] = [status['spentUsd'], status['balanceUsd'] ?? status['remainingUsd']].map((text) =>
    typeof text === 'string' ? parseDecimal(text) : undefined);
  return spent === undefined || left === undefined ? undefined : spent + left;
}

/** Whether anything is known of spending. */
export function tellsSpending(status: StatusBody): boolean {
  return status['spentUsd'] !== undefined;
}

/** JSON Patch operations that remove from an owner's part what should not be there, whoever wrote it. */
export function removalsFrom(live: StatusBody, desired: StatusBody, owner: StatusOwner): readonly object[] {
  const [should, is] = [partOf(desired, owner), partOf(live, owner)];
  const wanted = byType(should);
  const fields = Object.keys(is).filter((name) => name !== 'conditions' && should[name] === undefined);
  const conditions =
    (live.conditions ?? []).flatMap(({ type }, index) => byType(is)[type] && !wanted[type] ? [index] : []);
  return [...fields.map((name) =>
    `/status/${name}`), ...conditions.toReversed().map((index) => `/status/conditions/${index}`)]
    .map((path) => ({ op: 'remove', path }));
}

function byType({ conditions = [] }: StatusBody): Readonly<Record<string, Condition>> {
  return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
}
