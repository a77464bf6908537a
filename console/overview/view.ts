/** [P] The first page: balances, spending, keys that need attention, and channels that fail. */
import { pluralize, renderBalance, renderRemaining, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { factsOf } from '../queries/key-facts.ts';
import type { KeyStatusFinding } from '../queries/key-status.ts';
import { errorRate, failureText } from '../queries/channel-health.ts';
import type { ChannelHealth } from '../queries/channel-health.ts';
import type { MonthSummary } from '../queries/forecast.ts';
import { renderStatusDot } from '../components/status-mark.ts';
import type { AccountFacts } from '../queries/account-facts.ts';
import type { AccountStatusFinding } from '../queries/account-status.ts';
import { accountPath, keyPath } from '../paths.ts';
import { renderLedgerNotice } from '../components/ledger-notice.ts';
import { renderMonthSummary } from '../components/usage-chart.ts';
import { pageHead, section } from '../components/page.ts';
import { table } from '../components/table.ts';

export interface AccountLine {
  readonly facts: AccountFacts;
  readonly status: AccountStatusFinding;
}

export interface KeyLine {
  readonly apiKey: ApiKey;
  readonly status: KeyStatusFinding;
}

export interface Overview {
  /** The worst first. */
  readonly accounts: readonly AccountLine[];
  /** Keys that refuse calls or soon will, the worst first. */
  readonly keys: readonly KeyLine[];
  /** How many the person sees. */
  readonly allKeys: number;
  readonly spending: MonthSummary | 'Missing' | 'Unavailable';
  /** Channels with failures in the last five minutes; undefined: the person may not see routes. */
  readonly failing: readonly ChannelHealth[] | undefined;
  /** The gateway's address; undefined: not configured. */
  readonly gatewayUrl: string | undefined;
}

const SHOWN = 8;

export function renderOverview(overview: Overview): Html {
  const { spending, failing } = overview;
  return html`${pageHead({ title: 'Overview' })}
    ${section(
      { id: 'spent', title: 'Spending', beside: link('/usage', 'Usage') },
      typeof spending === 'string' ? renderLedgerNotice(spending) : renderMonthSummary(spending),
    )}
    <div class="split">${renderBalances(overview)} ${renderKeys(overview)}</div>
    ${failing === undefined ? NOTHING : renderFailing(failing)} ${renderLinks(overview)}`;
}

function link(path: string, label: string): Html {
  return html`<p><a href="${path}">${label}</a></p>`;
}

function renderLinks({ failing, gatewayUrl }: Overview): Html {
  return section(
    { id: 'more', title: 'More' },
    html`<ul>
      <li><a href="/models">Models and prices</a></li>
      <li><a href="/groups">Groups</a></li>
      ${failing === undefined ? NOTHING : html`<li><a href="/routes">Routes and the status of channels</a></li>`}${
        gatewayUrl === undefined
          ? NOTHING
          : html`<li><a href="${gatewayUrl}">The gateway's own page</a>, with its base URLs</li>`
      }
    </ul>`,
  );
}

function renderBalances({ accounts }: Overview): Html {
  const list = table<AccountLine>(
    [
      {
        title: 'Account',
        cell: ({ facts: { account } }) =>
          html`<a href="${accountPath(account.metadata)}"><bdi>${account.metadata.name}</bdi></a>
            <small><bdi>${account.metadata.namespace}</bdi></small>`,
      },
      { title: 'Status', cell: ({ status }) => renderStatusDot(status) },
      { title: 'Balance', num: true, cell: ({ facts: { balanceNanoUsd } }) => renderBalance(balanceNanoUsd) },
    ],
    accounts.slice(0, SHOWN),
    { label: 'Accounts', labelledBy: 'balances' },
  );
  return section(
    { id: 'balances', title: 'Balances', beside: link('/wallet', 'Wallet') },
    html`${accounts.length === 0 ? html`<p class="none">You may see no account.</p>` : list}
    ${renderMore(accounts.length, '/wallet', 'account')}`,
  );
}

function renderKeys({ keys, allKeys }: Overview): Html {
  const none = html`<p class="none">
    ${
      allKeys === 0
        ? html`You have no key yet. <a href="/keys/new">Create key</a>`
        : `None of ${pluralize(allKeys, 'key')} is near its limit or refuses calls.`
    }
  </p>`;
  const list = table<KeyLine>(
    [
      {
        title: 'Key',
        cell: ({ apiKey }) =>
          html`<a href="${keyPath(apiKey)}"><bdi>${apiKey.metadata.name}</bdi></a>
            <small><bdi>${apiKey.metadata.namespace}</bdi></small>`,
      },
      { title: 'Status', cell: ({ status }) => renderStatusDot(status) },
      { title: 'Remaining', num: true, cell: renderKeyRemaining },
    ],
    keys.slice(0, SHOWN),
    { label: 'Keys', labelledBy: 'near' },
  );
  return section(
    { id: 'near', title: 'Keys that need attention', beside: link('/keys', 'API keys') },
    html`${keys.length === 0 ? none : list} ${renderMore(keys.length, '/keys', 'key')}`,
  );
}

function renderKeyRemaining({ apiKey }: KeyLine): Html | string {
  const { remainingNanoUsd } = factsOf(apiKey);
  return remainingNanoUsd === undefined ? 'Unlimited' : renderRemaining(remainingNanoUsd);
}

function renderMore(count: number, path: string, word: string): Html {
  return count > SHOWN
    ? html`<p class="soft"><a href="${path}">And ${pluralize(count - SHOWN, `more ${word}`)}</a></p>`
    : NOTHING;
}

function renderFailing(failing: readonly ChannelHealth[]): Html {
  const list = table<ChannelHealth>(
    [
      { title: 'Channel', cell: ({ route, channel }) => html`<bdi>${route}/${channel.name}</bdi>` },
      { title: 'State', cell: ({ state }) => renderStatusDot(state) },
      { title: 'Errors', num: true, cell: ({ figures }) => (figures && errorRate(figures)) ?? '—' },
      {
        title: 'Last failure',
        cell: ({ figures }) =>
          figures?.lastFailure
            ? html`${failureText(figures.lastFailure.outcome)} <small>${renderTime(figures.lastFailure.atMs)}</small>`
            : '—',
      },
    ],
    failing.slice(0, SHOWN),
    { label: 'Channels', labelledBy: 'failing' },
  );
  return section(
    { id: 'failing', title: 'Failures by channel', beside: link('/routes', 'Routes') },
    failing.length === 0
      ? html`<p class="none">No channel has reported a failed call in the last five minutes.</p>`
      : list,
  );
}
