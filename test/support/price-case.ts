/** The form of the matrix of prices: answers of providers, and what each costs. */
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
