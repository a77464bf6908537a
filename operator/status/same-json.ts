/**
 * [P] Deep equality of two JSON values; the order of fields is ignored, and an undefined field counts as absent.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && sameLists(a, b);
  return sameFields(a, b);
}

function sameLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
}

function sameFields(a: object, b: object): boolean {
  for (const name of Object.keys(a)) if (!sameJson(Reflect.get(a, name), Reflect.get(b, name))) return false;
  return Object.keys(b).every((name) => Reflect.get(b, name) === undefined || Reflect.get(a, name) !== undefined);
}
