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
import { parseUsageQuery } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import { seesMargins } from '../queries/margins.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';
import { usageHead } from './head.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';

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
  const body = html`${usageHead({
    page: 'margins',
    margins: true,
    kept: shownParameters(query),
    title: 'Margins',
    lede:
      'What was billed, and what it cost the platform, as the channels state their cost. Only people of the platform ' +
      'see this page.',
  })}
  ${renderRanges(PATH, query, {})} ${renderFilterForm({ path: PATH, query, names, models, kept: {} })}
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
  const figure = (title: string, cell: (sum: MarginSum) => Html | string): Column<MarginSum> => ({
    title,
    num: true,
    cell,
    foot: cell(all),
  });
  return table<MarginSum>(
    [
      { title: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>`, foot: 'All' },
      { title: 'Channel', cell: ({ channel }) => html`<code>${channel}</code>` },
      figure('Calls', ({ calls }) => formatCount(calls)),
      figure('Billed', ({ billedNanoUsd }) => renderUsd(billedNanoUsd, 6)),
      figure('Upstream', renderUpstream),
      figure('Margin', renderMarginOf),
    ],
    sums,
    { label: 'Margins by model and channel', cards: true },
  );
}

const UNKNOWN = html`<span class="soft">unknown</span>`;

function renderUpstream({ calls, known }: MarginSum): Html {
  if (known.calls === 0) return UNKNOWN;
  return html`${renderUsd(known.upstreamNanoUsd, 6)}${
    known.calls < calls ? html`<small>of ${pluralize(known.calls, 'call')}</small>` : NOTHING
  }`;
}

function renderMarginOf({ known }: MarginSum): Html {
  if (known.calls === 0) return UNKNOWN;
  const margin = known.billedNanoUsd - known.upstreamNanoUsd;
  return html`${renderUsd(margin, 6)}${
    known.billedNanoUsd > 0n
      ? html`<small>${(Number((margin * 1000n) / known.billedNanoUsd) / 10).toFixed(1)} %</small>`
      : NOTHING
  }`;
}

export const usageMarginsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: PATH, handle: showMargins }];
