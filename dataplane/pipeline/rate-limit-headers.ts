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

interface Told {
  readonly dialect: Dialect;
  readonly nowMs: number;
}

export function rateLimitHeaders(states: readonly LimitState[], told: Told): Record<string, string> {
  const own = states.filter(({ limit }) => isOfCaller(limit));
  const tightest = MEASURES.map((measure) => {
    const same = own.filter(({ limit }) => limit.measure === measure);
    return { name: NAMES[measure], state: leastLeft(same) };
  });
  // OpenAI's own headers know one kind of tokens
  const tokens = leastLeft(own.filter(({ limit: { measure } }) => measure !== 'Requests'));
  const all = told.dialect === 'Anthropic' ? tightest : [...tightest, { name: 'tokens', state: tokens }];
  return Object.fromEntries(all.flatMap(({ name, state }) => (state ? headersOf(name, state, told) : [])));
}

function headersOf(name: string, { limit, left, resetMs }: LimitState, { dialect, nowMs }: Told): [string, string][] {
  if (dialect === 'Anthropic')
    return [
      [`anthropic-ratelimit-${name}-limit`, String(limit.amount)],
      [`anthropic-ratelimit-${name}-remaining`, String(left)],
      [`anthropic-ratelimit-${name}-reset`, new Date(nowMs + resetMs).toISOString()],
    ];
  return [
    [`x-ratelimit-limit-${name}`, String(limit.amount)],
    [`x-ratelimit-remaining-${name}`, String(left)],
    [`x-ratelimit-reset-${name}`, `${resetMs / 1000}s`],
  ];
}

function leastLeft(states: readonly LimitState[]): LimitState | undefined {
  return states.reduce<LimitState | undefined>(
    (least, state) => (least === undefined || state.left < least.left ? state : least),
    undefined,
  );
}
