/**
 * [P] Formats spending for statuses: the fields of ApiKey and Account, and the conditions that warn at 80 % and at 100
 * % of a limit. Everything is exact: shares are compared as integers, never divided.
 */
import type { ConditionType, Reason } from '#crds/conditions.ts';
import type { Account, ApiKey, Condition, Resource } from '#crds/types.gen.ts';
import type { AccountSpending, CalendarWindow, KeySpending, WindowSpending } from '#ledger/spending.ts';
import { spanAt, windowKindOf, windowOf } from '#ledger/periods.ts';
import { isTimeZone, timeZoneOf } from '#snapshot/time-zone.ts';
import { formatDecimal, parseDecimal } from '#snapshot/decimal.ts';
import { formatTime } from './conditions.ts';
import type { DesiredCondition } from './conditions.ts';
import type { Finding, StatusFields } from './findings.ts';

/** The percentage of a limit from which a status warns. */
const LOW_PERCENT = 80n;
const CENTS = 2;

type AccountLimit = NonNullable<Account['spec']['limits']>[number];
type LimitStatus = NonNullable<StatusFields['limits']>[number];

/** The conditions that warn of spending, with their reasons. */
export const SPENDING_WARNINGS = {
  QuotaLow: 'AboveThreshold',
  QuotaExhausted: 'LimitReached',
  BalanceLow: 'AboveThreshold',
  BalanceExhausted: 'LimitReached',
  LimitLow: 'AboveThreshold',
  LimitExhausted: 'LimitReached',
} as const satisfies Partial<Record<ConditionType, Reason>>;

type SpendingWarning = keyof typeof SPENDING_WARNINGS;

export function isSpendingWarning(type: string): type is SpendingWarning {
  return Object.hasOwn(SPENDING_WARNINGS, type);
}

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
  return { fields, ...thresholds('Quota', [{ spent: spentNanoUsd, limit, words }]) };
}

/** Why an Account's keys are not Ready, by its conditions; undefined: neither its credit nor a limit is reached. */
export function accountLimitFinding(
  name: string,
  conditions: readonly Pick<Condition, 'type'>[],
): Finding<'AccountLimitReached'> | undefined {
  const has = (type: SpendingWarning): boolean => conditions.some((condition) => condition.type === type);
  const reached = [
    ...(has('BalanceExhausted') ? [`The credit of the Account "${name}" is spent.`] : []),
    ...(has('LimitExhausted')
      ? [`A limit of the Account "${name}" is reached; see its condition LimitExhausted.`]
      : []),
  ];
  return reached.length === 0 ? undefined : { reason: 'AccountLimitReached', message: reached.join(' ') };
}

/** The windows of an Account's limits, in their order, without those in total. */
export function windowsOf({ spec }: Account): CalendarWindow[] {
  return (spec.limits ?? []).flatMap((limit) => windowOfLimit(limit) ?? []);
}

function windowOfLimit(limit: AccountLimit): CalendarWindow | undefined {
  return windowOf({ window: limit.period, timeZone: timeZoneOf(limit) });
}

/** An Account's spending, measured against the sum of its grants, and against its limits as limitsStatus gives them. */
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
  const ofCredit = thresholds('Balance', [{ spent: spentNanoUsd, limit: creditNanoUsd, words }]);
  const ofLimits = thresholds('Limit', (limits ?? []).map(measureOf));
  return { fields, ...ofLimits, ...ofCredit, conditions: [...ofCredit.conditions, ...ofLimits.conditions] };
}

function measureOf({ usd, spentUsd, period, timeZone, resetTime }: LimitStatus): Measure {
  const window = period === 'Total' ? 'in total' : `for the current ${period} in ${timeZone}`;
  const reset = resetTime === undefined ? '' : `; it resets at ${resetTime}`;
  const words = `${spentUsd} of the limit of ${usd} USD ${window} is spent${reset}.`;
  return { spent: parseDecimal(spentUsd) ?? 0n, limit: parseDecimal(usd) ?? 0n, words };
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
 * the edit; undefined if it records none, or those of another period than the key's quota counts in now. An Account's
 * limits in windows that are not recorded are left out.
 */
export function recordedSpendingStatus(
  object: Resource,
  recorded: StatusFields,
  nowMs: number,
): SpendingStatus | undefined {
  if (object.kind === 'Account') return recordedOfAccount(object, recorded, nowMs);
  return object.kind === 'ApiKey' ? recordedOfKey(object, recorded, nowMs) : undefined;
}

function recordedOfAccount(account: Account, recorded: StatusFields, nowMs: number): SpendingStatus | undefined {
  const [credit, spentNanoUsd] = [creditOf(account), amountOf(recorded.spentUsd)];
  if (credit === undefined || spentNanoUsd === undefined) return undefined;
  const spending = { spentNanoUsd, heldNanoUsd: amountOf(recorded.heldUsd) ?? 0n };
  const known = (account.spec.limits ?? []).flatMap((limit) => {
    const window = windowOfLimit(limit);
    const spent = window && recordedWindow(window, recorded, nowMs);
    return window && !spent ? [] : [{ limit, spent }];
  });
  const limited = { ...account, spec: { ...account.spec, limits: known.map(({ limit }) => limit) } };
  const windows = known.flatMap(({ spent }) => spent ?? []);
  return accountSpendingStatus(credit, spending, limitsStatus(limited, { ...spending, windows }));
}

/** The spending that a status records for a window, under any limit; undefined: none, or the window has ended. */
function recordedWindow(
  { kind, timeZone }: CalendarWindow,
  { limits = [] }: StatusFields,
  nowMs: number,
): WindowSpending | undefined {
  const recorded = limits.find((limit) => limit.period === kind && limit.timeZone === timeZone);
  const [startMs, endMs] = [momentOf(recorded?.periodStartTime), momentOf(recorded?.resetTime)];
  const spentNanoUsd = amountOf(recorded?.spentUsd);
  if (startMs === null || endMs === null || spentNanoUsd === undefined || endMs <= nowMs) return undefined;
  return { startMs, endMs, spentNanoUsd, heldNanoUsd: 0n };
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

/** One condition of each type, with the words of all measures that reach its threshold. */
function thresholds(
  subject: 'Quota' | 'Balance' | 'Limit',
  measures: readonly Measure[],
): Pick<SpendingStatus, 'conditions' | 'spent'> {
  const low = measures.filter(({ spent, limit }) => spent * 100n >= limit * LOW_PERCENT);
  const exhausted = measures.filter(({ spent, limit }) => spent >= limit);
  const conditions = [...warning(`${subject}Low`, low), ...warning(`${subject}Exhausted`, exhausted)];
  if (exhausted.length === 0) return { conditions };
  return { conditions, spent: { reason: 'LimitReached', message: wordsOf(exhausted) } };
}

function warning(type: SpendingWarning, reached: readonly Measure[]): DesiredCondition[] {
  if (reached.length === 0) return [];
  return [{ type, status: 'True', reason: SPENDING_WARNINGS[type], message: wordsOf(reached) }];
}

function wordsOf(measures: readonly Measure[]): string {
  return measures.map(({ words }) => words).join(' ');
}
