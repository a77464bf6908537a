/** [P] What an edit of a PriceCatalog changes in money: the total, the sums that change, and the ten calls. */
import { formatCount, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { DIMENSIONS } from '../../dataplane/state/catalog-diff.ts';
import type { CatalogDiff, Change, Dimension } from '../../dataplane/state/catalog-diff.ts';
import { labelOf } from '../queries/names.ts';
import type { Names } from '../queries/names.ts';
import { callPath } from '../paths.ts';
import type { PriceChange } from './compute-change.ts';

const MOST_ROWS = 20;
/** Smaller totals need more places than those of cents to add up. */
const CENTS_FROM = 10n ** 9n;
const TITLES: Readonly<Record<Dimension, string>> = { model: 'Model', group: 'Group', account: 'Account', key: 'Key' };

/** `days` is how far back the calls go. */
export function renderPriceChange({ diff, remarks }: PriceChange, names: Names, days: number): Html {
  const { total, unpriced } = diff;
  const amounts = [total.oldNanoUsd, total.newNanoUsd, total.newNanoUsd - total.oldNanoUsd];
  const places = amounts.some((amount) => amount !== 0n && amount < CENTS_FROM && amount > -CENTS_FROM) ? 6 : 2;
  return html`<section class="section" aria-labelledby="change">
      <h2 id="change">What changes</h2>
      ${
        names.scope.truncated
          ? html`<div class="notice"><p>You may see more accounts or keys than this page adds up.</p></div>`
          : NOTHING
      }
      ${remarks.map((remark) => html`<div class="notice warn"><p>${remark}</p></div>`)}
      <dl class="figures">
        <div>
          <dt>Calls, last ${pluralize(days, 'day')}</dt>
          <dd>${formatCount(total.calls)}</dd>
        </div>
        <div>
          <dt>By today's prices</dt>
          <dd>${renderUsd(total.oldNanoUsd, places)}</dd>
        </div>
        <div>
          <dt>By the edited prices</dt>
          <dd>${renderUsd(total.newNanoUsd, places)}</dd>
        </div>
        <div>
          <dt>Change</dt>
          <dd>${renderSigned(total, places)}${renderPercent(total)}</dd>
        </div>
      </dl>
    </section>
    ${unpriced.length === 0 ? NOTHING : renderUnpriced(unpriced)}
    ${DIMENSIONS.map((dimension) => renderDimension(diff, dimension, names))} ${renderCalls(diff, names)}`;
}

function renderUnpriced(unpriced: CatalogDiff['unpriced']): Html {
  return html`<section class="section" aria-labelledby="unpriced">
    <h2 id="unpriced">Without a price</h2>
    <div class="notice warn">
      <p>The edited catalog has no price for what these calls used. New calls like them are refused.</p>
    </div>
    <table class="table">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col" class="num">Calls</th>
        </tr>
      </thead>
      <tbody>
        ${unpriced.slice(0, MOST_ROWS).map(
          ([what, calls]) =>
            html`<tr>
              <th scope="row" class="main">${what}</th>
              <td class="num">${formatCount(calls)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** Empty if no name's costs change. */
function renderDimension({ by }: CatalogDiff, dimension: Dimension, names: Names): Html {
  const changed = by[dimension].filter(([, { oldNanoUsd, newNanoUsd }]) => oldNanoUsd !== newNanoUsd);
  if (changed.length === 0) return NOTHING;
  const id = `by-${dimension}`;
  return html`<section class="section" aria-labelledby="${id}">
    <h2 id="${id}">By ${dimension}</h2>
    ${renderTable(
      [TITLES[dimension], 'Calls'],
      changed.slice(0, MOST_ROWS).map(
        ([name, change]) =>
          html`<tr>
            <th scope="row" class="main"><bdi>${labelOf(name, dimension, names)}</bdi></th>
            <td data-label="Calls" class="num">${formatCount(change.calls)}</td>
            ${renderFigures(change)}
          </tr>`,
      ),
    )}
    ${
      changed.length > MOST_ROWS
        ? html`<p class="soft">The ${MOST_ROWS} that change most, of ${formatCount(changed.length)}.</p>`
        : NOTHING
    }
  </section>`;
}

function renderCalls({ total, calls }: CatalogDiff, names: Names): Html {
  if (calls.length === 0)
    return total.calls === 0
      ? html`<p class="none">No calls in this time.</p>`
      : html`<p class="none">No call would have cost more or less.</p>`;
  return html`<section class="section" aria-labelledby="calls">
    <h2 id="calls">Calls that change most</h2>
    ${renderTable(
      ['Call', 'Model', 'Key'],
      calls.map((call) => {
        const [namespace = '', name = ''] = call.account.split('/');
        return html`<tr>
          <th scope="row" class="main">
            <a href="${callPath({ namespace, name }, call, undefined)}"><code>${call.callId}</code></a>
          </th>
          <td data-label="Model"><bdi>${call.model}</bdi></td>
          <td data-label="Key"><bdi>${labelOf(call.keyUid, 'key', names)}</bdi></td>
          ${renderFigures(call)}
        </tr>`;
      }),
    )}
  </section>`;
}

/** The named columns, then the three of the money. Columns that count are aligned as numbers. */
function renderTable(columns: readonly string[], rows: readonly Html[]): Html {
  const head = [...columns, 'Today', 'Edited', 'Change'];
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Changes by ${columns[0] ?? ''}">
    <table class="table cards">
      <thead>
        <tr>
          ${head.map(
            (column) =>
              html`<th scope="col" ${column === 'Calls' || !columns.includes(column) ? html`class="num"` : NOTHING}>
                ${column}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

function renderFigures(change: Change): Html {
  return html`<td data-label="Today" class="num">${renderUsd(change.oldNanoUsd, 6)}</td>
    <td data-label="Edited" class="num">${renderUsd(change.newNanoUsd, 6)}</td>
    <td data-label="Change" class="num">${renderSigned(change, 6)}${renderPercent(change)}</td>`;
}

function renderSigned({ oldNanoUsd, newNanoUsd }: Change, places: number): Html {
  const change = newNanoUsd - oldNanoUsd;
  return html`${change > 0n ? '+' : ''}${renderUsd(change, places)}`;
}

function renderPercent({ oldNanoUsd, newNanoUsd }: Change): Html {
  if (oldNanoUsd === 0n || newNanoUsd === oldNanoUsd) return NOTHING;
  const percent = Number(((newNanoUsd - oldNanoUsd) * 1000n) / oldNanoUsd) / 10;
  return html` <small>${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %</small>`;
}
