/** The matrix of prices: recorded answers, and what each costs as computed by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readPriceCross } from './price-cross.ts';

export interface PriceCase {
  readonly name: string;
  readonly model: string;
  /** Absent: OpenAI. */
  readonly protocol?: 'Anthropic' | 'Gemini';
  readonly groupRatio?: string;
  readonly asked?: string;
  readonly answer: { readonly service_tier?: string; readonly usage: Readonly<Record<string, unknown>> };
  /** Of all requests of the call. */
  readonly inputTokens: number;
  /** Absent: only the cost is compared. */
  readonly lines?: readonly (readonly [dimension: string, quantity: number, rateUsd: string])[];
  readonly channel?: string;
  readonly tier?: string;
  readonly region?: string;
  /** Of each line, where the requests of a call are in different context tiers, or of different models. */
  readonly steps?: readonly (number | null)[];
  readonly models?: readonly (string | null)[];
  readonly above?: number;
  /** Nano-dollars. */
  readonly cost: number;
}

export interface PriceMatrix {
  /** A PriceCatalog. */
  readonly catalog: {
    readonly spec: { readonly models: readonly { readonly name: string; readonly vendor: string }[] };
  };
  readonly cases: readonly PriceCase[];
}

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

const OF_INPUT: ReadonlySet<string> =
  new Set(['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'audioInput', 'imageInput']);

function inputOf({ lines }: ListedCase): number {
  return lines.filter(([dimension]) => OF_INPUT.has(dimension)).reduce((sum, [, quantity]) => sum + quantity, 0);
}
