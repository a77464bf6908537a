/** [P] An account's status, as lists, filters and pages show it, computed from its current amounts. */
import { conditionOf, currentReady, isCurrent, isUnderWay, wordsOf } from './conditions.ts';
import { isLow } from './low.ts';
import type { Account, Condition } from '#crds/types.gen.ts';
import { formatShortUsd, formatUsdDown } from '#web/format.ts';
import type { AccountFacts } from './account-facts.ts';
import type { StatusMark, StatusTone } from './status.ts';

/** Worst first: lists sort in this order. */
export const ACCOUNT_STATUSES = [
  'NotAccepted',
  'Overdrawn',
  'OutOfCredit',
  'LimitReached',
  'Low',
  'Pending',
  'Active',
] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export const ACCOUNT_STATUS_LABELS: Readonly<Record<AccountStatus, string>> = {
  NotAccepted: 'Not accepted',
  Overdrawn: 'Overdrawn',
  OutOfCredit: 'Out of credit',
  LimitReached: 'Limit reached',
  Low: 'Low',
  Pending: 'Pending',
  Active: 'Active',
};

const TONES: Readonly<Record<AccountStatus, StatusTone>> = {
  NotAccepted: 'bad',
  Overdrawn: 'bad',
  OutOfCredit: 'bad',
  LimitReached: 'bad',
  Low: 'warn',
  Pending: 'info',
  Active: 'good',
};

export interface AccountStatusFinding extends StatusMark {
  readonly status: AccountStatus;
}

interface AccountStatusContext {
  /** Less than this pays for no call; undefined: not known. */
  readonly cheapestCallNanoUsd?: () => bigint | undefined;
  /** The last call of one of its keys was refused because the account is out of credit. */
  readonly wasRefused?: boolean;
}

/** The first status that applies. */
export function accountStatusOf(facts: AccountFacts, context: AccountStatusContext = {}): AccountStatusFinding {
  const [status, message] = reasonOf(facts, context);
  return { status, label: ACCOUNT_STATUS_LABELS[status], tone: TONES[status], message };
}

type Reason = readonly [status: AccountStatus, message: string];

const REFUSED = 'Calls of its keys are refused until credit is added.';

function reasonOf(facts: AccountFacts, context: AccountStatusContext): Reason {
  const { account } = facts;
  return (
    notAccepted(account) ??
    outOfCredit(facts, context) ??
    ofLimit(account, 'LimitExhausted', 'LimitReached') ??
    pending(currentReady(account)) ??
    lowCredit(facts) ??
    ofLimit(account, 'LimitLow', 'Low') ?? ['Active', '']
  );
}

function notAccepted(account: Account): Reason | undefined {
  const ready = currentReady(account);
  if (ready?.status !== 'False' || ready.reason === 'LimitReached' || isUnderWay(account)) return undefined;
  return ['NotAccepted', wordsOf(ready)];
}

function lowCredit(facts: AccountFacts): Reason | undefined {
  const { creditNanoUsd, balanceNanoUsd } = facts;
  if (!isAccountLow(facts)) return undefined;
  return ['Low', `${formatUsdDown(balanceNanoUsd, 2)} of ${formatShortUsd(creditNanoUsd)} remains.`];
}

/** What the operator says of the account's limits: which one is low or spent, and when it resets. */
function ofLimit(
  account: Account,
  type: 'LimitExhausted' | 'LimitLow',
  status: 'LimitReached' | 'Low',
): Reason | undefined {
  const condition = conditionOf(account, type);
  return condition?.status === 'True' && isCurrent(condition, account) ? [status, condition.message] : undefined;
}

function outOfCredit(
  { creditNanoUsd, spentNanoUsd, balanceNanoUsd }: AccountFacts,
  { cheapestCallNanoUsd, wasRefused = false }: AccountStatusContext,
): Reason | undefined {
  if (balanceNanoUsd < 0n) return ['Overdrawn', `It is overdrawn by ${formatShortUsd(-balanceNanoUsd)}. ${REFUSED}`];
  if (balanceNanoUsd === 0n)
    return ['OutOfCredit', `${creditNanoUsd === 0n ? 'It has no credit.' : 'All of its credit is spent.'} ${REFUSED}`];
  if (!isLow(spentNanoUsd, creditNanoUsd)) return undefined;
  const left = `${formatUsdDown(balanceNanoUsd, 4)} remains,`;
  if (balanceNanoUsd < (cheapestCallNanoUsd?.() ?? 0n))
    return ['OutOfCredit', `${left} less than any call costs. ${REFUSED}`];
  return wasRefused ? ['OutOfCredit', `${left} too little for the last call. ${REFUSED}`] : undefined;
}

/** 80 % of its credit is spent. */
export function isAccountLow({ creditNanoUsd, spentNanoUsd }: AccountFacts): boolean {
  return isLow(spentNanoUsd, creditNanoUsd);
}

function pending(ready: Condition | undefined): Reason | undefined {
  if (!ready) return ['Pending', 'The latest change is on its way to the proxies.'];
  if (ready.status === 'True') return undefined;
  // credit was added after the condition was written
  if (ready.reason === 'LimitReached') return ['Pending', 'The added credit is on its way to the proxies.'];
  return ['Pending', wordsOf(ready)];
}
