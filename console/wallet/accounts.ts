/** The accounts that the person may see. */
import type { ApiKey } from '#crds/types.gen.ts';
import { columnPlaces, formatCount, pluralize, renderBalance, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { accountIdOf, namespacedName } from '#objects/resources.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { accountFacts } from '../queries/account-facts.ts';
import type { AccountFacts } from '../queries/account-facts.ts';
import { ACCOUNT_STATUS_LABELS, ACCOUNT_STATUSES } from '../queries/account-status.ts';
import type { AccountStatusFinding } from '../queries/account-status.ts';
import { readAccountStatuses } from '../queries/account-statuses.ts';
import { renderStatusMark } from '../components/status-mark.ts';
import { ACCOUNTS_QUERY, parseAccountsQuery } from './query.ts';
import type { AccountColumn, AccountsQuery } from './query.ts';
import { accountPath, withParameters } from '../paths.ts';
import { notice } from '../components/notice.ts';
import { pageHead, section, empty } from '../components/page.ts';
import { filters, searchFilter, selectFilter } from '../components/filters.ts';
import { pager } from '../components/pager.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';

export const accountsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/wallet', query: ACCOUNTS_QUERY, handle: showAccounts }),
];

async function showAccounts(request: PageRequest<{ readonly query: typeof ACCOUNTS_QUERY }>): Promise<HandlerResult> {
  const { person, query, deps } = request;
  const [accounts, keys, creatable, granting] = await Promise.all([
    person.list('Account'),
    person.list('ApiKey'),
    person.namespaces('create', 'Account'),
    person.namespaces('patch', 'Account'),
  ]);
  const byAccount = Map.groupBy(keys.objects, accountIdOf);
  const seen = new Set(accounts.objects.map(({ metadata }) => namespacedName(metadata)));
  deps.usage?.prepare([...seen]);
  const facts = accounts.objects.map((account) =>
    accountFacts(account, byAccount.get(namespacedName(account.metadata))?.length ?? 0),
  );
  const statusOf = await readAccountStatuses(request, facts);
  const body = renderAccounts({
    accounts: facts.map((each) => ({ ...each, finding: statusOf(each) })),
    loneKeys: keys.objects.filter((key) => !seen.has(accountIdOf(key))),
    query: parseAccountsQuery(query),
    mayCreate: creatable.length > 0,
    granting: new Set(granting),
  });
  return { page: { title: 'Wallet', active: 'wallet', body, styles: ['wallet.css'] } };
}

interface AccountLine extends AccountFacts {
  readonly finding: AccountStatusFinding;
}

interface AccountsView {
  readonly accounts: readonly AccountLine[];
  /** Keys that the person sees, of accounts that they do not see. */
  readonly loneKeys: readonly ApiKey[];
  readonly query: AccountsQuery;
  /** Accounts, somewhere. */
  readonly mayCreate: boolean;
  /** The namespaces in which the person may grant credit. */
  readonly granting: ReadonlySet<string>;
}

const PAGE_SIZE = 100;
/** More are found under the keys. */
const LONE_KEYS_SHOWN = 100;

function renderAccounts(view: AccountsView): Html {
  const { accounts, loneKeys, mayCreate } = view;
  return html`${pageHead({
    title: 'Wallet',
    lede: 'An account holds credit; its keys spend from it. No call is admitted that the balance could not pay.',
    ...(mayCreate && accounts.length > 0 && { actions: html`<a class="button" href="/wallet/new">Create account</a>` }),
  })}
  ${accounts.length === 0 ? renderNone(loneKeys.length > 0, mayCreate) : renderList(view)}
  ${loneKeys.length === 0 ? NOTHING : renderLoneKeys(loneKeys)}`;
}

function renderList({ accounts, query, granting }: AccountsView): Html {
  const chosen = chooseAccounts(accounts, query);
  const count =
    chosen.length === accounts.length
      ? pluralize(accounts.length, 'account')
      : `${formatCount(chosen.length)} of ${pluralize(accounts.length, 'account')}`;
  return html`${accounts.length > 1 ? renderSearch(query) : NOTHING}
    <div class="bar-line">
      <p class="count" role="status">${count}</p>
    </div>
    ${
      chosen.length === 0
        ? html`<p class="none">No account matches. <a href="/wallet">Show all accounts</a></p>`
        : renderPage(chosen, query, granting)
    }`;
}

function renderNone(hasKeys: boolean, mayCreate: boolean): Html {
  if (mayCreate)
    return empty(
      {
        id: 'no-accounts',
        title: 'No account yet',
        actions: html`<a class="button primary" href="/wallet/new">Create account</a>`,
      },
      html`<p>Keys need an account with credit.</p>`,
    );
  if (hasKeys)
    return notice('You may not see the accounts that pay for your keys. What the keys themselves have spent is below.');
  return empty(
    { id: 'no-accounts', title: 'No account that you may see' },
    html`<p>
        An <code>Account</code> is a namespaced object with a list of grants. Whoever administers the gateway makes one
        in your namespace, or gives you the right to read the one that is there:
      </p>
      <pre><code>apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata:
  namespace: team-a
  name: main
spec:
  grants:
  - name: welcome
    usd: "25.00"
    reason: To try it out</code></pre>`,
  );
}

function renderSearch({ text, status, column, descending }: AccountsQuery): Html {
  const sort = `${descending ? '-' : ''}${column}`;
  return filters({ action: '/wallet', label: 'Accounts', style: 'wallet-search', kept: { sort }, button: 'Search' }, [
    searchFilter(text, 'Name or namespace'),
    selectFilter({
      label: 'Status',
      name: 'status',
      all: 'All',
      options: ACCOUNT_STATUSES.map((each) => [each, ACCOUNT_STATUS_LABELS[each]]),
      chosen: status ?? '',
    }),
  ]);
}

function renderPage(chosen: readonly AccountLine[], query: AccountsQuery, granting: ReadonlySet<string>): Html {
  const page = Math.min(query.page, Math.ceil(chosen.length / PAGE_SIZE));
  const shown = chosen.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  const columns = accountColumns(shown).map(({ id, ...column }) => ({ ...column, sort: sortOf(id, query) }));
  const actions = {
    title: 'Actions',
    hidden: true,
    style: 'cell-actions',
    cell: (line: AccountLine) => renderGrantLink(line, granting),
  };
  return html`${table(granting.size === 0 ? columns : [...columns, actions], shown, {
    caption: 'Accounts with what they have and what was spent',
    cards: true,
  })}
  ${pager({ page, pageSize: PAGE_SIZE, total: chosen.length, hrefOf: (to) => accountsPath({ ...query, page: to }) })}`;
}

function sortOf(column: AccountColumn, query: AccountsQuery): Column<AccountLine>['sort'] & object {
  const current = query.column === column;
  // amounts are looked for from the largest
  const descending = current ? !query.descending : column !== 'name' && column !== 'status';
  return {
    href: accountsPath({ ...query, column, descending, page: 1 }),
    order: current ? (query.descending ? 'descending' : 'ascending') : undefined,
  };
}

type AccountTableColumn = Column<AccountLine> & { readonly id: AccountColumn };

function accountColumns(shown: readonly AccountLine[]): readonly AccountTableColumn[] {
  const money = columnPlaces(
    shown.flatMap(({ balanceNanoUsd, creditNanoUsd, spentNanoUsd }) => [balanceNanoUsd, creditNanoUsd, spentNanoUsd]),
  );
  const held = columnPlaces(shown.map(({ heldNanoUsd }) => heldNanoUsd));
  return [
    {
      id: 'name',
      title: 'Account',
      cell: ({ account: { metadata } }) =>
        html`<a href="${accountPath(metadata)}"><bdi>${metadata.name}</bdi></a
          ><small><bdi>${metadata.namespace}</bdi></small>`,
    },
    { id: 'status', title: 'Status', cell: ({ finding }) => renderStatusMark(finding) },
    { id: 'balance', title: 'Balance', num: true, cell: (line) => renderBalance(line.balanceNanoUsd, money) },
    { id: 'credit', title: 'Credit', num: true, cell: (line) => renderUsd(line.creditNanoUsd, money) },
    { id: 'spent', title: 'Spent of credit', cell: (line) => renderSpentOfCredit(line, money) },
    { id: 'held', title: 'Held now', num: true, cell: (line) => renderUsd(line.heldNanoUsd, held) },
    { id: 'keys', title: 'Keys', num: true, cell: ({ keys }) => formatCount(keys) },
  ];
}

function renderSpentOfCredit({ spentNanoUsd: spent, creditNanoUsd: credit }: AccountLine, places: number): Html {
  const tone = spent >= credit ? 'bad' : spent * 5n >= credit * 4n ? 'warn' : 'plain';
  return html`<div class="meter">
    <div>${renderUsd(spent, places)}</div>
    ${renderBar({ part: spent, whole: credit, tone })}
  </div>`;
}

/** Opens the account with its dialog. */
function renderGrantLink({ account: { metadata } }: AccountFacts, granting: ReadonlySet<string>): Html {
  if (!granting.has(metadata.namespace)) return NOTHING;
  return html`<a
    class="button small"
    href="${accountPath(metadata, undefined, { credit: 'grant' })}"
    aria-label="Grant credit to ${namespacedName(metadata)}"
    >Grant credit</a
  >`;
}

function accountsPath({ text, status, column, descending, page }: AccountsQuery): string {
  return withParameters('/wallet', {
    q: text,
    status: status ?? '',
    sort: column === 'status' && !descending ? '' : `${descending ? '-' : ''}${column}`,
    page: page === 1 ? '' : String(page),
  });
}

function renderLoneKeys(keys: readonly ApiKey[]): Html {
  const shown = [...keys]
    .sort((a, b) => compare(namespacedName(a.metadata), namespacedName(b.metadata)))
    .slice(0, LONE_KEYS_SHOWN);
  return section(
    { id: 'lone-keys', title: 'Keys of accounts that you may not see' },
    html`<ul class="lone-keys">
        ${shown.map(
          ({ metadata: { namespace, name }, spec: { accountRef } }) =>
            html`<li>
              <a href="${accountPath({ namespace, name: accountRef.name }, undefined, { key: name })}"
                ><bdi>${name}</bdi></a
              >
              <span class="soft"><bdi>${namespace}</bdi></span>
            </li>`,
        )}
      </ul>
      ${
        keys.length > shown.length
          ? html`<p class="soft">
              And ${formatCount(keys.length - shown.length)} more: find them under <a href="/keys">API keys</a>.
            </p>`
          : NOTHING
      }`,
  );
}

function chooseAccounts(
  accounts: readonly AccountLine[],
  { text, status, column, descending }: AccountsQuery,
): AccountLine[] {
  const terms = text.toLowerCase().split(/\s+/);
  const direction = descending ? -1 : 1;
  return accounts
    .filter(({ finding }) => status === undefined || finding.status === status)
    .filter(({ account }) => terms.every((term) => namespacedName(account.metadata).includes(term)))
    .sort(
      (a, b) =>
        direction * compareBy(column, a, b) ||
        compare(namespacedName(a.account.metadata), namespacedName(b.account.metadata)),
    );
}

function statusRank({ finding }: AccountLine): number {
  return ACCOUNT_STATUSES.indexOf(finding.status);
}

function compareBy(column: AccountColumn, a: AccountLine, b: AccountLine): number {
  switch (column) {
    case 'name':
      return compare(namespacedName(a.account.metadata), namespacedName(b.account.metadata));
    case 'status':
      return statusRank(a) - statusRank(b);
    case 'balance':
      return compare(a.balanceNanoUsd, b.balanceNanoUsd);
    case 'credit':
      return compare(a.creditNanoUsd, b.creditNanoUsd);
    case 'spent':
      return compare(a.spentNanoUsd, b.spentNanoUsd);
    case 'held':
      return compare(a.heldNanoUsd, b.heldNanoUsd);
    case 'keys':
      return a.keys - b.keys;
  }
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : Number(a > b);
}
