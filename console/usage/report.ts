/** What calls cost over time, split by model, key, group or account. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import type { UsageStore } from '../data/usage.ts';
import { summarySince, monthSummary } from '../queries/forecast.ts';
import { groupNames, modelNames } from '../queries/names.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { kindOf, parseUsageQuery, USAGE_QUERY } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { renderUsage } from './report-view.ts';
import { seesMargins } from '../queries/margins.ts';
import { renderLedgerNotice } from '../components/ledger-notice.ts';
import { shownParameters } from './filter-form.ts';
import { usageHead } from './head.ts';

const DAY_MS = 86_400_000;

async function showUsage(request: PageRequest<{ readonly query: typeof USAGE_QUERY }>): Promise<HandlerResult> {
  const {
    deps: { usage },
    nowMs,
  } = request;
  const query = parseUsageQuery(request.query, nowMs);
  const [scope, margins] = await Promise.all([readScope(request), seesMargins(request)]);
  const body = html`${usageHead({
    page: 'report',
    title: 'Usage',
    margins,
    kept: shownParameters(query),
    lede: 'What calls cost, as the ledger has recorded them. Days begin at midnight, UTC.',
  })}
  ${usage ? await renderBody(request, { usage, query, scope }) : renderLedgerNotice('Missing')}`;
  return { page: { title: 'Usage', active: 'usage', body, styles: ['usage.css'] } };
}

interface Asked {
  readonly usage: UsageStore;
  readonly query: UsagePageQuery;
  readonly scope: UsageScope;
}

async function renderBody(request: PageRequest, { usage, query, scope }: Asked): Promise<Html> {
  const { deps, nowMs } = request;
  if (scope.accounts.length === 0 && scope.keys.size === 0)
    return html`<p class="none">You may see no account and no key yet. What they spend appears here.</p>`;
  const asked = callQueryOf(scope, query);
  const month = { ...asked, sinceMs: summarySince(nowMs), untilMs: (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS };
  try {
    const [series, days, groups] = await Promise.all([
      usage.series(asked, kindOf(query)),
      // the sums of days do not know groups
      usage.series(month, { by: query.group === '' ? 'Account' : 'Group', unit: 'Day' }),
      seenGroupNames(request),
    ]);
    return renderUsage({
      query,
      names: { scope, groups: groupNames(deps) },
      groups,
      models: modelNames(deps.resources().modelRoutes),
      series,
      figures: monthSummary(days.sums, nowMs),
    });
  } catch (error) {
    if (error instanceof LedgerUnavailable) return renderLedgerNotice('Unavailable');
    throw error;
  }
}

export const usageReportRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/usage', query: USAGE_QUERY, handle: showUsage }),
];
