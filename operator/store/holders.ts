/** [P] Who holds what, where nearly everything has one holder. */

export interface Holders<T> {
  /** Both return whether anybody else holds it. */
  enter(what: string, holder: T): boolean;
  leave(what: string, holder: T): boolean;
  of(what: string): Iterable<T>;
  /** What more than one holds: by all of them. */
  shared(): Iterable<ReadonlySet<T>>;
}

/** Each holder is told from others by identity. */
export function openHolders<T>(): Holders<T> {
  /** A hundred thousand sets of one would take more memory than what they hold. */
  const single = new Map<string, T>();
  const several = new Map<string, Set<T>>();
  return {
    enter(what, holder) {
      const [those, other] = [several.get(what), single.get(what)];
      if (those) those.add(holder);
      else if (other === undefined || other === holder) single.set(what, holder);
      else {
        single.delete(what);
        several.set(what, new Set([other, holder]));
      }
      return several.has(what);
    },
    leave(what, holder) {
      const those = several.get(what);
      if (!those && single.get(what) === holder) single.delete(what);
      those?.delete(holder);
      const [last, second] = those ?? [];
      if (last !== undefined && second === undefined) {
        several.delete(what);
        single.set(what, last);
      }
      return those !== undefined;
    },
    of(what) {
      const one = single.get(what);
      return one === undefined ? several.get(what) ?? [] : [one];
    },
    shared: () => several.values(),
  };
}
