/** The refused calls of all that a person may see: counted by account and reason, and the latest with their words. */
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';
import { compareText } from '#web/compare-text.ts';
import { pluralize } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { notice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import { renderRanges } from '../components/ranges.ts';
import {
  REFUSAL_REASONS,
  refusalReason,
  renderCountTable,
  renderRefusedTable,
  renderUnread,
  sumOf,
} from '../components/refusals.ts';
import { selectFilter } from '../components/filters.ts';
import { seesMargins } from '../queries/margins.ts';
import { modelNames } from '../queries/names.ts';
import { readRefusalsOfAll } from '../queries/refusals.ts';
import type { Refusals } from '../queries/refusals.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { parseUsageQuery, USAGE_QUERY } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { callQueryOf, keyNamesOf, loneKeyName, readScope } from '../queries/usage-scope.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { withParameters } from '../paths.ts';
import { periodText, renderFilterForm, shownParameters } from './filter-form.ts';
import { usageHead } from './head.ts';

const PATH = '/usage/refused';
/** The latest, over all accounts. */
const MOST = 200;

async function showRefused(request: PageRequest<{ readonly query: typeof USAGE_QUERY }>): Promise<HandlerResult> {
  const query = parseUsageQuery(request.query, request.nowMs);
  const [scope, margins, groups] = await Promise.all([
    readScope(request),
    seesMargins(request),
    seenGroupNames(request),
  ]);
  const refusals = await readRefusalsOfAll(request, callQueryOf(scope, query), {
    most: MOST,
    matches: (entry) => isAsked(entry, query) && (query.model === '' || entry.model === query.model),
  });
  const models = modelNames(request.deps.resources().modelRoutes);
  const body = html`${usageHead({
    page: 'refused',
    title: 'Refused calls',
    lede: 'Calls that were refused before they cost anything, with what the API said.',
    margins,
    kept: shownParameters(query),
  })}
  ${renderRanges(PATH, query, reasonParameter(query))}
  ${renderFilterForm({
    path: PATH,
    query,
    scope,
    groups,
    models,
    kept: {},
    status: renderReasonFilter(query),
  })}
  ${renderRefusals(refusals, { query, scope })}`;
  return { page: { title: 'Refused calls · Usage', active: 'usage', body, styles: ['usage.css'] } };
}

function isAsked({ errorCode }: { readonly errorCode?: string | undefined }, { reason }: UsagePageQuery): boolean {
  return reason === '' || refusalReason(errorCode) === reason;
}

function renderReasonFilter({ reason }: UsagePageQuery): Html {
  return selectFilter({
    label: 'Reason',
    name: 'reason',
    all: 'All',
    options: REFUSAL_REASONS.map((each) => [each, each]),
    chosen: reason,
  });
}

function reasonParameter({ reason }: UsagePageQuery): Record<string, string> {
  return { reason };
}

interface Shown {
  readonly query: UsagePageQuery;
  readonly scope: UsageScope;
}

function renderRefusals(refusals: Refusals, { query, scope }: Shown): Html {
  if (typeof refusals === 'string') return renderUnread(refusals);
  const { counts, latest } = refusals;
  return html`${query.group === '' && query.channel === '' ? NOTHING : NO_GROUPS}
  ${renderCounts(
    counts.filter((count) => isAsked(count, query)),
    query,
  )}
  ${section(
    { id: 'latest-refused', title: 'Latest', beside: 'The latest of each key, for seven days' },
    latest.length === 0
      ? html`<p class="none">No refused call that is kept matches.</p>`
      : renderLatest(latest, { query, scope }),
  )}`;
}

const NO_GROUPS = notice('A refused call has neither group nor channel, so these filters have no effect here.');

/** The counts know neither models nor hours, so they are left out where one of these is asked for. */
function renderCounts(counts: readonly RefusalCount[], query: UsagePageQuery): Html {
  if (query.model !== '') return html`<p class="soft">Refused calls are counted by reason, and not by model.</p>`;
  const accounts = [...Map.groupBy(counts, ({ account }) => account)]
    .map(([account, some]) => ({ account, calls: sumOf(some) }))
    .sort((a, b) => b.calls - a.calls || compareText(a.account, b.account));
  return html`<div class="bar-line">
      <p><b>${pluralize(sumOf(counts), 'refused call')}</b> · ${periodText(query)}</p>
    </div>
    ${
      accounts.length === 0
        ? NOTHING
        : renderCountTable(counts, {
            rows: accounts,
            heading: { title: 'Account', cell: ({ account }) => renderAccount(account, query) },
            isOf: (count, { account }) => count.account === account,
            label: 'Refused calls by account and reason',
          })
    }`;
}

function renderAccount(account: string, query: UsagePageQuery): Html {
  const href = withParameters(PATH, { ...shownParameters({ ...query, account }), ...reasonParameter(query) });
  return html`<a href="${href}"><bdi>${account}</bdi></a>`;
}

function renderLatest(latest: readonly ActivityEntry[], { query, scope }: Shown): Html {
  return renderRefusedTable(latest, {
    names: keyNamesOf(scope),
    keyOf: ({ keyUid }) => loneKeyName(scope, keyUid),
    showAccounts: scope.accounts.length > 1,
    from: withParameters(PATH, { ...shownParameters(query), ...reasonParameter(query) }),
  });
}

export const usageRefusedRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, query: USAGE_QUERY, handle: showRefused }),
];
