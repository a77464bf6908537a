/**
 * Checks limits by the minute. When a call is admitted is not known, but it is after it was sent and before it reached
 * the provider: only calls that surely lie in the same 60 seconds are counted together, with no more than they surely
 * took.
 */
import { ACCOUNT_NAMES, CHANNELS, CHEAP_GROUP_RATES, KEY_NAMES, KEYS, MEASURES } from './config.ts';
import type { AccountName, ChannelName, Config, KeyName, Measure, RateLimits } from './config.ts';
import type { CallLog } from './client.ts';
import { isDisturbed } from './happened.ts';
import type { LedgerRecord } from './ledger-file.ts';
import { estimatedInput } from './oracle.ts';
import type { Attempt } from './provider-process.ts';
import type { Evidence } from './reconcile.ts';

/** A call that counts under a limit. */
export interface Counted {
  /** It was admitted between these, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  /** What it took when it was admitted, and what it counts with at least since then. */
  readonly took: number;
  readonly least: number;
}

const MINUTE_MS = 60_000;

/**
 * Whether the calls have had more than the limit in any 60 seconds: whichever of them was the last, it did not fit beside
 * the others. `beganAnewMs`: when the counters were forgotten.
 */
export function isExceeded(calls: readonly Counted[], limit: number, beganAnewMs: readonly number[]): boolean {
  const capped = calls.map(({ took, least, ...times }) => {
    const most = Math.min(took, limit);
    return { ...times, took: most, least: Math.min(least, most) };
  });
  return capped.some((first) => {
    const endMs = Math.min(first.fromMs + MINUTE_MS, ...beganAnewMs.filter((ms) => ms >= first.fromMs));
    const together = capped.filter(({ fromMs, toMs }) => fromMs >= first.fromMs && toMs <= endMs);
    const sum = together.reduce((total, { least }) => total + least, 0);
    return together.length > 1 && sum + Math.min(...together.map(({ took, least }) => took - least)) > limit;
  });
}

/** The limits that were exceeded. */
export function crowdedMinutes(evidence: Evidence): string[] {
  const { beganAnewMs, happened, calls, attempts } = evidence;
  const [version] = happened.versions;
  if (!beganAnewMs || !version) return [];
  const keyOf = new Map(calls.map(({ plan }) => [plan.n, plan.key]));
  const ofKeys = (keys: readonly KeyName[]): readonly Attempt[] =>
    attempts.filter(({ asked: { n } }) => keys.includes(keyOf.get(n) ?? 'free'));
  return limitsOf(version.config).flatMap(({ name, rates, keys, channel }) =>
    MEASURES.flatMap((measure) => {
      const limit = rates[measure];
      if (limit === undefined) return [];
      const mine = ofKeys(keys).filter(({ asked }) => channel === undefined || asked.channel === channel);
      const counted = countedCalls(evidence, mine, { measure, channel });
      return isExceeded(counted, limit, beganAnewMs)
        ? [`${name} has had more than its ${measure} of ${limit}: ${JSON.stringify(counted)}`]
        : [];
    }),
  );
}

interface Limited {
  readonly name: string;
  readonly rates: RateLimits;
  /** Whose calls count. */
  readonly keys: readonly KeyName[];
  /** Undefined: on whichever channel. */
  readonly channel?: ChannelName;
}

function limitsOf({ keys, accountRates }: Config): readonly Limited[] {
  const channels = Object.keys(CHANNELS) as ChannelName[];
  const cheap = KEY_NAMES.filter((key) => KEYS[key].group === 'cheap');
  return [
    ...KEY_NAMES.map((key) => ({ name: `key ${key}`, rates: keys[key].rates, keys: [key] })),
    ...ACCOUNT_NAMES.map((account) => ({
      name: `account ${account}`,
      rates: accountRates[account],
      keys: keysOf(account),
    })),
    ...channels.flatMap((channel) => [
      { name: `channel ${channel}`, rates: CHANNELS[channel].rates, keys: KEY_NAMES, channel },
      { name: `group cheap on ${channel}`, rates: CHEAP_GROUP_RATES, keys: cheap, channel },
    ]),
  ];
}

function keysOf(account: AccountName): readonly KeyName[] {
  return KEY_NAMES.filter((key) => KEYS[key].account === account);
}

interface Counting {
  readonly measure: Measure;
  readonly channel: ChannelName | undefined;
}

/** Each call once, by its first attempt. One without a record has used what nobody knows, which may be nothing. */
function countedCalls(
  { calls, records }: Evidence,
  attempts: readonly Attempt[],
  { measure, channel }: Counting,
): readonly Counted[] {
  const callOf = new Map(calls.map((call) => [call.plan.n, call]));
  const recordOf = new Map(records.map((record) => [record.id, record]));
  return [...Map.groupBy(attempts, ({ asked: { n } }) => n)].flatMap(([n, mine]) => {
    const call = callOf.get(n);
    const first = mine.reduce((a, b) => (b.arrivedMs < a.arrivedMs ? b : a));
    if (!call) return [];
    const record = recordOf.get(call.id);
    const isServed = channel === undefined || record?.channel === channel;
    return [
      {
        fromMs: call.sentMs,
        toMs: first.arrivedMs,
        took: tookOf(measure, call, first),
        least: usedOf(measure, isServed ? record : undefined),
      },
    ];
  });
}

function tookOf(measure: Measure, { plan }: CallLog, { asked: { limit = 0, answers } }: Attempt): number {
  switch (measure) {
    case 'requestsPerMinute':
      return 1;
    case 'inputTokensPerMinute':
      return estimatedInput(plan);
    case 'outputTokensPerMinute':
      return limit * answers;
  }
}

function usedOf(measure: Measure, record: LedgerRecord | undefined): number {
  if (measure === 'requestsPerMinute') return 1;
  if (!record) return 0;
  const { input, cacheWrite5m, cacheWrite1h, output } = record.tokens;
  return measure === 'outputTokensPerMinute' ? output : input + cacheWrite5m + cacheWrite1h;
}

/** Without an attempt at a provider, such a call has taken nothing. */
const REFUSED: ReadonlySet<number> = new Set([400, 401, 402, 429]);
/** Beyond a minute: a place is free again up to a second late. */
const LATEST_MS = MINUTE_MS + 1_500;
const SHORT = /API key('s account)? may use (\d+) requests per minute, of which (\d+) are left/;

/**
 * A key or account is short of requests only while enough calls may have taken one: those that were refused have taken
 * none. Faults leave what was taken without an answer, so that only rounds without any are checked.
 */
export function refusedAsShort({ calls, attempts, earlier, happened }: Evidence): string[] {
  if (isDisturbed(happened)) return [];
  const sent = new Set(attempts.map(({ asked: { n } }) => n));
  const mayCount = new Set([
    ...earlier,
    ...calls.filter(({ plan, status }) => !REFUSED.has(status) || sent.has(plan.n)),
  ]);
  return calls.flatMap((call) => {
    const [, ofAccount, limit, left] = SHORT.exec(call.said) ?? [];
    if (call.status !== 429 || limit === undefined) return [];
    const { key } = call.plan;
    const keys = ofAccount === undefined ? [key] : keysOf(KEYS[key].account);
    // one that is being refused may have a place for a moment, where limits are in several buckets of a Cluster
    const others = [...earlier, ...calls].filter(
      (other) =>
        other !== call &&
        keys.includes(other.plan.key) &&
        other.sentMs <= call.overMs &&
        other.overMs >= call.sentMs - (mayCount.has(other) ? LATEST_MS : 0),
    );
    return others.length >= Number(limit) - Number(left)
      ? []
      : [
          `call ${call.plan.n} was refused, with ${left} of ${limit} requests left, and ${others.length} others may have had one`,
        ];
  });
}
