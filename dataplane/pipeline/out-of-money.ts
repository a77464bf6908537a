/**
 * Writes the messages of refusals for lack of money: whether a quota or a balance is used up, held by running calls, or
 * smaller than the call's worst case, with the figures, the output limit that would fit, and where to get more.
 */
import { formatDecimal } from '#snapshot/decimal.ts';
import { GatewayError } from '../errors.ts';
import type { KeySpending, QuotaPeriod } from '#ledger/spending.ts';
import type { Ledger, MoneyLimit } from '../ledger/ledger.ts';
import type { KeyState } from '../state/state.ts';

/** The limit that refused a call, and the spending under it. */
export interface Funds {
  readonly of: 'Key' | 'Account';
  readonly key: Pick<KeyState, 'namespace' | 'name' | 'account' | 'period'>;
  /** The quota, or the account's credit. */
  readonly limitNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
  /** The quota's period; null for an account, and for a quota without a period. */
  readonly period: Pick<KeySpending, 'periodStartMs' | 'resetsMs'> | null;
  /** The console's URL without a path; undefined if it is unknown. */
  readonly consoleUrl: string | undefined;
}

/** A call that the funds do not cover. */
export interface UncoveredCall {
  /** The most that the call can cost as it was sent. */
  readonly costNanoUsd: bigint;
  /** The least amount that must be held for the call, at the lowest output limit that it may get. */
  readonly neededNanoUsd: bigint;
  /** The amount that is neither spent nor held. */
  readonly freeNanoUsd: bigint;
  /** The highest output limit that would fit; 0: none. Undefined if the endpoint has no output tokens. */
  readonly fittingOutput: number | undefined;
  readonly thinkingBudget: number | undefined;
}

interface FundsSource {
  readonly ledger: Pick<Ledger, 'readKey' | 'readAccount'>;
  readonly consoleUrl?: (() => string | undefined) | undefined;
}

/** Reads what was spent under a limit. Rejects with LedgerUnavailable. */
export async function readFunds(
  { ledger, consoleUrl }: FundsSource,
  key: KeyState,
  { scope: of, amountNanoUsd }: Pick<MoneyLimit, 'scope' | 'amountNanoUsd'>,
): Promise<Funds> {
  const shared = { of, limitNanoUsd: amountNanoUsd ?? 0n, key, consoleUrl: consoleUrl?.() };
  if (of === 'Account') {
    const { spentNanoUsd } = await ledger.readAccount(key.account);
    return { ...shared, spentNanoUsd, period: null };
  }
  const spending = await ledger.readKey(key.uid, key.period, key.account);
  return { ...shared, spentNanoUsd: spending.spentNanoUsd, period: spending };
}

/** The error if nothing remains under the limit. */
export function usedUp(funds: Funds): GatewayError {
  if (funds.of === 'Key') {
    const resets = resetOf(funds);
    return errorOf(funds, `This key has used up its ${quotaOf(funds)}${resets === '' ? '' : `; it ${resets}`}.`, true);
  }
  const {
    key: { account },
    limitNanoUsd,
  } = funds;
  return errorOf(
    funds,
    limitNanoUsd > 0n
      ? `The account ${account} of this key has used up its credit of ${usd(limitNanoUsd)}.`
      : `The account ${account} of this key has no credit.`,
    true,
  );
}

/** The error for one call: the limit is used up, too small for the call, or held by other calls. */
export function outOfMoney(funds: Funds, call: UncoveredCall): GatewayError {
  const left = funds.limitNanoUsd - funds.spentNanoUsd;
  if (left <= 0n) return usedUp(funds);
  const cost = `this call may cost up to ${usd(call.costNanoUsd)}`;
  const whole =
    funds.of === 'Key' ? `this key's ${quotaOf(funds)}` : `the balance of this key's account ${funds.key.account}`;
  if (call.neededNanoUsd > left) {
    const resets = resetOf(funds);
    const of = `${usd(left)} is left of ${whole}${resets === '' ? '' : `, which ${resets}`}`;
    return errorOf(funds, `${capitalized(cost)}, and ${of}.${fitting(call)}`, true);
  }
  return errorOf(
    funds,
    `Running calls hold ${usd(left - call.freeNanoUsd)} of ${whole} until they end: ` +
      `${usd(left)} is left, ${usd(call.freeNanoUsd)} of it is free, and ${cost}. Try again when they have ended.` +
      fitting(call),
    false,
  );
}

function fitting({ fittingOutput, thinkingBudget }: UncoveredCall): string {
  if (fittingOutput === undefined) return '';
  if (fittingOutput < 1) return ' Not even its input would fit: a shorter one costs less.';
  const thinking =
    thinkingBudget !== undefined && thinkingBudget >= fittingOutput ? ', with a thinking budget below that' : '';
  return ` An output limit (max_tokens) of ${fittingOutput} would fit${thinking}.`;
}

/** `exceeded`: the call does not fit under the limit, whatever else runs. */
function errorOf(funds: Funds, what: string, exceeded: boolean): GatewayError {
  const {
    of,
    key: { namespace, name, account },
    limitNanoUsd,
    consoleUrl,
  } = funds;
  const [path, field, remedy] =
    of === 'Key'
      ? [
          `/keys/${namespace}/${name}`,
          `spec.quota of ApiKey ${namespace}/${name}`,
          'The owner of the key can raise it or set it to Unlimited',
        ]
      : [`/wallet/${account}`, `spec.grants of Account ${account}`, 'Whoever manages the account can grant more'];
  const where = consoleUrl === undefined ? field : `${consoleUrl}${path} or ${field}`;
  return new GatewayError(
    of === 'Key' ? 'insufficient_quota' : 'credit_balance_exhausted',
    `${what} ${remedy}: ${where}.`,
    exceeded ? { exceededLimitNanoUsd: limitNanoUsd } : {},
  );
}

/** "quota of $25.00 for November" */
function quotaOf({ limitNanoUsd, key, period }: Funds): string {
  const start = period?.periodStartMs;
  const span = typeof start === 'number' ? ` for ${periodName(key.period, start)}` : '';
  return `quota of ${usd(limitNanoUsd)}${span}`;
}

function periodName(period: QuotaPeriod, startMs: number): string {
  return period === 'Monthly' ? dateText(startMs, { month: 'long' }) : dateText(startMs, DAY_AND_MONTH);
}

/** "starts anew on 1 December (UTC)"; empty if the quota never resets. */
function resetOf({ period }: Funds): string {
  const resets = period?.resetsMs;
  return typeof resets === 'number' ? `starts anew on ${dateText(resets, DAY_AND_MONTH)} (UTC)` : '';
}

const DAY_AND_MONTH = { day: 'numeric', month: 'long' } as const;

function dateText(ms: number, parts: Intl.DateTimeFormatOptions): string {
  return new Date(ms).toLocaleDateString('en-GB', { ...parts, timeZone: 'UTC' });
}

function usd(nanoUsd: bigint): string {
  return `$${formatDecimal(nanoUsd > 0n ? nanoUsd : 0n, 2)}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
