/** [P] The response to `GET /v1/key`: the calling key, what it may call, and how much money it has left. */
import { formatDecimal } from '#snapshot/decimal.ts';
import type { AccountSpending, KeySpending, QuotaPeriod, SpendingWindow } from '#ledger/spending.ts';
import type { AccountLimit, CountMeasure } from '../../ledger/ledger.ts';
import { UTC } from '#snapshot/time-zone.ts';
import type { AccountState, KeyState, State } from '../../state/state.ts';
import { formatTime } from './time.ts';

export interface KeyView {
  readonly object: 'key';
  readonly namespace: string;
  readonly name: string;
  readonly key_prefix: string;
  /** An Account's name, in the same namespace. */
  readonly account: string;
  /** The group's name for users. */
  readonly group: string;
  readonly enabled: boolean;
  /** null: all models of the group. */
  readonly models: readonly string[] | null;
  readonly quota: {
    /** A decimal, or "Unlimited". */
    readonly limit_usd: string;
    readonly period: QuotaPeriod;
    /** In which the period begins; absent: UTC. */
    readonly time_zone?: string;
    readonly resets_at: string | null;
  };
  /** In the current quota period. */
  readonly spent_usd: string;
  readonly held_usd: string;
  /** Limit less spent, never below 0; or "Unlimited". */
  readonly remaining_usd: string;
  /** The account's credit less its spending; below 0 if credit was withdrawn. null: the account was deleted. */
  readonly balance_usd: string | null;
  /** The account's limits besides its credit; absent: it has none. */
  readonly account_limits?: readonly AccountLimitView[];
  /** In any 60 seconds; null: any number. */
  readonly rate_limits: {
    readonly requests_per_minute: number | null;
    readonly input_tokens_per_minute: number | null;
    readonly output_tokens_per_minute: number | null;
  };
  /** null: never. */
  readonly expires_at: string | null;
}

/** What all keys of the account may spend in a period. */
interface AccountLimitView {
  readonly period: SpendingWindow;
  readonly time_zone: string;
  readonly limit_usd: string;
  readonly spent_usd: string;
  readonly remaining_usd: string;
  readonly resets_at: string | null;
}

const UNLIMITED = 'Unlimited';
const CENTS = 2;

/** The data from which the view is made. */
export interface KeyViewData {
  readonly key: KeyState;
  readonly state: Pick<State, 'accounts' | 'groups'>;
  readonly spending: KeySpending;
  readonly account: AccountSpending;
  /** When the old string of a rotated key stops working. */
  readonly notAfterMs?: number | undefined;
}

/** The key as its holder sees it. It expires when the key or the string that was sent does, whichever is sooner. */
export function keyView({ key, state, spending, account, notAfterMs }: KeyViewData): KeyView {
  const accountState = state.accounts.get(key.account);
  const expiresMs = Math.min(key.expirationMs ?? Infinity, notAfterMs ?? Infinity);
  return {
    object: 'key',
    namespace: key.namespace,
    name: key.name,
    key_prefix: key.prefix,
    account: key.account.slice(key.account.indexOf('/') + 1),
    group: state.groups.get(key.group)?.displayName ?? key.group,
    enabled: key.enabled,
    models: key.models ? [...key.models].sort() : null,
    quota: quotaView(key, spending),
    spent_usd: formatDecimal(spending.spentNanoUsd, CENTS),
    held_usd: formatDecimal(spending.heldNanoUsd, CENTS),
    remaining_usd: formatRemaining(key.quota.amountNanoUsd, spending.spentNanoUsd),
    ...accountView(accountState, account),
    rate_limits: rateLimits(key),
    expires_at: expiresMs === Infinity ? null : formatTime(expiresMs),
  };
}

function quotaView({ quota, period }: KeyState, { resetsMs }: KeySpending): KeyView['quota'] {
  const { amountNanoUsd, timeZone } = quota;
  return {
    limit_usd: amountNanoUsd === null ? UNLIMITED : formatDecimal(amountNanoUsd, CENTS),
    period,
    ...(timeZone !== undefined && { time_zone: timeZone }),
    resets_at: resetsMs === null ? null : formatTime(resetsMs),
  };
}

function accountView(
  account: AccountState | undefined,
  spending: AccountSpending,
): Pick<KeyView, 'balance_usd' | 'account_limits'> {
  if (!account) return { balance_usd: null };
  const balanceNanoUsd = account.credit.amountNanoUsd - spending.spentNanoUsd;
  return { balance_usd: formatDecimal(balanceNanoUsd, CENTS), ...accountLimits(account.spending, spending) };
}

function accountLimits(
  limits: readonly AccountLimit[],
  { spentNanoUsd: totalNanoUsd, windows = [] }: AccountSpending,
): Pick<KeyView, 'account_limits'> {
  if (limits.length === 0) return {};
  const inWindows = windows.values();
  const views = limits.map(({ window, timeZone = UTC, amountNanoUsd }) => {
    const current = window === 'Total' ? undefined : inWindows.next().value;
    const spentNanoUsd = current?.spentNanoUsd ?? totalNanoUsd;
    return {
      period: window,
      time_zone: timeZone,
      limit_usd: formatDecimal(amountNanoUsd, CENTS),
      spent_usd: formatDecimal(spentNanoUsd, CENTS),
      remaining_usd: formatRemaining(amountNanoUsd, spentNanoUsd),
      resets_at: current ? formatTime(current.endMs) : null,
    };
  });
  return { account_limits: views };
}

function rateLimits({ limits }: KeyState): KeyView['rate_limits'] {
  const amount = (wanted: CountMeasure): number | null =>
    limits.find(({ measure }) => measure === wanted)?.amount ?? null;
  return {
    requests_per_minute: amount('Requests'),
    input_tokens_per_minute: amount('InputTokens'),
    output_tokens_per_minute: amount('OutputTokens'),
  };
}

function formatRemaining(limitNanoUsd: bigint | null, spentNanoUsd: bigint): string {
  if (limitNanoUsd === null) return UNLIMITED;
  const remaining = limitNanoUsd - spentNanoUsd;
  return formatDecimal(remaining > 0n ? remaining : 0n, CENTS);
}
