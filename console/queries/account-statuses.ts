/** Computes the statuses of accounts that a person sees, with the outcome of their keys' last calls. */
import { namespacedName } from '#objects/resources.ts';
import type { PageRequest } from '../route.ts';
import type { AccountFacts } from './account-facts.ts';
import { accountStatusOf, isAccountLow } from './account-status.ts';
import type { AccountStatusFinding } from './account-status.ts';
import { readShortages } from './shortages.ts';

export type AccountStatuses = (facts: AccountFacts) => AccountStatusFinding;

/** Never rejects. */
export async function readAccountStatuses(
  request: Pick<PageRequest, 'deps'>,
  accounts: readonly AccountFacts[],
): Promise<AccountStatuses> {
  const shortages = await readShortages(
    request,
    accounts.filter(isAccountLow).map(({ account: { metadata } }) => ({ account: namespacedName(metadata) })),
  );
  const byAccount = Map.groupBy(
    shortages.filter(({ of }) => of === 'Account'),
    ({ account }) => account,
  );
  return (facts) =>
    accountStatusOf(facts, {
      wasRefused: (byAccount.get(namespacedName(facts.account.metadata)) ?? []).some(
        ({ limitNanoUsd }) => facts.creditNanoUsd <= limitNanoUsd,
      ),
    });
}
