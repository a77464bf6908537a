/**
 * [P] What is left of limits by the minute, in the headers that SDKs read: `x-ratelimit-*` as OpenAI sends them, and
 * `anthropic-ratelimit-*`. If key and account have the same limit, the one with less left is told. Limits of channels
 * are the platform's own and are not told.
 */
import type { LimitState, MinuteMeasure } from '../ledger/ledger.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isOfCaller } from '../state/limits.ts';

const NAMES: Readonly<Record<MinuteMeasure, string>> = {
  Requests: 'requests',
  InputTokens: 'input-tokens',
  OutputTokens: 'output-tokens',
};
const MEASURES = ['Requests', 'InputTokens', 'OutputTokens'] as const;
/** OpenAI's own headers know one kind of tokens. */
const ALL_TOKENS = 'tokens';

type Figure = 'limit' | 'remaining' | 'reset';
const FIGURES = ['limit', 'remaining', 'reset'] as const;

interface Told {
  readonly dialect: Dialect;
  readonly nowMs: number;
}

/** The names of all headers that calls may get, in every dialect. */
export const RATE_LIMIT_HEADERS: readonly string[] = [
  ...[...Object.values(NAMES), ALL_TOKENS].flatMap((of) => FIGURES.map((figure) => headerName('OpenAI', of, figure))),
  ...Object.values(NAMES).flatMap((of) => FIGURES.map((figure) => headerName('Anthropic', of, figure))),
];

/** The headers that tell what is left of the caller's own limits. */
export function rateLimitHeaders(states: readonly LimitState[], told: Told): Record<string, string> {
  const own = states.filter(({ limit }) => isOfCaller(limit));
  const tightest = MEASURES.map((measure) => {
    const same = own.filter(({ limit }) => limit.measure === measure);
    return { name: NAMES[measure], state: leastLeft(same) };
  });
  const tokens = leastLeft(own.filter(({ limit: { measure } }) => measure !== 'Requests'));
  const all = told.dialect === 'Anthropic' ? tightest : [...tightest, { name: ALL_TOKENS, state: tokens }];
  return Object.fromEntries(all.flatMap(({ name, state }) => (state ? headersOf(name, state, told) : [])));
}

function headersOf(name: string, { limit, left, resetMs }: LimitState, { dialect, nowMs }: Told): [string, string][] {
  const reset = dialect === 'Anthropic' ? new Date(nowMs + resetMs).toISOString() : `${resetMs / 1000}s`;
  return [
    [headerName(dialect, name, 'limit'), String(limit.amount)],
    [headerName(dialect, name, 'remaining'), String(left)],
    [headerName(dialect, name, 'reset'), reset],
  ];
}

function headerName(dialect: Dialect, of: string, figure: Figure): string {
  return dialect === 'Anthropic' ? `anthropic-ratelimit-${of}-${figure}` : `x-ratelimit-${figure}-${of}`;
}

function leastLeft(states: readonly LimitState[]): LimitState | undefined {
  return states.reduce<LimitState | undefined>(
    (least, state) => (least === undefined || state.left < least.left ? state : least),
    undefined,
  );
}
