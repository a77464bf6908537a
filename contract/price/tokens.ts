/** [P] Tokens by the classes that have prices. */

/** Tokens by price class. `input` excludes cached and written tokens, as in Anthropic's API. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite5m: number;
  readonly cacheWrite1h: number;
  readonly output: number;
}

export const NO_TOKENS: TokenCounts = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

export function areSameTokens(a: TokenCounts, b: TokenCounts): boolean {
  return (
    a.input === b.input &&
    a.cached === b.cached &&
    a.cacheWrite5m === b.cacheWrite5m &&
    a.cacheWrite1h === b.cacheWrite1h &&
    a.output === b.output
  );
}

/** The sum of both, class by class. */
export function addTokens(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    cacheWrite5m: a.cacheWrite5m + b.cacheWrite5m,
    cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
    output: a.output + b.output,
  };
}
