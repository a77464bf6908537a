/** Reads what the Wallet's pages show, with the person's own rights, and puts it together. */
import type { Account } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import type { UsageRecord } from '#ledger/usage-record.ts';
import { AccessError } from '../access/access.ts';
import { emptyGrantForm } from '../forms/grant.ts';
import type { GrantFault, GrantForm } from '../forms/grant.ts';
import type { Answer, Visit } from '../route.ts';
import { renderAccount } from '../views/wallet-account.ts';
import { accountFacts } from '../views/wallet-facts.ts';
import type { GrantsView } from '../views/wallet-grants.ts';
import { accountPath } from '../views/wallet-links.ts';
import { parseRange } from '../views/wallet-query.ts';
import type { DayRange } from '../views/wallet-query.ts';
import type { Spending, SpendingView } from '../views/wallet-spending.ts';
import { callsOf, keyNames } from './scope.ts';
import type { Scope } from './scope.ts';

export const WALLET_FILES = { scripts: ['moments.js'], styles: ['wallet.css'] } as const;

const LATEST = 8;

interface AccountPageOptions {
  /** What was typed and what is wrong with it. */
  readonly refused?: { readonly form: GrantForm; readonly faults: readonly GrantFault[]; readonly status: number };
}

/** One account's page, or one key's. */
export async function accountPage(visit: Visit, scope: Scope, { refused }: AccountPageOptions = {}): Promise<Answer> {
  const { ref, account, key, unknownKey } = scope;
  if (unknownKey !== undefined) throw new AccessError('NotFound', `No key of this account that you may see is called ${unknownKey}.`);
  const range = parseRange(visit.query, visit.nowMs);
  const [names, { spending, latest }, grants] = await Promise.all([keyNames(scope, visit), readSpending(visit, scope, range), grantsView(visit, account, refused)]);
  const body = renderAccount({
    ref, names, latest, grants, key: key?.metadata.name, done: grantedWords(visit, scope),
    facts: account && accountFacts(account, names.size),
    spending: { range, spending, byKey: key === undefined, ...spendingLinks(scope, names) },
  });
  return { page: { title: `${key?.metadata.name ?? ref.name} · Wallet`, active: 'wallet', body, ...WALLET_FILES }, status: refused?.status ?? 200 };
}

/** With a form for who may change the account. */
async function grantsView({ person, csrf, nowMs }: Visit, account: Account | undefined, refused: AccountPageOptions['refused']): Promise<GrantsView | undefined> {
  if (!account) return undefined;
  const mayGrant = await person.may('patch', 'Account', account.metadata);
  return { account, csrf, faults: refused?.faults ?? [], form: mayGrant ? refused?.form ?? emptyGrantForm(account, nowMs) : undefined };
}

/** A ledger that does not answer takes nothing else from the page. */
async function readSpending({ deps: { usage } }: Visit, scope: Scope, range: DayRange): Promise<{ readonly spending: Spending; readonly latest: readonly UsageRecord[] | undefined }> {
  if (!usage) return { spending: 'Missing', latest: undefined };
  const query = callsOf(scope);
  try {
    const [spending, { calls }] = await Promise.all([
      usage.sums({ ...query, sinceMs: range.sinceMs, untilMs: range.untilMs }), usage.page(query, { size: LATEST }),
    ]);
    return { spending, latest: calls };
  } catch (error) {
    if (error instanceof LedgerUnavailable) return { spending: 'Unavailable', latest: undefined };
    throw error;
  }
}

function spendingLinks({ ref, key }: Scope, names: ReadonlyMap<string, string>): Pick<SpendingView, 'pathFor' | 'key' | 'modelPath'> {
  const own = key?.metadata.name ?? '';
  return {
    pathFor: (days) => accountPath(ref, undefined, { key: own, days: String(days) }),
    key: (uid) => {
      const name = names.get(uid);
      return { name, path: name === undefined ? accountPath(ref, 'calls', { uid }) : accountPath(ref, undefined, { key: name }) };
    },
    modelPath: (model) => accountPath(ref, 'calls', { key: own, model }),
  };
}

/** Only of a grant that is there: an address can say anything. */
function grantedWords({ query }: Visit, { account }: Scope): string | undefined {
  const grant = account?.spec.grants?.find(({ name }) => name === query.get('granted'));
  return grant && `Granted: ${grant.usd} USD as ${grant.name}. It counts as soon as the proxies have it, which takes a moment.`;
}
