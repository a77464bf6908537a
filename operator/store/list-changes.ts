/**
 * [P] What differs between a list and its next version, by identity: objects are frozen, so what is the same object says the same.
 * Ten thousand pointers are compared in microseconds, where a look into each object would take milliseconds.
 */

interface ListChanges<T> {
  readonly removed: readonly T[];
  readonly added: readonly T[];
}

/** So many differences place by place are taken as they are. */
const FEW = 64;

const NONE: ListChanges<never> = { removed: [], added: [] };
/** Several steps ask about the same two lists. By the list before: the one that came after it. */
const known = new WeakMap<readonly unknown[], { readonly now: readonly unknown[]; readonly changes: ListChanges<unknown> }>();

/** Lists are not changed once they are given out. An item that has only moved may be among both. */
export function listChanges<T>(before: readonly T[], now: readonly T[]): ListChanges<T> {
  if (before === now) return NONE;
  if (before.length === 0) return { removed: [], added: now };
  const last = known.get(before);
  if (last?.now === now && areOf(last.changes, now)) return last.changes;
  const changes = changesByPlace(before, now) ?? changesBetween(before, now);
  known.set(before, { now, changes });
  return changes;
}

/** What was found between two lists of T is of T. */
function areOf<T>(_changes: ListChanges<unknown>, _list: readonly T[]): _changes is ListChanges<T> {
  return true;
}

/** Whether two lists have the same items in the same places. */
export function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** How many items at the beginning, and then at the end, are the same. */
export function sameEnds<T>(before: readonly T[], now: readonly T[]): { readonly start: number; readonly end: number } {
  const shorter = Math.min(before.length, now.length);
  let start = 0;
  while (start < shorter && before[start] === now[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === now[now.length - 1 - end]) end++;
  return { start, end };
}

/** undefined: too many; probably everything has moved by one place. */
function changesByPlace<T>(before: readonly T[], now: readonly T[]): ListChanges<T> | undefined {
  const shorter = Math.min(before.length, now.length);
  if (Math.abs(before.length - now.length) > FEW) return undefined;
  const [removed, added] = [before.slice(shorter), now.slice(shorter)];
  for (let at = 0; at < shorter; at++) {
    const old = before[at];
    const next = now[at];
    if (old === next || old === undefined || next === undefined) continue;
    removed.push(old);
    added.push(next);
    if (added.length > FEW) return undefined;
  }
  return { removed, added };
}

function changesBetween<T>(before: readonly T[], now: readonly T[]): ListChanges<T> {
  const { start, end } = sameEnds(before, now);
  const old = new Set(before.slice(start, before.length - end));
  const added = now.slice(start, now.length - end).filter((item) => !old.delete(item));
  return { removed: [...old], added };
}
