/** A month by account and model, or by other names: a table that adds up, the same as CSV, and for print. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import { csvLine, usd } from '#usage/csv.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import type { MarginSum } from '#usage/tables.ts';
import { addAllMargins } from '../data/add-sums.ts';
import type { Margins, UsageStore } from '../data/usage.ts';
import { filters, selectFilter } from '../components/filters.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { marginColumns, marginOf, MARGINS_ADD_UP } from '../components/margin-columns.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';
import {
  closesAtMs,
  listedMonths,
  MARGIN_NAMES,
  MONTH_QUERY,
  MONTH_SPLITS,
  monthParameters,
  parseMonthQuery,
} from '../queries/month-query.ts';
import type { MonthQuery, MonthSplit } from '../queries/month-query.ts';
import { seesMargins } from '../queries/margins.ts';
import { filterOf, groupNames, labelOf, modelNames } from '../queries/names.ts';
import type { Names } from '../queries/names.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { filterParameters } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { withParameters } from '../paths.ts';
import { callFilters, renderTruncated } from './filter-form.ts';
import type { CallFilters } from './filter-form.ts';
import { usageHead } from './head.ts';

const PATH = '/usage/months';

type MonthRequest = PageRequest<{ readonly query: typeof MONTH_QUERY }>;

const TITLES: Readonly<Record<MonthSplit, string>> = {
  account: 'Account',
  model: 'Model',
  key: 'Key',
  group: 'Group',
  labels: 'Labels',
};
const NO_LABELS = 'No labels';

interface Month {
  readonly query: MonthQuery;
  readonly names: Names;
  /** Names of the groups that can be chosen. */
  readonly groups: ReadonlyMap<string, string>;
  readonly margins: boolean;
  readonly found: Margins;
  /** Its sums are complete, and change no more. */
  readonly isFinal: boolean;
}

async function showMonth(request: MonthRequest): Promise<HandlerResult> {
  const query = parseMonthQuery(request.query, request.nowMs);
  const month = await readMonth(request, query);
  const margins = typeof month === 'string' ? await seesMargins(request) : month.margins;
  const body = html`${usageHead({
    page: 'months',
    title: 'Months',
    lede: 'What a month cost, as the ledger has recorded it. Months begin at midnight, UTC.',
    margins,
    kept: filterParameters(query),
  })}
  ${typeof month === 'string' ? renderLedgerNotice(month) : renderMonth(month, request)}`;
  return { page: { title: `${query.month} · Usage`, active: 'usage', body, styles: ['usage.css'] } };
}

async function readMonth(request: MonthRequest, query: MonthQuery): Promise<Month | 'Missing' | 'Unavailable'> {
  const {
    deps,
    deps: { usage },
    nowMs,
  } = request;
  if (!usage) return 'Missing';
  const [scope, margins, groups] = await Promise.all([
    readScope(request),
    seesMargins(request),
    seenGroupNames(request),
  ]);
  try {
    const found = await usage.margins(callQueryOf(scope, query), marginNames(query));
    const isWhole = found.wholeSinceMs <= query.sinceMs && !scope.truncated;
    const isFinal = nowMs >= closesAtMs(query) && isWhole && !(await isRunning(usage, query, scope));
    return { query, names: { scope, groups: groupNames(deps) }, groups, margins, found, isFinal };
  } catch (error) {
    if (error instanceof LedgerUnavailable) return 'Unavailable';
    throw error;
  }
}

/** Jobs run for hours, and may be refunded until they end. */
async function isRunning(usage: UsageStore, query: MonthQuery, scope: UsageScope): Promise<boolean> {
  const asked = callQueryOf(scope, { ...query, status: 'Running' });
  return (await usage.sums(asked)).all.calls > 0;
}

function marginNames({ rows, by }: MonthQuery): (typeof MARGIN_NAMES)[MonthSplit][] {
  return [rows, ...(by === undefined ? [] : [by])].map((split) => MARGIN_NAMES[split]);
}

function renderMonth(month: Month, { deps, nowMs }: MonthRequest): Html {
  const { query, names, groups, found, isFinal } = month;
  const csv = withParameters(`${PATH}.csv`, { ...filterParameters(query), ...monthParameters(query) });
  return html`${renderForm(query, { scope: names.scope, groups, models: modelNames(deps.resources().modelRoutes), nowMs })}
    ${renderTruncated(names.scope)} ${renderMissing(found, query.sinceMs)}
    <div class="bar-line">
      <p><b>${query.month}</b> · ${isFinal ? html`<span class="badge">Final</span>` : openWords(month, nowMs)}</p>
      <p><a href="${csv}">Download as CSV</a></p>
    </div>
    ${found.sums.length === 0 ? html`<p class="none">No calls in this month.</p>` : renderTable(month)}`;
}

function openWords({ query, names, found }: Month, nowMs: number): string {
  const closes = new Date(closesAtMs(query)).toISOString().slice(0, 10);
  if (nowMs < closesAtMs(query)) return `not final before ${closes}`;
  return found.wholeSinceMs > query.sinceMs || names.scope.truncated
    ? 'not final: some of its calls are missing here'
    : 'not final: calls of it are still running';
}

interface FormContext extends Omit<CallFilters, 'query'> {
  readonly nowMs: number;
}

function renderForm(query: MonthQuery, { nowMs, ...choices }: FormContext): Html {
  const splits = MONTH_SPLITS.map((split) => [split, TITLES[split]] as const);
  const { uid, channel } = query;
  return filters({ action: PATH, label: 'Month', style: 'usage-filters', button: 'Show', kept: { uid, channel } }, [
    selectFilter({
      label: 'Month (UTC)',
      name: 'month',
      options: listedMonths(query, nowMs).map((month) => [month, month]),
      chosen: query.month,
    }),
    selectFilter({ label: 'By', name: 'rows', options: splits, chosen: query.rows }),
    selectFilter({
      label: 'And by',
      name: 'by',
      options: [...splits, ['none', 'Nothing else']],
      chosen: query.by ?? 'none',
    }),
    ...callFilters({ query, ...choices }),
  ]);
}

/** A line of the table: of one name, or of two. */
interface Line {
  readonly sum: MarginSum;
  /** It adds up the lines above it that have the same first name. */
  readonly isSum: boolean;
}

/** The most expensive first, and within each of them the same; each with its sum, where it has several lines. */
function linesOf(sums: readonly MarginSum[], { rows, by }: MonthQuery): Line[] {
  const parts = [...Map.groupBy(sums, (sum) => sum[MARGIN_NAMES[rows]]).values()]
    .map((some) => ({ some, all: addAllMargins(some) }))
    .sort((a, b) => Number((b.all?.billedNanoUsd ?? 0n) - (a.all?.billedNanoUsd ?? 0n)));
  return parts.flatMap(({ some, all }) => {
    const lines = some
      .toSorted((a, b) => Number(b.billedNanoUsd - a.billedNanoUsd) || b.calls - a.calls)
      .map((sum): Line => ({ sum, isSum: false }));
    return by === undefined || lines.length < 2 || !all ? lines : [...lines, { sum: all, isSum: true }];
  });
}

function renderTable(month: Month): Html {
  const { query, found, margins } = month;
  const { rows, by } = query;
  return html`${table<Line>(
    [
      { title: TITLES[rows], cell: ({ sum }) => nameCell(sum, rows, month), foot: 'All' },
      ...(by === undefined ? [] : [splitColumn(by, month)]),
      ...marginColumns<Line>(({ sum }) => sum, { sums: found.sums, margins }),
    ],
    linesOf(found.sums, query),
    {
      label: `Usage of ${query.month}`,
      caption: `${query.month} by ${TITLES[rows].toLowerCase()}${by === undefined ? '' : ` and ${TITLES[by].toLowerCase()}`}`,
      cards: true,
      style: 'month',
      row: ({ isSum }) => (isSum ? html`class="sum"` : NOTHING),
    },
  )}
  ${margins ? html`<p class="soft">${MARGINS_ADD_UP}</p>` : NOTHING}`;
}

function splitColumn(by: MonthSplit, month: Month): Column<Line> {
  return {
    title: TITLES[by],
    style: 'wrap',
    cell: ({ sum, isSum }) => (isSum ? 'All' : nameCell(sum, by, month)),
  };
}

/** The name, which leads to its calls. */
function nameCell(sum: MarginSum, split: MonthSplit, { query, names }: Month): Html {
  const name = sum[MARGIN_NAMES[split]];
  if (split === 'labels') return name === '' ? html`<span class="soft">${NO_LABELS}</span>` : html`<bdi>${name}</bdi>`;
  const [since, until] = [query.sinceMs, query.untilMs - 1].map((ms) => new Date(ms).toISOString().slice(0, 10));
  const href = withParameters('/usage/calls', {
    ...filterParameters({ ...query, ...filterOf(name, split, names) }),
    since: since ?? '',
    until: until ?? '',
  });
  return html`<a href="${href}"><bdi>${labelOf(name, split, names)}</bdi></a>`;
}

async function downloadMonth(request: MonthRequest): Promise<HandlerResult> {
  const query = parseMonthQuery(request.query, request.nowMs);
  const month = await readMonth(request, query);
  if (typeof month === 'string') return showMonth(request);
  return {
    file: { name: `usage-${query.month}.csv`, contentType: 'text/csv; charset=utf-8', content: csvOf(month) },
  };
}

function csvOf({ query, names, margins, found, isFinal }: Month): string {
  const splits = [query.rows, ...(query.by === undefined ? [] : [query.by])];
  const named = (sum: MarginSum, split: MonthSplit): string => {
    const name = sum[MARGIN_NAMES[split]];
    return split === 'labels' ? name : labelOf(name, split, names);
  };
  const lines = linesOf(found.sums, query).filter(({ isSum }) => !isSum);
  return [
    [
      'month',
      'final',
      ...splits,
      'calls',
      'input_tokens',
      'output_tokens',
      'billed_usd',
      ...(margins ? MARGIN_HEADS : []),
    ],
    ...lines.map(({ sum }) => [
      query.month,
      isFinal ? 'yes' : 'no',
      ...splits.map((split) => named(sum, split)),
      sum.calls,
      sum.inputTokens,
      sum.outputTokens,
      usd(sum.billedNanoUsd),
      ...(margins ? marginCells(sum) : []),
    ]),
  ]
    .map((cells) => csvLine(cells))
    .join('');
}

const MARGIN_HEADS = ['calls_of_unknown_cost', 'billed_of_unknown_cost_usd', 'upstream_cost_usd', 'margin_usd'];

function marginCells(sum: MarginSum): (string | number)[] {
  const { calls, billedNanoUsd, known } = sum;
  return [
    calls - known.calls,
    usd(billedNanoUsd - known.billedNanoUsd),
    usd(known.upstreamNanoUsd),
    usd(marginOf(sum)),
  ];
}

export const usageMonthsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, query: MONTH_QUERY, handle: showMonth }),
  route({ method: 'GET', path: `${PATH}.csv`, query: MONTH_QUERY, handle: downloadMonth }),
];
