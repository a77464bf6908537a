/**
 * [P] Compares a live status with the desired one. A status has two owners with a field manager each: one for findings
 * and one for spending, so that frequent updates of amounts never touch the other conditions.
 */
import type { Condition } from '#crds/types.gen.ts';
import type { StatusOwner } from '#kube/status-client.ts';
import type { StatusBody } from '#objects/live-object.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { sameJson } from './same-json.ts';
import { isSpendingWarning } from './spending.ts';

const SPENDING_FIELDS: ReadonlySet<string> = new Set([
  'periodStartTime',
  'spentUsd',
  'totalSpentUsd',
  'remainingUsd',
  'lastUsedTime',
  'heldUsd',
  'balanceUsd',
  'limits',
]);

/** The part of a status that belongs to one owner. */
export function partOf(status: StatusBody, owner: StatusOwner): StatusBody {
  return partWith(status, (isSpending) => isSpending === (owner === 'spending'));
}

/** The parts of both owners. */
export function bothPartsOf(status: StatusBody): StatusBody {
  return partWith(status, () => true);
}

function partWith(status: StatusBody, has: (isSpending: boolean) => boolean): StatusBody {
  const { conditions = [], ...fields } = status;
  const part = Object.entries(fields).filter(([name, value]) => value !== undefined && has(SPENDING_FIELDS.has(name)));
  const said = conditions.filter((condition) => has(isSpendingWarning(condition.type)));
  return { ...Object.fromEntries(part), ...(said.length === 0 ? {} : { conditions: said }) };
}

/** True if an owner's part is as desired, with conditions in any order. */
export function samePart(desired: StatusBody, live: StatusBody, owner: StatusOwner): boolean {
  const [should, is] = [partOf(desired, owner), partOf(live, owner)];
  return sameJson({ ...should, conditions: byType(should) }, { ...is, conditions: byType(is) });
}

/** True if the spending conditions differ in type, because a threshold was crossed. */
export function crossesThreshold(desired: StatusBody, live: StatusBody): boolean {
  const types = (status: StatusBody): string =>
    Object.keys(byType(partOf(status, 'spending')))
      .sort()
      .join();
  return types(desired) !== types(live);
}

/** True if the limits themselves changed, by a grant, a new quota, or an edit of an Account's limits. */
export function changesLimit(desired: StatusBody, live: StatusBody): boolean {
  return limitsOf(desired) !== limitsOf(live);
}

/** True if the live status shows other limits. */
export function editsLimit(desired: StatusBody, live: StatusBody): boolean {
  return limitsOf(live) !== undefined && changesLimit(desired, live);
}

/** Spent plus remaining, and an Account's limits; undefined if nothing is known of the spending. */
function limitsOf(status: StatusBody): string | undefined {
  const [spent, left] = [status['spentUsd'], status['balanceUsd'] ?? status['remainingUsd']].map((text) =>
    typeof text === 'string' ? parseDecimal(text) : undefined,
  );
  if (spent === undefined || left === undefined) return undefined;
  const { limits } = status;
  const terms = Array.isArray(limits) ? limits.map(termsOf) : [];
  return [String(spent + left), ...terms].join();
}

/** A limit of an Account's status, without what was spent under it. */
function termsOf({ period, timeZone, usd }: Readonly<Record<string, unknown>>): string {
  return JSON.stringify([period, timeZone, usd]);
}

/** True if the status contains any spending. */
export function hasSpending(status: StatusBody): boolean {
  return status['spentUsd'] !== undefined;
}

/** JSON Patch operations that remove unwanted fields and conditions of an owner's part, whoever wrote them. */
export function removalsFrom(live: StatusBody, desired: StatusBody, owner: StatusOwner): readonly object[] {
  const [should, is] = [partOf(desired, owner), partOf(live, owner)];
  const wanted = byType(should);
  const fields = Object.keys(is).filter((name) => name !== 'conditions' && should[name] === undefined);
  const conditions = (live.conditions ?? []).flatMap(({ type }, index) =>
    byType(is)[type] && !wanted[type] ? [index] : [],
  );
  return [
    ...fields.map((name) => `/status/${name}`),
    ...conditions.toReversed().map((index) => `/status/conditions/${index}`),
  ].map((path) => ({ op: 'remove', path }));
}

function byType({ conditions = [] }: StatusBody): Readonly<Record<string, Condition>> {
  return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
}
