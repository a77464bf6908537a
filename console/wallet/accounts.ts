/** The accounts that the person may see. */
import type { ApiKey } from '#crds/types.gen.ts';
import { columnPlaces, formatCount, pluralize, renderBalance, renderUsd } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { accountIdOf, namespacedName } from '../../operator/store/resources.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { accountFacts } from '../queries/account-facts.ts';
import type { AccountFacts } from '../queries/account-facts.ts';
import { ACCOUNT_STATUS_LABELS, ACCOUNT_STATUSES } from '../queries/account-status.ts';
import type { AccountStatusFinding } from '../queries/account-status.ts';
import { readAccountStatuses } from '../queries/account-statuses.ts';
import { renderStatusMark } from '../components/status-mark.ts';
import { ACCOUNT_COLUMNS, parseAccountsQuery } from './query.ts';
import type { AccountColumn, AccountsQuery } from './query.ts';
import { accountPath, withParameters } from '../paths.ts';

export const accountsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/wallet', handle: showAccounts }];

async function showAccounts(request: PageRequest): Promise<HandlerResult> {
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
const TITLES: Readonly<Record<AccountColumn, string>> = {
  name: 'Account',
  status: 'Status',
  balance: 'Balance',
  credit: 'Credit',
  spent: 'Spent of credit',
  held: 'Held now',
  keys: 'Keys',
};
const NUMERIC: ReadonlySet<AccountColumn> = new Set(['balance', 'credit', 'held', 'keys']);

function renderAccounts(view: AccountsView): Html {
  const { accounts, loneKeys, query, mayCreate, granting } = view;
  const chosen = chooseAccounts(accounts, query);
  return html`<div class="page-head">
      <div>
        <h1>Wallet</h1>
        <p class="lede">
          An account holds credit; its keys spend from it. No call is admitted that the balance could not pay.
        </p>
      </div>
      ${
        mayCreate && accounts.length > 0
          ? html`<div class="actions">
              <a class="button" href="/wallet/new">Create account</a>
            </div>`
          : NOTHING
      }
    </div>
    ${
      accounts.length === 0
        ? renderNone(loneKeys.length > 0, mayCreate)
        : html`${accounts.length > 1 ? renderSearch(query) : NOTHING}
            <div class="bar-line">
              <p class="count" role="status">
                ${
                  chosen.length === accounts.length
                    ? pluralize(accounts.length, 'account')
                    : `${formatCount(chosen.length)} of ${pluralize(accounts.length, 'account')}`
                }
              </p>
            </div>
            ${
              chosen.length === 0
                ? html`<p class="none">No account matches. <a href="/wallet">Show all accounts</a></p>`
                : renderPage(chosen, query, granting)
            }`
    }
    ${loneKeys.length === 0 ? NOTHING : renderLoneKeys(loneKeys)}`;
}

function renderNone(hasKeys: boolean, mayCreate: boolean): Html {
  if (mayCreate)
    return html`<section class="empty" aria-labelledby="no-accounts">
      <h2 id="no-accounts">No account yet</h2>
      <p>Keys need an account with credit.</p>
      <div class="actions">
        <a class="button primary" href="/wallet/new">Create account</a>
      </div>
    </section>`;
  if (hasKeys)
    return html`<div class="notice">
      <p>You may not see the accounts that pay for your keys. What the keys themselves have spent is below.</p>
    </div>`;
  return html`<section class="empty" aria-labelledby="no-accounts">
    <h2 id="no-accounts">No account that you may see</h2>
    <p>
      An <code>Account</code> is a namespaced object with a list of grants. Whoever administers the gateway makes one in
      your namespace, or gives you the right to read the one that is there:
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
    reason: To try it out</code></pre>
  </section>`;
}

function renderSearch({ text, status, column, descending }: AccountsQuery): Html {
  return html`<form class="filters wallet-search" method="get" action="/wallet" role="search" aria-label="Accounts">
    <label class="search">
      <span>Search</span>
      <input
        type="search"
        name="q"
        value="${text}"
        maxlength="253"
        placeholder="Name or namespace"
        spellcheck="false"
        autocapitalize="none"
        autocomplete="off"
      />
    </label>
    <label>
      <span>Status</span>
      <select name="status">
        <option value="">All</option>
        ${ACCOUNT_STATUSES.map(
          (each) =>
            html`<option value="${each}" ${flag('selected', each === status)}>${ACCOUNT_STATUS_LABELS[each]}</option>`,
        )}
      </select>
    </label>
    <input type="hidden" name="sort" value="${descending ? '-' : ''}${column}" />
    <div class="actions">
      <button type="submit" class="button">Search</button>
    </div>
  </form>`;
}

function renderPage(chosen: readonly AccountLine[], query: AccountsQuery, granting: ReadonlySet<string>): Html {
  const pages = Math.ceil(chosen.length / PAGE_SIZE);
  const page = Math.min(query.page, pages);
  const shown = chosen.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  const places = {
    money: columnPlaces(
      shown.flatMap(({ balanceNanoUsd, creditNanoUsd, spentNanoUsd }) => [balanceNanoUsd, creditNanoUsd, spentNanoUsd]),
    ),
    held: columnPlaces(shown.map(({ heldNanoUsd }) => heldNanoUsd)),
  };
  return html`<div class="table-box">
      <table class="table cards">
        <caption class="vh">
          Accounts with what they have and what was spent
        </caption>
        <thead>
          <tr>
            ${ACCOUNT_COLUMNS.map((column) => renderHeading(column, query))}${
              granting.size === 0 ? NOTHING : html`<th scope="col"><span class="vh">Actions</span></th>`
            }
          </tr>
        </thead>
        <tbody>
          ${shown.map((each) => html`${renderRow(each, places)}${renderGrantLink(each, granting)}</tr>`)}
        </tbody>
      </table>
    </div>
    ${pages === 1 ? NOTHING : renderPager({ ...query, page }, pages)}`;
}

function renderHeading(column: AccountColumn, query: AccountsQuery): Html {
  const current = query.column === column;
  // amounts are looked for from the largest
  const descending = current ? !query.descending : column !== 'name' && column !== 'status';
  return html`<th
    scope="col"
    ${NUMERIC.has(column) ? html`class="num"` : NOTHING}
    ${current ? html`aria-sort="${query.descending ? 'descending' : 'ascending'}"` : NOTHING}
  >
    <a href="${accountsPath({ ...query, column, descending, page: 1 })}">${TITLES[column]}</a>
  </th>`;
}

function renderRow(line: AccountLine, { money, held }: Readonly<Record<'money' | 'held', number>>): Html {
  const { account, balanceNanoUsd, creditNanoUsd, spentNanoUsd, heldNanoUsd, keys } = line;
  const { namespace, name } = account.metadata;
  const [spent, credit] = [spentNanoUsd, creditNanoUsd];
  const tone = spent >= credit ? 'bad' : spent * 5n >= credit * 4n ? 'warn' : 'plain';
  return html`<tr>
    <th scope="row" class="main">
      <a href="${accountPath(account.metadata)}"><bdi>${name}</bdi></a
      ><small><bdi>${namespace}</bdi></small>
    </th>
    <td data-label="Status">${renderStatusMark(line.finding)}</td>
    <td class="num" data-label="Balance">${renderBalance(balanceNanoUsd, money)}</td>
    <td class="num" data-label="Credit">${renderUsd(creditNanoUsd, money)}</td>
    <td data-label="Spent of credit">
      <div class="meter">
        <div>${renderUsd(spent, money)}</div>
        ${renderBar({ part: spent, whole: credit, tone })}
      </div>
    </td>
    <td class="num" data-label="Held now">${renderUsd(heldNanoUsd, held)}</td>
    <td class="num" data-label="Keys">${formatCount(keys)}</td>
  </tr>`;
}

/** Opens the account with its dialog. */
function renderGrantLink({ account: { metadata } }: AccountFacts, granting: ReadonlySet<string>): Html {
  if (granting.size === 0) return NOTHING;
  return html`<td class="cell-actions">
    ${
      granting.has(metadata.namespace)
        ? html`<a
            class="button small"
            href="${accountPath(metadata, undefined, { credit: 'grant' })}"
            aria-label="Grant credit to ${namespacedName(metadata)}"
            >Grant credit</a
          >`
        : NOTHING
    }
  </td>`;
}

function renderPager(query: AccountsQuery, pages: number): Html {
  const link = (page: number, label: string): Html =>
    html`<a class="button small" href="${accountsPath({ ...query, page })}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">
    <p>Page ${formatCount(query.page)} of ${formatCount(pages)}</p>
    <div class="actions">
      ${query.page > 1 ? link(query.page - 1, 'Previous') : NOTHING}
      ${query.page < pages ? link(query.page + 1, 'Next') : NOTHING}
    </div>
  </nav>`;
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
  return html`<section class="section" aria-labelledby="lone-keys">
    <h2 id="lone-keys">Keys of accounts that you may not see</h2>
    <ul class="lone-keys">
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
    }
  </section>`;
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
