/** Billed amounts, costs and margins by model and channel, for people of the platform. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import type { MarginSum } from '#usage/tables.ts';
import type { Margins } from '../data/usage.ts';
import { marginColumns, MARGINS_ADD_UP } from '../components/margin-columns.ts';
import { periodText, renderFilterForm, shownParameters } from './filter-form.ts';
import { modelNames } from '../queries/names.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { parseUsageQuery, USAGE_QUERY } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import { seesMargins } from '../queries/margins.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';
import { usageHead } from './head.ts';
import { table } from '../components/table.ts';

const PATH = '/usage/margins';

async function showMargins(request: PageRequest<{ readonly query: typeof USAGE_QUERY }>): Promise<HandlerResult> {
  if (!(await seesMargins(request)))
    throw new AccessError('NotFound', 'Margins are shown where a channel states its cost, to people of the platform.');
  const {
    deps,
    deps: { usage },
    nowMs,
  } = request;
  const query = parseUsageQuery(request.query, nowMs);
  const scope = await readScope(request);
  const margins = await usage?.margins(callQueryOf(scope, query), ['model', 'channel']);
  const groups = await seenGroupNames(request);
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
  ${renderRanges(PATH, query, {})} ${renderFilterForm({ path: PATH, query, scope, groups, models, kept: {} })}
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
  if (sums.length === 0) return html`<p class="none">No calls in this time.</p>`;
  return html`${table<MarginSum>(
      [
        { title: 'Model', style: 'wrap', cell: ({ model }) => html`<bdi>${model}</bdi>`, foot: 'All' },
        { title: 'Channel', style: 'wrap', cell: ({ channel }) => html`<code>${channel}</code>` },
        ...marginColumns<MarginSum>((sum) => sum, { sums, margins: true }),
      ],
      sums,
      { label: 'Margins by model and channel', cards: true },
    )}
    <p class="soft">${MARGINS_ADD_UP}</p>`;
}

export const usageMarginsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, query: USAGE_QUERY, handle: showMargins }),
];
