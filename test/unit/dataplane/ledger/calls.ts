/** Calls, limits and clocks for the ledger's tests, with defaults. */
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { SpendingWindow } from '#ledger/spending.ts';
import type {
  AccountLimit,
  AdmitResult,
  CountLimit,
  HoldRequest,
  Limit,
  Load,
  MoneyLimit,
  Settlement,
} from '../../../../dataplane/ledger/ledger.ts';
import { NO_TOKENS_LOAD } from '../../../../dataplane/ledger/load.ts';
import { windowKindOf } from '#ledger/periods.ts';
import type { CallOrigin, CallProgress, CallStatus } from '#usage/record.ts';

/** Friday, 20 November 2026, noon UTC. */
export const NOON_MS = Date.UTC(2026, 10, 20, 12);
export const DAY_MS = 86_400_000;

export interface TestClock {
  nowMs: number;
}

export function testClock(nowMs = NOON_MS): TestClock {
  return { nowMs };
}

export function origin(callId: string, over: Partial<CallOrigin> = {}): CallOrigin {
  return {
    callId,
    keyUid: 'key-1',
    account: 'team-a/team-a',
    createdMs: NOON_MS,
    group: 'auto-a',
    model: 'claude-sonnet-4-5',
    channel: 'anthropic/direct',
    catalog: 'model-gateway/anthropic@1',
    ...over,
  };
}

/** The limits of a key and its account on money, in short. */
export interface Spending {
  /** null: unlimited. */
  readonly keyLimitNanoUsd: bigint | null;
  readonly period: QuotaPeriod;
  readonly keyGeneration: bigint;
  readonly accountCreditNanoUsd: bigint;
  readonly accountGeneration: bigint;
  /** Of the quota's period; absent: UTC. */
  readonly timeZone?: string;
  /** The account's limits besides its credit. */
  readonly accountLimits?: readonly AccountWindow[];
}

export type AccountWindow = Pick<AccountLimit, 'amountNanoUsd' | 'window' | 'timeZone'>;

/** Very high limits, except the given ones. */
export function limits(over: Partial<Spending> = {}): Spending {
  return {
    keyLimitNanoUsd: null,
    period: 'Never',
    keyGeneration: 1n,
    accountCreditNanoUsd: 1_000_000n,
    accountGeneration: 1n,
    ...over,
  };
}

export function progress(costNanoUsd: bigint, over: Partial<CallProgress> = {}): CallProgress {
  return {
    costNanoUsd,
    tokens: {
      input: 10,
      cached: 1,
      cacheWrite5m: 2,
      cacheWrite1h: 3,
      output: Number(costNanoUsd % 1000n),
    },
    usageSource: 'Partial',
    ...over,
  };
}

/** The limits as the ledger takes them. */
export function moneyLimits(
  spending: Spending,
  { keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>,
): readonly MoneyLimit[] {
  const { keyLimitNanoUsd, period, keyGeneration, accountCreditNanoUsd, accountGeneration } = spending;
  const { timeZone, accountLimits = [] } = spending;
  const measure = 'UsdNano';
  const window: SpendingWindow = windowKindOf(period) ?? 'Total';
  const zoned = timeZone === undefined ? {} : { timeZone };
  const ofKey = { amountNanoUsd: keyLimitNanoUsd, window, ...zoned, generation: keyGeneration } as const;
  const owner = { scope: 'Account', id: `account/${account}`, measure, generation: accountGeneration } as const;
  return [
    { scope: 'Key', id: `key/${keyUid}`, measure, ...ofKey },
    { ...owner, amountNanoUsd: accountCreditNanoUsd, window: 'Total' },
    ...accountLimits.map((limit) => ({ ...owner, ...limit })),
  ];
}

const PERIODS = { Total: 'Never', Day: 'Daily', Week: 'Weekly', Month: 'Monthly' } as const;

/** The limits of a request, in short. */
export function spendingOf(all: readonly Limit[]): Spending {
  const key = all.find((limit) => limit.measure === 'UsdNano' && limit.scope === 'Key');
  const [account, ...others] = all.filter((limit) => limit.measure === 'UsdNano' && limit.scope === 'Account');
  if (key?.measure !== 'UsdNano' || account?.measure !== 'UsdNano') throw new Error('a limit is missing');
  return {
    keyLimitNanoUsd: key.amountNanoUsd,
    period: PERIODS[key.window],
    keyGeneration: key.generation,
    accountCreditNanoUsd: account.amountNanoUsd ?? 0n,
    accountGeneration: account.generation,
    ...(key.timeZone !== undefined && { timeZone: key.timeZone }),
    accountLimits: others.flatMap((limit) =>
      limit.measure === 'UsdNano' ? [{ ...limit, amountNanoUsd: limit.amountNanoUsd ?? 0n }] : [],
    ),
  };
}

/** A result that names the limit that leaves too little in short. */
export function brief(result: AdmitResult): BriefResult {
  if (result.outcome !== 'Short') return result;
  const { outcome, limit, availableNanoUsd } = result;
  return { outcome, short: briefName(limit), availableNanoUsd };
}

/** A limit's scope, and of an account's limits the window: "Account Week Europe/Berlin". */
export function briefName({
  scope,
  window,
  timeZone = 'UTC',
}: Pick<MoneyLimit, 'scope' | 'window' | 'timeZone'>): string {
  return scope === 'Key' || window === 'Total' ? scope : `${scope} ${window} ${timeZone}`;
}

export type BriefResult =
  | Exclude<AdmitResult, { readonly outcome: 'Short' }>
  | { readonly outcome: 'Short'; readonly short: string; readonly availableNanoUsd: bigint };

export interface HoldOptions {
  readonly origin?: Partial<CallOrigin>;
  readonly limits?: Partial<Spending>;
  /** Limits on calls, and what the call may use of them. */
  readonly counts?: readonly CountLimit[];
  readonly load?: Load;
  readonly minimum?: bigint;
  readonly progress?: CallProgress;
}

export function holdRequest(callId: string, amountNanoUsd: bigint, options: HoldOptions = {}): HoldRequest {
  const of = origin(callId, options.origin);
  return {
    origin: of,
    limits: [...moneyLimits(limits(options.limits), of), ...(options.counts ?? [])],
    load: options.load ?? NO_TOKENS_LOAD,
    amountNanoUsd,
    minimumNanoUsd: options.minimum ?? amountNanoUsd,
    progress: options.progress ?? progress(0n),
  };
}

const LATER: string = 'Postponed';
/** A status that a newer version writes, and this one does not know. */
export const NEWER_STATUS = LATER as CallStatus;

export function settlement(
  callId: string,
  costNanoUsd: bigint,
  over: Partial<Settlement> & { origin?: CallOrigin } = {},
): Settlement {
  return {
    callId,
    progress: progress(costNanoUsd, { usageSource: 'Provider' }),
    status: 'Succeeded',
    durationMs: 1234,
    origin: origin(callId),
    ...over,
  };
}

export function slot(scope: CountLimit['scope'], id: string, limit: number): CountLimit {
  return { scope, id: `${scope.toLowerCase()}/${id}`, measure: 'Concurrency', amount: limit };
}
