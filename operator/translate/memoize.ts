/**
 * [P] Results kept beside the object that they were made from, for as long as everything else they depend on is the
 * same. Objects are frozen, so an object that is the same says the same: an edit of one among ten thousand keys
 * translates one of them again, and a translation never depends on those before it.
 */
import { sameItems } from '../store/same.ts';

/**
 * The result for this object and these inputs; `make` is called unless the last inputs of this object were the same.
 */
type Memoized<Source extends object, Result> =
  (source: Source, inputs: readonly unknown[], make: () => Result) => Result;

export function memoize<Source extends object, Result>(): Memoized<Source, Result> {
  const known = new WeakMap<Source, { readonly inputs: readonly unknown[]; readonly result: Result }>();
  return (source, inputs, make) => {
    const last = known.get(source);
    if (last && sameItems(last.inputs, inputs)) return last.result;
    const result = make();
    known.set(source, { inputs, result });
    return result;
  };
}
