/**
 * [P] Memoizes a result per source object while its other inputs are identical. Objects and lists are never modified,
 * so identity implies equality: an edit of one among ten thousand keys translates only this key and reassembles only
 * its namespace.
 */
import { sameItems } from '../store/same.ts';

/**
 * Returns the result for this object and these inputs; calls `make` unless its last inputs were identical and its last
 * result still `holds`.
 */
type Memoized<Source extends object, Result> = (
  source: Source,
  inputs: readonly unknown[],
  make: () => Result,
  holds?: (last: Result) => boolean,
) => Result;

export function memoize<Source extends object, Result>(): Memoized<Source, Result> {
  const known = new WeakMap<Source, { readonly inputs: readonly unknown[]; readonly result: Result }>();
  return (source, inputs, make, holds = () => true) => {
    const last = known.get(source);
    if (last && sameItems(last.inputs, inputs) && holds(last.result)) return last.result;
    const result = make();
    known.set(source, { inputs, result });
    return result;
  };
}
