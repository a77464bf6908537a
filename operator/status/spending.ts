/**
 * [P] Formats spending for statuses: the fields of ApiKey and Account, and the conditions that warn at 80 % and at 100
 * % of a limit. Everything is exact: shares are compared as integers, never divided.
 */
import type { Account, ApiKey, Resource } from '#crds/types.gen.ts';
import type { AccountSpending, CalendarWindow, KeySpending } from '#ledger/spending.ts';
import { spanAt, windowKindOf } from '#ledger/periods.ts';
import { isTimeZone, timeZoneOf } from '#snapshot/time-zone.ts';
import { formatDecimal, parseDecimal } from '#snapshot/decimal.ts';
import { formatTime } from './conditions.ts';
import type { DesiredCondition } from './conditions.ts';
import type { Finding, StatusFields } from './findings.ts';

/** The percentage of a limit from which a status warns. */
const LOW_PERCENT = 80n;
const CENTS = 2;

/** What spending adds to an object's status. */
export interface SpendingStatus {
  readonly fields: StatusFields;
  readonly conditions: readonly DesiredCondition[];
  /** Set if everything is spent, so that the object is not Ready. */
  readonly spent?: Finding<'LimitReached'>;
}

/** An ApiKey's spending, measured against its quota. */
export function keySpendingStatus({ spec }: ApiKey, spending: KeySpending): SpendingStatus {
  const { spentNanoUsd, totalSpentNanoUsd, periodStartMs, lastUsedMs } = spending;
  const limit = spec.quota.limitUsd === 'Unlimited' ? undefined : parseDecimal(spec.quota.limitUsd);
  const fields = {
    ...(periodStartMs === null ? {} : { periodStartTime: formatTime(periodStartMs) }),
    spentUsd: formatUsd(spentNanoUsd),
    totalSpentUsd: formatUsd(totalSpentNanoUsd),
    remainingUsd: limit === undefined ? 'Unlimited' : formatUsd(limit > spentNanoUsd ? limit - spentNanoUsd : 0n),
    ...(lastUsedMs === null ? {} : { lastUsedTime: formatTime(lastUsedMs) }),
  };
  if (limit === undefined) return { fields, conditions: [] };
  const words = `${formatUsd(spentNanoUsd)} of the quota of ${formatUsd(limit)} USD is spent.`;
  return { fields, ...thresholds('Quota', { spent: spentNanoUsd, limit, words }) };
}

/** The windows of an Account's limits, in their order, without those in total. */
export function windowsOf({ spec }: Account): CalendarWindow[] {
  return (spec.limits ?? []).flatMap((limit) =>
    limit.period === 'Total' ? [] : [{ kind: limit.period, timeZone: timeZoneOf(limit) }],
  );
}

/** An Account's spending, measured against the sum of its grants. */
export function accountSpendingStatus(
  creditNanoUsd: bigint,
  { spentNanoUsd, heldNanoUsd }: AccountSpending,
  limits?: StatusFields['limits'],
): SpendingStatus {
  const fields = {
    spentUsd: formatUsd(spentNanoUsd),
    heldUsd: formatUsd(heldNanoUsd),
    balanceUsd: formatUsd(creditNanoUsd - spentNanoUsd),
    ...(limits && limits.length > 0 && { limits }),
  };
  const words = `${formatUsd(spentNanoUsd)} of the credit of ${formatUsd(creditNanoUsd)} USD is spent.`;
  return { fields, ...thresholds('Balance', { spent: spentNanoUsd, limit: creditNanoUsd, words }) };
}

/** What was spent under each of an Account's limits. */
export function limitsStatus(
  { spec }: Account,
  { spentNanoUsd: totalNanoUsd, windows = [] }: AccountSpending,
): StatusFields['limits'] {
  const inWindows = windows.values();
  return spec.limits?.map((limit) => {
    const { usd, period } = limit;
    const current = period === 'Total' ? undefined : inWindows.next().value;
    const spentNanoUsd = current?.spentNanoUsd ?? totalNanoUsd;
    const limitNanoUsd = parseDecimal(usd) ?? 0n;
    return {
      period,
      timeZone: timeZoneOf(limit),
      usd: formatUsd(limitNanoUsd),
      spentUsd: formatUsd(spentNanoUsd),
      remainingUsd: formatUsd(limitNanoUsd > spentNanoUsd ? limitNanoUsd - spentNanoUsd : 0n),
      ...(current && { periodStartTime: formatTime(current.startMs), resetTime: formatTime(current.endMs) }),
    };
  });
}

/**
 * An edited object's spending by the amounts that its status records, for as long as the ledger has not been read since
 * the edit; undefined if it records none, or those of another period than the key's quota counts in now.
 */
export function recordedSpendingStatus(
  object: Resource,
  recorded: StatusFields,
  nowMs: number,
): SpendingStatus | undefined {
  if (object.kind === 'Account') return recordedOfAccount(object, recorded);
  return object.kind === 'ApiKey' ? recordedOfKey(object, recorded, nowMs) : undefined;
}

function recordedOfAccount(account: Account, { spentUsd, heldUsd, limits }: StatusFields): SpendingStatus | undefined {
  const [credit, spentNanoUsd] = [creditOf(account), amountOf(spentUsd)];
  if (credit === undefined || spentNanoUsd === undefined) return undefined;
  return accountSpendingStatus(credit, { spentNanoUsd, heldNanoUsd: amountOf(heldUsd) ?? 0n }, limits);
}

function recordedOfKey(apiKey: ApiKey, recorded: StatusFields, nowMs: number): SpendingStatus | undefined {
  const { quota } = apiKey.spec;
  const timeZone = timeZoneOf(quota);
  const kind = windowKindOf(quota.period);
  const periodStartMs = kind && isTimeZone(timeZone) ? spanAt(kind, nowMs, timeZone).startMs : null;
  const totalSpentNanoUsd = amountOf(recorded.totalSpentUsd);
  const isOfPeriod = momentOf(recorded.periodStartTime) === periodStartMs;
  const spentNanoUsd = kind ? (isOfPeriod ? amountOf(recorded.spentUsd) : undefined) : totalSpentNanoUsd;
  if (spentNanoUsd === undefined || totalSpentNanoUsd === undefined) return undefined;
  return keySpendingStatus(apiKey, {
    periodStartMs,
    resetsMs: null,
    spentNanoUsd,
    heldNanoUsd: 0n,
    totalSpentNanoUsd,
    lastUsedMs: momentOf(recorded.lastUsedTime),
  });
}

function amountOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : parseDecimal(text);
}

function momentOf(time: string | undefined): number | null {
  return time === undefined ? null : Date.parse(time);
}

/** The sum of an Account's grants in nano-USD; undefined if one of them is not a decimal. */
export function creditOf({ spec }: Account): bigint | undefined {
  let sum = 0n;
  for (const { usd } of spec.grants ?? []) {
    const amount = parseDecimal(usd);
    if (amount === undefined) return undefined;
    sum += amount;
  }
  return sum;
}

/** Formats USD exactly, with at least two digits after the point. */
export function formatUsd(nanoUsd: bigint): string {
  return formatDecimal(nanoUsd, CENTS);
}

interface Measure {
  readonly spent: bigint;
  readonly limit: bigint;
  readonly words: string;
}

function thresholds(
  subject: 'Quota' | 'Balance',
  { spent, limit, words: message }: Measure,
): Pick<SpendingStatus, 'conditions' | 'spent'> {
  const conditions: DesiredCondition[] = [];
  if (spent * 100n >= limit * LOW_PERCENT)
    conditions.push({ type: `${subject}Low`, status: 'True', reason: 'AboveThreshold', message });
  if (spent < limit) return { conditions };
  conditions.push({ type: `${subject}Exhausted`, status: 'True', reason: 'LimitReached', message });
  return { conditions, spent: { reason: 'LimitReached', message } };
}
