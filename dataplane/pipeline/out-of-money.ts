/**
 * Writes the messages of refusals for lack of money: whether a quota or a balance is used up, held by running calls, or
 * smaller than the call's worst case, with the figures, the output limit that would fit, and where to get more.
 */
import { formatDecimal } from '#snapshot/decimal.ts';
import { GatewayError } from '../errors.ts';
import type { FundsOf } from '../errors.ts';
import type { SpendingWindow } from '#ledger/spending.ts';
import type { Ledger, MoneyLimit, SpentUnder } from '../ledger/ledger.ts';
import { PERIOD_OF_WINDOW, windowOf } from '#ledger/periods.ts';
import type { Span } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import type { KeyState } from '../state/state.ts';

/** The limit that refused a call, and the spending under it. */
export interface Funds {
  readonly of: FundsOf;
  readonly key: Pick<KeyState, 'namespace' | 'name' | 'account'>;
  /** The quota, the account's credit, or its limit. */
  readonly limitNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
  /** The window that the spending is of; null for a credit, and for a limit in total. */
  readonly period: FundsPeriod | null;
  /** The console's URL without a path; undefined if it is unknown. */
  readonly consoleUrl: string | undefined;
}

/** A window in its time zone. */
interface FundsPeriod extends Span {
  readonly window: SpendingWindow;
  readonly timeZone: string;
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

interface FundsSource extends ConsoleSource {
  readonly ledger: Pick<Ledger, 'readKey' | 'readAccount'>;
}

interface ConsoleSource {
  readonly consoleUrl?: (() => string | undefined) | undefined;
}

/** The funds under a limit, from the ledger's figures. */
export function fundsUnder(
  { consoleUrl }: ConsoleSource,
  key: Pick<KeyState, 'namespace' | 'name' | 'account'>,
  { limit, spentNanoUsd, span }: SpentUnder,
): Funds {
  const { scope, amountNanoUsd, window, timeZone = UTC } = limit;
  return {
    of: scope === 'Key' ? 'Key' : limit.isLimit ? 'AccountLimit' : 'Account',
    key,
    limitNanoUsd: amountNanoUsd ?? 0n,
    spentNanoUsd,
    period: span ? { ...span, window, timeZone } : null,
    consoleUrl: consoleUrl?.(),
  };
}

/**
 * Reads the funds under the limits that have an amount; those of the account are read at one moment. Rejects with
 * LedgerUnavailable.
 */
export async function readFunds(
  source: FundsSource,
  key: Pick<KeyState, 'uid' | 'namespace' | 'name' | 'account'>,
  limits: readonly MoneyLimit[],
): Promise<readonly Funds[]> {
  const limited = limits.filter(({ amountNanoUsd }) => amountNanoUsd !== null);
  const ofKey = limited.filter(({ scope }) => scope === 'Key');
  const ofAccount = limited.filter(({ scope }) => scope === 'Account');
  const spent = await Promise.all([
    ...ofKey.map((quota) => readQuota(source, key, quota)),
    readAccountLimits(source, key, ofAccount),
  ]);
  return spent.flat().map((each) => fundsUnder(source, key, each));
}

async function readQuota(
  { ledger }: FundsSource,
  { uid, account }: Pick<KeyState, 'uid' | 'account'>,
  limit: MoneyLimit,
): Promise<SpentUnder> {
  const { window, timeZone } = limit;
  const spending = await ledger.readKey(uid, { period: PERIOD_OF_WINDOW[window], timeZone }, account);
  const { spentNanoUsd, periodStartMs: startMs, resetsMs: endMs } = spending;
  const isTotal = startMs === null || endMs === null;
  return { limit, spentNanoUsd, ...(!isTotal && { span: { startMs, endMs } }) };
}

async function readAccountLimits(
  { ledger }: FundsSource,
  { account }: Pick<KeyState, 'account'>,
  limits: readonly MoneyLimit[],
): Promise<readonly SpentUnder[]> {
  if (limits.length === 0) return [];
  const windowed = limits.filter(({ window }) => window !== 'Total');
  const asked = windowed.flatMap((limit) => windowOf(limit) ?? []);
  const { spentNanoUsd, windows = [] } = await ledger.readAccount(account, asked);
  return limits.map((limit) => {
    const current = windows[windowed.indexOf(limit)];
    return current ? { limit, spentNanoUsd: current.spentNanoUsd, span: current } : { limit, spentNanoUsd };
  });
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
  if (funds.of === 'AccountLimit') {
    const resets = resetOf(funds);
    const what = `The account ${account} of this key has used up its ${limitText(funds)}`;
    return errorOf(funds, `${what}${resets === '' ? '' : `; it ${resets}`}.`, true);
  }
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
  const whole = wholeOf(funds);
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

function wholeOf(funds: Funds): string {
  const { account } = funds.key;
  switch (funds.of) {
    case 'Key':
      return `this key's ${quotaOf(funds)}`;
    case 'Account':
      return `the balance of this key's account ${account}`;
    case 'AccountLimit':
      return `the ${limitText(funds)} of this key's account ${account}`;
  }
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
  const key = `${namespace}/${name}`;
  const [path, field, remedy] = {
    Key: [`/keys/${key}`, `spec.quota of ApiKey ${key}`, 'The owner of the key can raise it or set it to Unlimited'],
    Account: [`/wallet/${account}`, `spec.grants of Account ${account}`, 'Whoever manages the account can grant more'],
    AccountLimit: [undefined, `spec.limits of Account ${account}`, 'Whoever manages the account can raise it'],
  }[of];
  const where = consoleUrl === undefined || path === undefined ? field : `${consoleUrl}${path} or ${field}`;
  return new GatewayError(
    of === 'Account' ? 'credit_balance_exhausted' : 'insufficient_quota',
    `${what} ${remedy}: ${where}.`,
    { fundsOf: of, ...(exceeded && { exceededLimitNanoUsd: limitNanoUsd }) },
  );
}

/** "quota of $25.00 for November" */
function quotaOf(funds: Funds): string {
  return `quota of ${amountAndPeriod(funds)}`;
}

/** "limit of $25.00 for the week from 16 November" */
function limitText(funds: Funds): string {
  return `limit of ${amountAndPeriod(funds)}`;
}

function amountAndPeriod({ limitNanoUsd, period }: Funds): string {
  return `${usd(limitNanoUsd)}${period ? ` for ${periodName(period)}` : ''}`;
}

function periodName({ window, timeZone, startMs }: FundsPeriod): string {
  if (window === 'Month') return dateText(startMs, { month: 'long', timeZone });
  const date = dateText(startMs, { ...DAY_AND_MONTH, timeZone });
  return window === 'Week' ? `the week from ${date}` : date;
}

/** "starts anew on 1 December (UTC)"; empty if the limit never resets. */
function resetOf({ period }: Funds): string {
  if (!period) return '';
  const { timeZone, endMs } = period;
  return `starts anew on ${dateText(endMs, { ...DAY_AND_MONTH, timeZone })} (${timeZone})`;
}

const DAY_AND_MONTH = { day: 'numeric', month: 'long' } as const;

function dateText(ms: number, parts: Intl.DateTimeFormatOptions): string {
  return new Date(ms).toLocaleDateString('en-GB', parts);
}

function usd(nanoUsd: bigint): string {
  return `$${formatDecimal(nanoUsd > 0n ? nanoUsd : 0n, 2)}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
