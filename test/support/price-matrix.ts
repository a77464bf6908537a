/** The matrix of prices: recorded answers, and what each costs as computed by hand. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface PriceCase {
  readonly name: string;
  readonly model: string;
  readonly protocol?: 'Anthropic';
  readonly groupRatio?: string;
  readonly asked?: string;
  readonly answer: { readonly service_tier?: string; readonly usage: Readonly<Record<string, unknown>> };
  readonly lines: readonly (readonly [dimension: string, quantity: number, rateUsd: string])[];
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

export function readPriceMatrix(): PriceMatrix {
  return parse(readFileSync(join(import.meta.dirname, 'price-matrix.yaml'), 'utf8')) as PriceMatrix;
}
