/** [P] Compares texts by code units: the same order on every machine, whatever its locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Created when first needed, because that takes milliseconds of a start. */
let collator: Intl.Collator | undefined;

/** Compares names as people order them (gpt-4 before gpt-10); different names are never equal. */
export function compareNames(a: string, b: string): number {
  collator ??= new Intl.Collator('en', { numeric: true });
  return collator.compare(a, b) || compareText(a, b);
}
