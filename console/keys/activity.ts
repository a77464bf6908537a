/** A key's spending over time, its refused calls and its calls, newest first, for everybody who may read the key. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { DONE_QUERY, keyTabPage } from './tabs.ts';
import { requestedKey } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import type { CallPage, Series } from '../data/usage.ts';
import { outputLabelOf } from '../queries/output-label.ts';
import { groupNames } from '../queries/names.ts';
import { kindOf, parseUsageQuery, USAGE_QUERY } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { renderCallsTable } from '../components/calls-table.ts';
import { readRefusals } from '../queries/refusals.ts';
import { renderRefusalSection } from '../components/refusals.ts';
import { callQueryOf, keyNames } from '../queries/visible-calls.ts';
import type { VisibleCalls } from '../queries/visible-calls.ts';
import { accountPath, withParameters, keyPath } from '../paths.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';
import { renderUsageChart } from '../components/usage-chart.ts';
import { section } from '../components/page.ts';
import { olderPager } from '../components/pager.ts';

const ACTIVITY_QUERY = Type.Object({
  ...USAGE_QUERY.properties,
  ...DONE_QUERY.properties,
  before: queryText(),
});

type ActivityRequest = KeyRequest & PageRequest<{ readonly query: typeof ACTIVITY_QUERY }>;

export const keyActivityRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/keys/:namespace/:name/activity',
    params: OBJECT,
    query: ACTIVITY_QUERY,
    handle: showActivity,
  }),
];

const PAGE_SIZE = 25;
const LATEST_REFUSED = 5;

async function showActivity(request: ActivityRequest): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const { namespace, name } = apiKey.metadata;
  const ref = { namespace, name: apiKey.spec.accountRef.name };
  const visible: VisibleCalls = { ref, account: undefined, key: apiKey, unknownKey: undefined };
  const query: UsagePageQuery = {
    ...parseUsageQuery(request.query, request.nowMs),
    key: `${namespace}/${name}`,
    uid: '',
    by: 'model',
  };
  const [found, names, refusals] = await Promise.all([
    readActivity(request, visible, query),
    keyNames(visible, request),
    readRefusals(request, callQueryOf(visible), LATEST_REFUSED),
  ]);
  const body = html`${
    typeof found === 'string'
      ? renderLedgerNotice(found)
      : renderSpending(request, { apiKey, query, series: found.series })
  }
  ${renderRefusalSection(refusals, { ref, names, key: name })}
  ${typeof found === 'string' ? NOTHING : renderCalls(request, { visible, names, calls: found.calls })}`;
  return keyTabPage(request, apiKey, { tab: 'activity', body });
}

interface Activity {
  readonly series: Series;
  readonly calls: CallPage;
}

/** If the ledger does not answer, the rest of the page is still shown. */
async function readActivity(
  { deps: { usage }, query: { before } }: ActivityRequest,
  visible: VisibleCalls,
  query: UsagePageQuery,
): Promise<Activity | 'Missing' | 'Unavailable'> {
  if (!usage) return 'Missing';
  const asked = callQueryOf(visible);
  try {
    const [series, calls] = await Promise.all([
      usage.series({ ...asked, sinceMs: query.sinceMs, untilMs: query.untilMs }, kindOf(query)),
      usage.page(asked, { size: PAGE_SIZE, ...(before !== undefined && { before }) }),
    ]);
    return { series, calls };
  } catch (error) {
    if (error instanceof LedgerUnavailable) return 'Unavailable';
    throw error;
  }
}

interface SpendingView {
  readonly apiKey: ApiKey;
  readonly query: UsagePageQuery;
  readonly series: Series;
}

function renderSpending({ deps }: ActivityRequest, { apiKey, query, series }: SpendingView): Html {
  const {
    metadata: { uid = '', name },
    spec,
  } = apiKey;
  const key = { id: query.key, name, account: `${apiKey.metadata.namespace}/${spec.accountRef.name}`, lone: true };
  const scope = { accounts: [], keys: new Map([[uid, key]]), recorded: new Map(), truncated: false };
  // the path names the key already
  const ranges = renderRanges(keyPath(apiKey, 'activity'), { ...query, key: '' }, {});
  return html`${ranges} ${renderMissing(series, query.sinceMs)}
  ${
    series.sums.length === 0
      ? html`<p class="none">No calls with this key in this time.</p>`
      : renderUsageChart({ query, series, names: { scope, groups: groupNames(deps) } })
  }`;
}

interface CallsView {
  readonly visible: VisibleCalls;
  readonly names: ReadonlyMap<string, string>;
  readonly calls: CallPage;
}

function renderCalls({ deps, path, query }: ActivityRequest, { visible: { ref, key }, names, calls }: CallsView): Html {
  const name = key?.metadata.name ?? '';
  const older = query.before !== undefined;
  if (calls.calls.length === 0) return older ? html`<p class="none">There are no older calls.</p>` : NOTHING;
  const beside = html`<p>
    <a href="${accountPath(ref, 'calls', { key: name })}">Filter calls</a> ·
    <a href="${accountPath(ref, 'calls.csv', { key: name })}">Download as CSV</a>
  </p>`;
  const kept = { range: query.range ?? '' };
  return section(
    { id: 'calls', title: 'Calls', beside },
    html`${renderCallsTable(calls.calls, {
      names,
      groups: groupNames(deps),
      made: outputLabelOf(deps),
      keyOf: () => name,
      from: path,
    })}
    ${olderPager({
      newest: older ? withParameters(path, kept) : undefined,
      older: calls.next === undefined ? undefined : withParameters(path, { ...kept, before: calls.next }),
    })}`,
  );
}
