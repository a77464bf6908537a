/** Billed amounts, costs and margins by model and channel, for people of the platform. */
import { formatCount, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { addedMargins } from '../data/add-sums.ts';
import type { Margins } from '../data/usage.ts';
import { periodText, renderFilterForm, shownParameters } from './filter-form.ts';
import { groupNames, modelNames } from '../queries/names.ts';
import { parseUsageQuery, viewParameters } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import { seesMargins } from '../queries/margins.ts';
import { withParameters } from '../paths.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';

type MarginSum = Margins['sums'][number];

const PATH = '/usage/margins';

async function showMargins(request: PageRequest): Promise<HandlerResult> {
  if (!(await seesMargins(request)))
    throw new AccessError('NotFound', 'Margins are shown where a channel states its cost, to people of the platform.');
  const {
    deps,
    deps: { usage },
    nowMs,
  } = request;
  const query = parseUsageQuery(request.query, nowMs);
  const scope = await readScope(request);
  const margins = await usage?.margins(callQueryOf(scope, query));
  const names = { scope, groups: groupNames(deps) };
  const models = modelNames(deps.resources().modelRoutes);
  const back = withParameters('/usage', { ...shownParameters(query), ...viewParameters(query) });
  const body = html`<div class="page-head">
      <div>
        <nav class="crumbs" aria-label="Where you are">
          <ol>
            <li><a href="${back}">Usage</a></li>
          </ol>
        </nav>
        <h1>Margins</h1>
        <p class="lede">
          What was billed, and what it cost the platform, as the channels state their cost. Only people of the platform
          see this page.
        </p>
      </div>
    </div>
    <div class="toolbar usage-range">${renderRanges(PATH, query, {})}</div>
    ${renderFilterForm({ path: PATH, query, names, models, kept: {} })}
    ${
      margins
        ? html`${renderMissing(margins, query.sinceMs)}
            <div class="bar-line">
              <p>${periodText(query)}</p>
            </div>
            ${renderTable(margins)}`
        : renderLedgerNotice('Missing')
    }`;
  return { page: { title: 'Margins · Usage', active: 'usage', body, styles: ['usage.css'] } };
}

function renderTable({ sums }: Margins): Html {
  const [first, ...rest] = sums;
  if (!first) return html`<p class="none">No calls in this time.</p>`;
  const all = rest.reduce(addedMargins, first);
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Margins by model and channel">
    <table class="table cards">
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Channel</th>
          <th scope="col" class="num">Calls</th>
          <th scope="col" class="num">Billed</th>
          <th scope="col" class="num">Upstream</th>
          <th scope="col" class="num">Margin</th>
        </tr>
      </thead>
      <tbody>
        ${sums.map(
          (sum) =>
            html`<tr>
              <th scope="row" class="main"><bdi>${sum.model}</bdi></th>
              <td data-label="Channel"><code>${sum.channel}</code></td>
              ${renderFigures(sum)}
            </tr>`,
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" class="main">All</th>
          <td></td>
          ${renderFigures(all)}
        </tr>
      </tfoot>
    </table>
  </div>`;
}

function renderFigures({ calls, billedNanoUsd, known }: MarginSum): Html {
  const margin = known.billedNanoUsd - known.upstreamNanoUsd;
  const unknown = html`<span class="soft">unknown</span>`;
  return html`<td data-label="Calls" class="num">${formatCount(calls)}</td>
    <td data-label="Billed" class="num">${renderUsd(billedNanoUsd, 6)}</td>
    <td data-label="Upstream" class="num">
      ${known.calls === 0 ? unknown : renderUsd(known.upstreamNanoUsd, 6)}${
        known.calls > 0 && known.calls < calls ? html`<small>of ${pluralize(known.calls, 'call')}</small>` : NOTHING
      }
    </td>
    <td data-label="Margin" class="num">
      ${known.calls === 0 ? unknown : renderUsd(margin, 6)}${
        known.calls > 0 && known.billedNanoUsd > 0n
          ? html`<small>${(Number((margin * 1000n) / known.billedNanoUsd) / 10).toFixed(1)} %</small>`
          : NOTHING
      }
    </td>`;
}

export const usageMarginsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: PATH, handle: showMargins }];
