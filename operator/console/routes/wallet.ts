/** GET /wallet: the accounts that the person may see. GET /wallet/NAMESPACE/ACCOUNT: one of them. */
import type { ApiKey } from '#crds/types.gen.ts';
import type { Answer, ConsoleRoute, Visit } from '../route.ts';
import { renderAccounts } from '../views/wallet-accounts.ts';
import { accountFacts } from '../views/wallet-facts.ts';
import { parseAccountsQuery } from '../views/wallet-query.ts';
import { accountPage, WALLET_FILES } from '../wallet/account-page.ts';
import { readScope } from '../wallet/scope.ts';

async function showAccounts({ person, query, deps }: Visit): Promise<Answer> {
  const [accounts, keys] = await Promise.all([person.list('Account'), person.list('ApiKey')]);
  const byAccount = Map.groupBy(keys.objects, accountOf);
  const seen = new Set(accounts.objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  deps.usage?.prepare([...seen]);
  const body = renderAccounts({
    accounts: accounts.objects.map((account) => accountFacts(account, byAccount.get(`${account.metadata.namespace}/${account.metadata.name}`)?.length ?? 0)),
    loneKeys: keys.objects.filter((key) => !seen.has(accountOf(key))),
    query: parseAccountsQuery(query),
  });
  return { page: { title: 'Wallet', active: 'wallet', body, ...WALLET_FILES } };
}

function accountOf({ metadata, spec }: ApiKey): string {
  return `${metadata.namespace}/${spec.accountRef.name}`;
}

export const walletRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/wallet', handle: showAccounts },
  { method: 'GET', path: '/wallet/:namespace/:name', handle: async (visit) => accountPage(visit, await readScope(visit)) },
];
