/** Maximum matching of two sets (Kuhn's algorithm). Earlier elements are matched first. */

export function matchAll<A, B>(left: readonly A[], right: readonly B[], fits: (a: A, b: B) => boolean): Map<A, B> {
  const options = new Map(left.map((a) => [a, right.filter((b) => fits(a, b))]));
  const owner = new Map<B, A>();
  const claim = (a: A, seen: Set<B>): boolean => {
    for (const b of options.get(a) ?? []) {
      if (seen.has(b)) continue;
      seen.add(b);
      const other = owner.get(b);
      if (other !== undefined && !claim(other, seen)) continue;
      owner.set(b, a);
      return true;
    }
    return false;
  };
  for (const a of left) claim(a, new Set());
  return new Map([...owner].map(([b, a]) => [a, b]));
}
