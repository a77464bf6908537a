/** GET /wallet: the accounts that the person may see. GET /wallet/NAMESPACE/ACCOUNT: one of them. */
import { accountIdOf, namespacedName } from '../../store/resources.ts';
import type { Answer, ConsoleRoute, Visit } from '../route.ts';
import { renderAccounts } from '../views/wallet-accounts.ts';
import { accountFacts } from '../views/wallet-facts.ts';
import { parseAccountsQuery } from '../views/wallet-query.ts';
import { accountPage, WALLET_FILES } from '../wallet/account-page.ts';
import { readScope } from '../wallet/scope.ts';

async function showAccounts({ person, query, deps }: Visit): Promise<Answer> {
  const [accounts, keys] = await Promise.all([person.list('Account'), person.list('ApiKey')]);
  const byAccount = Map.groupBy(keys.objects, accountIdOf);
  const seen = new Set(accounts.objects.map(({ metadata }) => namespacedName(metadata)));
  deps.usage?.prepare([...seen]);
  const body = renderAccounts({
    accounts: accounts.objects.map((account) => accountFacts(account, byAccount.get(namespacedName(account.metadata))?.length ?? 0)),
    loneKeys: keys.objects.filter((key) => !seen.has(accountIdOf(key))),
    query: parseAccountsQuery(query),
  });
  return { page: { title: 'Wallet', active: 'wallet', body, ...WALLET_FILES } };
}

export const walletRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/wallet', handle: showAccounts },
  { method: 'GET', path: '/wallet/:namespace/:name', handle: async (visit) => accountPage(visit, await readScope(visit)) },
];
