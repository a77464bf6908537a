/** The calls behind a column or a name of Usage, over all that a person may see, and the same as CSV. */
import { Type } from 'typebox';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import type { CallPage, SpendingSums } from '../data/usage.ts';
import { CALLS_PATH as PATH, periodText, renderFilterForm, shownParameters } from './filter-form.ts';
import { callsFile } from '../queries/calls-csv.ts';
import { outputLabelOf } from '../queries/output-label.ts';
import { groupNames, modelNames } from '../queries/names.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { parseUsageQuery, USAGE_QUERY } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { callQueryOf, keyNamesOf, loneKeyName, readScope } from '../queries/usage-scope.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { REFUSED, renderCallsTable } from '../components/calls-table.ts';
import { seesMargins } from '../queries/margins.ts';
import { withParameters } from '../paths.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';
import { sumText } from '../components/usage-chart.ts';
import { usageHead } from './head.ts';
import { olderPager } from '../components/pager.ts';

const PAGE_SIZE = 50;
const CALLS_QUERY = Type.Object({ ...USAGE_QUERY.properties, before: queryText() });

type CallsRequest = PageRequest<{ readonly query: typeof CALLS_QUERY }>;

async function showCalls(request: CallsRequest): Promise<HandlerResult> {
  const {
    deps: { usage },
    nowMs,
  } = request;
  const query = parseUsageQuery(request.query, nowMs);
  if (request.query.status === REFUSED) return { redirect: withParameters('/usage/refused', shownParameters(query)) };
  const [scope, margins] = await Promise.all([readScope(request), seesMargins(request)]);
  const { before } = request.query;
  const asked = callQueryOf(scope, query);
  const found =
    usage &&
    (await Promise.all([
      usage.page(asked, { size: PAGE_SIZE, ...(before !== undefined && { before }) }),
      usage.sums(asked),
    ]));
  const kept = shownParameters(query);
  const lede = 'Each call with its tokens and its cost, the newest first.';
  const body = html`${usageHead({ page: 'calls', title: 'Calls', lede, margins, kept })}
  ${
    found
      ? await renderCalls(request, { query, scope, before, margins, page: found[0], sums: found[1] })
      : renderLedgerNotice('Missing')
  }`;
  return { page: { title: 'Calls · Usage', active: 'usage', body, styles: ['usage.css'] } };
}

interface Found {
  readonly query: UsagePageQuery;
  readonly scope: UsageScope;
  readonly before: string | undefined;
  readonly margins: boolean;
  readonly page: CallPage;
  readonly sums: SpendingSums;
}

async function renderCalls(
  request: Pick<PageRequest, 'deps' | 'person'>,
  { query, scope, before, margins, page, sums }: Found,
): Promise<Html> {
  const { deps } = request;
  const groups = groupNames(deps);
  const models = modelNames(deps.resources().modelRoutes);
  return html`${renderRanges(PATH, query, {})}
    ${renderFilterForm({ path: PATH, query, scope, groups: await seenGroupNames(request), models, kept: {} })}
    ${renderMissing(page, query.sinceMs)}
    <div class="bar-line">
      <p><b>${sumText(sums.all)}</b> · ${periodText(query)}</p>
      <p><a href="${withParameters('/usage/calls.csv', shownParameters(query))}">Download as CSV</a></p>
    </div>
    ${
      page.calls.length === 0
        ? html`<p class="none">${before === undefined ? 'No call matches.' : 'There are no older calls.'}</p>`
        : renderCallsTable(page.calls, {
            names: keyNamesOf(scope),
            groups,
            made: outputLabelOf(deps),
            margins,
            keyOf: ({ keyUid }) => loneKeyName(scope, keyUid),
            showAccounts: scope.accounts.length > 1,
            from: withParameters(PATH, { ...shownParameters(query), before: before ?? '' }),
          })
    }
    ${renderPager(query, before, page)}`;
}

function renderPager(query: UsagePageQuery, before: string | undefined, { next }: CallPage): Html {
  const parameters = shownParameters(query);
  return olderPager({
    newest: before === undefined ? undefined : withParameters(PATH, parameters),
    older: next === undefined ? undefined : withParameters(PATH, { ...parameters, before: next }),
  });
}

async function downloadCalls(request: CallsRequest): Promise<HandlerResult> {
  const {
    deps: { usage },
    nowMs,
  } = request;
  if (!usage) return showCalls(request);
  const query = callQueryOf(await readScope(request), parseUsageQuery(request.query, nowMs));
  return { file: await callsFile(request, 'calls.csv', { usage, query }) };
}

export const usageCallsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, query: CALLS_QUERY, handle: showCalls }),
  route({ method: 'GET', path: '/usage/calls.csv', query: CALLS_QUERY, handle: downloadCalls }),
];
