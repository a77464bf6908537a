/**
 * [P] A key's status, as lists, filters, pages and exports show it. It is computed from the key's current spec and
 * amounts, because conditions follow them a moment later.
 */
import { conditionOf, currentReady, isUnderWay, wordsOf } from './conditions.ts';
import { isLow } from './low.ts';
import type { ApiKey, Condition } from '#crds/types.gen.ts';
import { spanAt, windowKindOf } from '#ledger/periods.ts';
import { isTimeZone } from '#snapshot/time-zone.ts';
import { formatShortUsd, formatUsdDown } from '#web/format.ts';
import { accountStatusOf } from './account-status.ts';
import type { AccountFacts } from './account-facts.ts';
import type { Shortage } from './shortages.ts';
import { factsOf, zoneOf } from './key-facts.ts';
import type { StatusMark, StatusTone } from './status.ts';

/** Worst first: lists sort in this order. */
export const KEY_STATUSES = [
  'NotAccepted',
  'AccountOutOfCredit',
  'AccountLimitReached',
  'LimitReached',
  'Expired',
  'Low',
  'Pending',
  'Disabled',
  'Active',
] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

export const KEY_STATUS_LABELS: Readonly<Record<KeyStatus, string>> = {
  NotAccepted: 'Not accepted',
  AccountOutOfCredit: 'Account out of credit',
  AccountLimitReached: 'Account limit reached',
  LimitReached: 'Limit reached',
  Expired: 'Expired',
  Low: 'Low',
  Pending: 'Pending',
  Disabled: 'Disabled',
  Active: 'Active',
};

const TONES: Readonly<Record<KeyStatus, StatusTone>> = {
  NotAccepted: 'bad',
  AccountOutOfCredit: 'bad',
  AccountLimitReached: 'bad',
  LimitReached: 'bad',
  Expired: 'bad',
  Low: 'warn',
  Pending: 'info',
  Disabled: 'quiet',
  Active: 'good',
};

export interface KeyStatusFinding extends StatusMark {
  readonly status: KeyStatus;
}

/** The inputs of a key's status besides the key itself. */
export interface KeyStatusContext {
  readonly nowMs: number;
  /** undefined: the person may not see the account. */
  readonly account: AccountFacts | undefined;
  /** Less than this pays for no call of the key; undefined: not known. */
  readonly cheapestCallNanoUsd: (apiKey: ApiKey) => bigint | undefined;
  /** undefined: its last call was not refused for lack of money, or that is unknown. */
  readonly shortage: Shortage | undefined;
}

/** The first status that applies, in the order in which a person would fix them. */
export function keyStatusOf(apiKey: ApiKey, context: KeyStatusContext): KeyStatusFinding {
  const [status, message] = firstReason(apiKey, context);
  return { status, label: KEY_STATUS_LABELS[status], tone: TONES[status], message };
}

type Reason = readonly [status: KeyStatus, message: string];

function firstReason(apiKey: ApiKey, context: KeyStatusContext): Reason {
  return (
    switchedOff(apiKey) ??
    expired(apiKey, context) ??
    notAccepted(apiKey) ??
    refusedByAccount(apiKey, context) ??
    limitReached(apiKey, context) ??
    pending(apiKey) ??
    low(apiKey) ?? ['Active', '']
  );
}

function switchedOff({ spec }: ApiKey): Reason | undefined {
  return spec.enabled ? undefined : ['Disabled', 'Every call is refused until it is enabled.'];
}

function expired(apiKey: ApiKey, { nowMs }: KeyStatusContext): Reason | undefined {
  const { expiresMs } = factsOf(apiKey);
  if (expiresMs === undefined || expiresMs > nowMs) return undefined;
  return ['Expired', `It expired on ${utc(expiresMs)}. A later date, or none, under Settings makes it work again.`];
}

/** Why the key is not accepted: because of the proxies, the group, the account or the Secret. */
function notAccepted(apiKey: ApiKey): Reason | undefined {
  const ready = currentReady(apiKey);
  if (ready?.status !== 'False' || isMoney(ready) || isUnderWay(apiKey)) return undefined;
  // the condition may still refer to an earlier spec
  if (ready.reason === 'Disabled' || ready.reason === 'Expired') return undefined;
  return ['NotAccepted', wordsOf(ready)];
}

function refusedByAccount(
  apiKey: ApiKey,
  { account, cheapestCallNanoUsd, shortage }: KeyStatusContext,
): Reason | undefined {
  const name = apiKey.spec.accountRef.name;
  const wasRefused = isLatest(apiKey, shortage, { of: 'Account', limitNanoUsd: account?.creditNanoUsd ?? 0n });
  if (!account) return wasRefused ? outOfCredit(name) : ofAccount(currentReady(apiKey));
  const { status, message } = accountStatusOf(account, {
    cheapestCallNanoUsd: () => cheapestCallNanoUsd(apiKey),
    wasRefused,
  });
  if (status === 'LimitReached') return ['AccountLimitReached', `Account ${name}: ${message}`];
  return status === 'Overdrawn' || status === 'OutOfCredit'
    ? ['AccountOutOfCredit', `Account ${name}: ${message}`]
    : undefined;
}

function outOfCredit(account: string): Reason {
  return ['AccountOutOfCredit', `Its last call was refused: the account ${account} is out of credit.`];
}

/** What the key's own condition says of an account that the person may not see. */
function ofAccount(ready: Condition | undefined): Reason | undefined {
  return ready?.reason === 'AccountLimitReached' ? ['AccountLimitReached', ready.message] : undefined;
}

/**
 * Nothing remains, less than any call costs, or, once the key is low, not enough for its last call. A refusal of a key
 * with much left says that the call was large; one before a raise of the limit does not count any more.
 */
function limitReached(apiKey: ApiKey, context: KeyStatusContext): Reason | undefined {
  const { spentNanoUsd, limitNanoUsd, remainingNanoUsd } = factsOf(apiKey);
  if (limitNanoUsd === undefined || remainingNanoUsd === undefined) return undefined;
  const why = shortOf(apiKey, context, { spentNanoUsd, limitNanoUsd, remainingNanoUsd });
  return why === undefined
    ? undefined
    : ['LimitReached', `${why} Raise the limit or set it to Unlimited under Settings${anew(apiKey)}.`];
}

type LimitFigures = Readonly<Record<'spentNanoUsd' | 'limitNanoUsd' | 'remainingNanoUsd', bigint>>;

/** Why the limit allows no call. Most keys are far from it, so their figures are not formatted. */
function shortOf(
  apiKey: ApiKey,
  { nowMs, cheapestCallNanoUsd, shortage }: KeyStatusContext,
  { spentNanoUsd, limitNanoUsd, remainingNanoUsd }: LimitFigures,
): string | undefined {
  if (remainingNanoUsd <= 0n || isExhausted(apiKey))
    return `${formatShortUsd(spentNanoUsd)} of ${formatShortUsd(limitNanoUsd)} is spent.`;
  if (!isLow(spentNanoUsd, limitNanoUsd)) return undefined;
  if (remainingNanoUsd < (cheapestCallNanoUsd(apiKey) ?? 0n))
    return `${formatUsdDown(remainingNanoUsd, 4)} remains, less than any call costs.`;
  return isLatest(apiKey, shortage, { of: 'Key', limitNanoUsd, sinceMs: periodStartOf(apiKey, nowMs) })
    ? `${formatUsdDown(remainingNanoUsd, 4)} remains, too little for its last call.`
    : undefined;
}

function pending(apiKey: ApiKey): Reason | undefined {
  const ready = currentReady(apiKey);
  if (!conditionOf(apiKey, 'Ready')) return ['Pending', 'The gateway has not looked at it yet.'];
  if (!ready || ready.reason === 'Disabled' || ready.reason === 'Expired' || isMoney(ready))
    return ['Pending', 'The latest change is on its way to the proxies.'];
  return ready.status === 'True' ? undefined : ['Pending', wordsOf(ready)];
}

function low(apiKey: ApiKey): Reason | undefined {
  const { spentNanoUsd, limitNanoUsd } = factsOf(apiKey);
  if (limitNanoUsd === undefined || !isLow(spentNanoUsd, limitNanoUsd)) return undefined;
  return ['Low', `${formatShortUsd(spentNanoUsd)} of ${formatShortUsd(limitNanoUsd)} is spent${anew(apiKey, '; ')}.`];
}

interface Limit {
  readonly of: Shortage['of'];
  readonly limitNanoUsd: bigint;
  /** When what was spent began to count; default: ever since. */
  readonly sinceMs?: number;
}

/** Nothing was admitted after it, in the same period, and the limit has not been raised since. */
function isLatest(apiKey: ApiKey, shortage: Shortage | undefined, { of, limitNanoUsd, sinceMs = 0 }: Limit): boolean {
  return (
    shortage?.of === of &&
    limitNanoUsd <= shortage.limitNanoUsd &&
    shortage.atMs >= Math.max(sinceMs, factsOf(apiKey).lastUsedMs ?? 0)
  );
}

/** When the quota's period began, in milliseconds since the epoch; 0 without a period. */
function periodStartOf({ spec: { quota } }: ApiKey, nowMs: number): number {
  const [kind, timeZone] = [windowKindOf(quota.period), zoneOf(quota)];
  return kind === undefined || !isTimeZone(timeZone) ? 0 : spanAt(kind, nowMs, timeZone).startMs;
}

/** Before the ledger has been read, the condition knows more than the amounts. */
function isExhausted(apiKey: ApiKey): boolean {
  const ready = currentReady(apiKey);
  return apiKey.status?.spentUsd === undefined && ready?.status === 'False' && ready.reason === 'LimitReached';
}

function isMoney({ reason }: Condition): boolean {
  return reason === 'LimitReached' || reason === 'AccountLimitReached';
}

/** When the quota resets, as the end of a sentence. */
function anew({ spec: { quota } }: ApiKey, before = ', or wait: '): string {
  const again = resetWords(quota);
  return again === '' ? '' : `${before}it ${again}`;
}

const AGAIN = { Never: '', Daily: 'at midnight', Weekly: 'on Monday', Monthly: 'on the 1st' } as const;

/** "resets at midnight (UTC)"; empty: never. */
export function resetWords(quota: ApiKey['spec']['quota']): string {
  return quota.period === 'Never' ? '' : `resets ${AGAIN[quota.period]} (${zoneOf(quota)})`;
}

function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
