/** [P] The conditions of an object, as its status has them. */
import type { Condition } from '#crds/types.gen.ts';

interface Conditioned {
  readonly metadata: { readonly generation?: number };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** undefined: nobody has written it yet. */
export function conditionOf({ status }: Conditioned, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** The Ready condition, if it refers to the current spec. */
export function currentReady(object: Conditioned): Condition | undefined {
  const ready = conditionOf(object, 'Ready');
  return ready && isCurrent(ready, object) ? ready : undefined;
}

/** What a condition says: its message, or its reason if the operator wrote none. */
export function wordsOf({ message, reason }: Condition): string {
  return message === '' ? reason : message;
}

/** Whether a condition refers to the current spec. */
export function isCurrent(
  { observedGeneration = Infinity }: Condition,
  { metadata: { generation = 0 } }: Conditioned,
): boolean {
  return observedGeneration >= generation;
}

/** Whether a change is on its way to the proxies. */
export function isUnderWay(object: Conditioned): boolean {
  return conditionOf(object, 'Reconciling')?.status === 'True';
}
