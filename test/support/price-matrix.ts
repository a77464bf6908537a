/** The matrix of prices: recorded answers, and what each costs as computed by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { PriceCase, PriceMatrix } from './price-case.ts';
import { readPriceCross } from './price-cross.ts';

/** The cases of price-matrix.yaml and those of price-cross.yaml, with a catalog of both. */
export function readPriceMatrix(): PriceMatrix {
  const text = readFileSync(join(import.meta.dirname, 'price-matrix.yaml'), 'utf8');
  const { catalog, cases } = parse(text) as Pick<PriceMatrix, 'catalog'> & { readonly cases: readonly ListedCase[] };
  const crossed = readPriceCross();
  return {
    catalog: { ...catalog, spec: { models: [...catalog.spec.models, ...crossed.catalog.spec.models] } },
    cases: [...cases.map((each) => ({ ...each, inputTokens: inputOf(each) })), ...crossed.cases],
  };
}

type ListedCase = Omit<PriceCase, 'inputTokens'> & Required<Pick<PriceCase, 'lines'>>;

const OF_INPUT: ReadonlySet<string> = new Set([
  'input',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'audioInput',
  'imageInput',
]);

function inputOf({ lines }: ListedCase): number {
  return lines.filter(([dimension]) => OF_INPUT.has(dimension)).reduce((sum, [, quantity]) => sum + quantity, 0);
}
