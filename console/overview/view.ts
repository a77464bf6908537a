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
  const { spending, failing, gatewayUrl } = overview;
  return html`<div class="page-head">
      <div><h1>Overview</h1></div>
    </div>
    <section class="section" aria-labelledby="spent">
      <div class="section-head">
        <h2 id="spent">Spending</h2>
        <p><a href="/usage">Usage</a></p>
      </div>
      ${typeof spending === 'string' ? renderLedgerNotice(spending) : renderMonthSummary(spending)}
    </section>
    <div class="split">${renderBalances(overview)} ${renderKeys(overview)}</div>
    ${failing === undefined ? NOTHING : renderFailing(failing)}
    <section class="section" aria-labelledby="more">
      <h2 id="more">More</h2>
      <ul>
        <li><a href="/models">Models</a> and <a href="/prices">prices</a></li>
        <li><a href="/groups">Groups</a></li>
        ${failing === undefined ? NOTHING : html`<li><a href="/routes">Routes and the status of channels</a></li>`}${
          gatewayUrl === undefined
            ? NOTHING
            : html`<li><a href="${gatewayUrl}">The gateway's own page</a>, with its base URLs</li>`
        }
      </ul>
    </section>`;
}

function renderBalances({ accounts }: Overview): Html {
  return html`<section class="section" aria-labelledby="balances">
    <div class="section-head">
      <h2 id="balances">Balances</h2>
      <p><a href="/wallet">Wallet</a></p>
    </div>
    ${
      accounts.length === 0
        ? html`<p class="none">You may see no account.</p>`
        : html`<div class="table-box" tabindex="0" role="region" aria-label="Accounts">
            <table class="table" aria-labelledby="balances">
              <thead>
                <tr>
                  <th scope="col">Account</th>
                  <th scope="col">Status</th>
                  <th scope="col" class="num">Balance</th>
                </tr>
              </thead>
              <tbody>
                ${accounts.slice(0, SHOWN).map(
                  ({ facts: { account, balanceNanoUsd }, status }) =>
                    html`<tr>
                      <th scope="row">
                        <a href="${accountPath(account.metadata)}"><bdi>${account.metadata.name}</bdi></a>
                        <small><bdi>${account.metadata.namespace}</bdi></small>
                      </th>
                      <td>${renderStatusDot(status)}</td>
                      <td class="num">${renderBalance(balanceNanoUsd)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
    ${renderMore(accounts.length, '/wallet', 'account')}
  </section>`;
}

function renderKeys({ keys, allKeys }: Overview): Html {
  return html`<section class="section" aria-labelledby="near">
    <div class="section-head">
      <h2 id="near">Keys that need attention</h2>
      <p><a href="/keys">API keys</a></p>
    </div>
    ${
      keys.length === 0
        ? html`<p class="none">
            ${
              allKeys === 0
                ? html`You have no key yet. <a href="/keys/new">Create key</a>`
                : `None of ${pluralize(allKeys, 'key')} is near its limit or refuses calls.`
            }
          </p>`
        : html`<div class="table-box" tabindex="0" role="region" aria-label="Keys">
            <table class="table" aria-labelledby="near">
              <thead>
                <tr>
                  <th scope="col">Key</th>
                  <th scope="col">Status</th>
                  <th scope="col" class="num">Remaining</th>
                </tr>
              </thead>
              <tbody>
                ${keys.slice(0, SHOWN).map(renderKey)}
              </tbody>
            </table>
          </div>`
    }
    ${renderMore(keys.length, '/keys', 'key')}
  </section>`;
}

function renderKey({ apiKey, status }: KeyLine): Html {
  const { remainingNanoUsd } = factsOf(apiKey);
  return html`<tr>
    <th scope="row">
      <a href="${keyPath(apiKey)}"><bdi>${apiKey.metadata.name}</bdi></a>
      <small><bdi>${apiKey.metadata.namespace}</bdi></small>
    </th>
    <td>${renderStatusDot(status)}</td>
    <td class="num">${remainingNanoUsd === undefined ? 'Unlimited' : renderRemaining(remainingNanoUsd)}</td>
  </tr>`;
}

function renderMore(count: number, path: string, word: string): Html {
  return count > SHOWN
    ? html`<p class="soft"><a href="${path}">And ${pluralize(count - SHOWN, `more ${word}`)}</a></p>`
    : NOTHING;
}

function renderFailing(failing: readonly ChannelHealth[]): Html {
  return html`<section class="section" aria-labelledby="failing">
    <div class="section-head">
      <h2 id="failing">Failures by channel</h2>
      <p><a href="/routes">Routes</a></p>
    </div>
    ${
      failing.length === 0
        ? html`<p class="none">No channel has reported a failed call in the last five minutes.</p>`
        : html`<div class="table-box" tabindex="0" role="region" aria-label="Channels">
            <table class="table" aria-labelledby="failing">
              <thead>
                <tr>
                  <th scope="col">Channel</th>
                  <th scope="col">State</th>
                  <th scope="col" class="num">Errors</th>
                  <th scope="col">Last failure</th>
                </tr>
              </thead>
              <tbody>
                ${failing.slice(0, SHOWN).map(
                  ({ route, channel, state, figures }) =>
                    html`<tr>
                      <th scope="row"><bdi>${route}/${channel.name}</bdi></th>
                      <td>${renderStatusDot(state)}</td>
                      <td class="num">${(figures && errorRate(figures)) ?? '—'}</td>
                      <td>
                        ${
                          figures?.lastFailure
                            ? html`${failureText(figures.lastFailure.outcome)}
                                <small>${renderTime(figures.lastFailure.atMs)}</small>`
                            : '—'
                        }
                      </td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
  </section>`;
}
