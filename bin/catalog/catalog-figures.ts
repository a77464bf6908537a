/** A PriceCatalog as the second list of an import: its entries in dollars, also those in ratios. */
import type { PriceCatalog, PriceCatalogModel } from '#crds/types.gen.ts';
import type { SecondList } from './import.ts';
import { formatDecimalText, parseDecimalText, times } from './lists/decimal-text.ts';
import type { Decimal } from './lists/decimal-text.ts';
import type { CatalogEntry } from './lists/listed-price.ts';

/** Ratios that multiply the price of an input token, and the classes that they price. */
const RATIOS = [
  ['completionRatio', 'output'],
  ['cacheRatio', 'cacheRead'],
  ['cacheWriteRatio', 'cacheWrite5m'],
  ['cacheWrite1hRatio', 'cacheWrite1h'],
] as const;

/** Shown in dollars instead, or nothing that a public list knows. */
const REPLACED: ReadonlySet<string> = new Set([
  'modelRatio',
  ...RATIOS.map(([field]) => field),
  'channels',
  'validFrom',
  'validUntil',
]);

export function figuresOfCatalog({ metadata, spec }: PriceCatalog): SecondList {
  const models = new Map(spec.models.map((model) => [model.name, model]));
  return {
    kind: `the catalog ${metadata.name}`,
    entryOf(name) {
      const model = models.get(name);
      return model && entryInDollars(model, spec.ratioBaseUsd);
    },
  };
}

/** Classes that the catalog leaves to their defaults stay absent. */
function entryInDollars(model: PriceCatalogModel, ratioBaseUsd: string): CatalogEntry {
  const { modelRatio } = model;
  const others = Object.fromEntries(Object.entries(model).filter(([field]) => !REPLACED.has(field)));
  if (modelRatio === undefined) return others;
  const input = times(decimal(modelRatio), decimal(ratioBaseUsd));
  const rates = RATIOS.flatMap(([field, name]) => {
    const ratio = model[field];
    return ratio === undefined ? [] : [[name, textOf(times(input, decimal(ratio)))] as const];
  });
  return { ...others, usdPerMillion: { input: textOf(input), ...Object.fromEntries(rates) } };
}

/** The schema admits nothing else. */
function decimal(text: string): Decimal {
  const value = parseDecimalText(text);
  if (!value) throw new Error(`${text} is not a decimal`);
  return value;
}

function textOf(value: Decimal): string {
  return formatDecimalText(value) ?? 'more than nine places';
}
