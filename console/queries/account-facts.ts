/** [P] An account's figures. */
import { conditionOf, isCurrent } from './conditions.ts';
import type { Account } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';

/** Nano-USD. */
export interface AccountFacts {
  readonly account: Account;
  readonly creditNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  readonly balanceNanoUsd: bigint;
  /** How many keys that the person sees spend from it. */
  readonly keys: number;
}

/** From the status; before there is one, or where a grant is newer than it, from the grants. */
export function accountFacts(account: Account, keys: number): AccountFacts {
  const { spec, status } = account;
  const known = isStatusCurrent(account) ? status : undefined;
  const creditNanoUsd = moneyOf(known?.creditUsd) ?? sumOf(spec.grants);
  const spentNanoUsd = moneyOf(status?.spentUsd) ?? 0n;
  return {
    account,
    creditNanoUsd,
    spentNanoUsd,
    keys,
    heldNanoUsd: moneyOf(status?.heldUsd) ?? 0n,
    balanceNanoUsd: moneyOf(known?.balanceUsd) ?? creditNanoUsd - spentNanoUsd,
  };
}

function sumOf(grants: Account['spec']['grants'] = []): bigint {
  return grants.reduce((sum, { usd }) => sum + (parseDecimal(usd) ?? 0n), 0n);
}

/** Whether the status refers to the current spec; one that nobody has written yet refers to no other. */
function isStatusCurrent(account: Account): boolean {
  const ready = conditionOf(account, 'Ready');
  return ready === undefined || isCurrent(ready, account);
}

function moneyOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : parseDecimal(usd);
}
