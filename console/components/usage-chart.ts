/** [P] Usage as figures of the month and as a stacked chart; each part of a column leads to its calls. */
import { formatCount, formatExactUsd, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { formatCompact } from './scale.ts';
import { renderStacked } from './chart.ts';
import type { ChartColumn } from './chart.ts';
import { NO_CALLS } from '../data/add-sums.ts';
import type { Series, SpendingSum } from '../data/usage.ts';
import type { MonthSummary } from '../queries/forecast.ts';
import { filterOf, labelOf } from '../queries/names.ts';
import type { Names } from '../queries/names.ts';
import { columnLabel, columnsOf, momentText, periodParameters, filterParameters } from '../queries/usage-query.ts';
import type { UsagePageFilter, UsagePageQuery, Measure } from '../queries/usage-query.ts';
import { measured, rank } from '../queries/ranked.ts';
import type { RankedName, Ranking } from '../queries/ranked.ts';
import { withParameters } from '../paths.ts';
import type { Column } from './table.ts';
import { table } from './table.ts';
import type { Figure } from './facts.ts';
import { figures } from './facts.ts';

export interface ChartView {
  readonly query: UsagePageQuery;
  readonly names: Names;
  readonly series: Series;
}

export const MEASURE_WORDS: Readonly<Record<Measure, string>> = { cost: 'Cost', calls: 'Calls', tokens: 'Tokens' };

export const UNIT_WORDS = { day: 'Day', hour: 'Hour' } as const;

export const OTHERS_COLOR = 5;

/** "283 calls · $2.78 · 1.2M tokens". */
export function sumText({ calls, costNanoUsd, inputTokens, outputTokens }: SpendingSum): Html {
  const tokens = BigInt(inputTokens + outputTokens);
  return html`${pluralize(calls, 'call')} ·
  ${renderUsd(costNanoUsd)}${
    tokens > 0n ? html` · <span title="${formatCount(tokens)}">${formatCompact(tokens)}</span> tokens` : NOTHING
  }`;
}

/** Today, this month, its forecast, and last month. */
export function renderMonthSummary({ today, month, lastMonth, forecastNanoUsd, monthName }: MonthSummary): Html {
  const spent = (label: string, { costNanoUsd, calls }: SpendingSum): Figure => ({
    label,
    value: renderUsd(costNanoUsd),
    note: pluralize(calls, 'call'),
  });
  return figures([
    spent('Today (UTC)', today),
    spent(`${monthName} so far`, month),
    {
      label: `${monthName} in all, forecast`,
      value: forecastNanoUsd === undefined ? html`<span class="soft">—</span>` : renderUsd(forecastNanoUsd, 2),
      note: forecastNanoUsd === undefined ? 'no calls in the last seven days' : 'at the pace of the last seven days',
    },
    spent('Last month', lastMonth),
  ]);
}

/** The calls that are shown, or some of them. */
export function callsPath(query: UsagePageQuery, change: Partial<UsagePageFilter> = {}, startMs?: number): string {
  const moment = startMs === undefined ? undefined : momentText(startMs, query.unit);
  return withParameters('/usage/calls', {
    ...filterParameters({ ...query, ...change }),
    ...(moment === undefined ? periodParameters(query) : { since: moment, until: moment }),
  });
}

export interface ShownName extends Omit<RankedName, 'name'> {
  readonly label: string;
  readonly color: number;
  readonly filter: Partial<UsagePageFilter>;
}

/** The first five and the others together. */
export function shownNames({ top, others, rest }: Ranking, { query: { by }, names }: ChartView): ShownName[] {
  const shown = top.map(({ name, ...sums }, index): ShownName => ({
    ...sums,
    label: labelOf(name, by, names),
    color: Math.min(index, OTHERS_COLOR),
    filter: filterOf(name, by, names),
  }));
  if (!rest) return shown;
  return [...shown, { ...rest, label: pluralize(others.length, 'other'), color: OTHERS_COLOR, filter: {} }];
}

/** The chart alone, with its table. */
export function renderUsageChart(view: ChartView): Html {
  return renderChart(rank(view.series.sums, view.query.show), view);
}

export function renderChart(ranking: Ranking, view: ChartView): Html {
  const { query } = view;
  const shown = shownNames(ranking, view);
  const columns = columnsOf(query).map((startMs): ChartColumn => ({
    label: columnLabel(startMs, query.unit),
    parts: shown.map(({ byStart, filter }) => {
      const sum = byStart.get(startMs) ?? NO_CALLS;
      return {
        value: measured(sum, query.show),
        text: exactText(sum, query.show),
        href: callsPath(query, filter, startMs),
      };
    }),
  }));
  return renderStacked({
    title: `${MEASURE_WORDS[query.show]} by ${query.unit} and ${query.by}`,
    note: html`${sumText(ranking.all)} · a column opens its calls`,
    measure: query.show,
    columns,
    series: shown.map(({ label, color }) => ({ label, color })),
    table: renderColumnTable(shown, view),
  });
}

export function exactText(sum: SpendingSum, measure: Measure): string {
  if (measure === 'cost') return `${formatExactUsd(sum.costNanoUsd)}, ${pluralize(sum.calls, 'call')}`;
  return measure === 'calls' ? pluralize(sum.calls, 'call') : `${formatCount(measured(sum, 'tokens'))} tokens`;
}

/** The same numbers, the latest first. */
function renderColumnTable(shown: readonly ShownName[], { query, series }: ChartView): Html {
  const starts = [...new Set(series.sums.map(({ startMs }) => startMs))].sort((a, b) => b - a);
  return html`<details class="fold">
    <summary>As a table</summary>
    ${table(
      [
        {
          title: UNIT_WORDS[query.unit],
          style: 'nowrap',
          cell: (startMs) => html`<a href="${callsPath(query, {}, startMs)}">${columnLabel(startMs, query.unit)}</a>`,
        },
        ...shown.map(({ label, byStart }): Column<number> => ({
          title: label,
          named: true,
          num: true,
          cell: (startMs) => renderMeasured(byStart.get(startMs) ?? NO_CALLS, query.show),
        })),
      ],
      starts,
      {
        label: 'The chart as a table',
        caption: `${UNIT_WORDS[query.unit]}s without calls are left out. Times are UTC.`,
        showCaption: true,
      },
    )}
  </details>`;
}

export function renderMeasured(sum: SpendingSum, measure: Measure): Html {
  const value = measured(sum, measure);
  if (value === 0n) return html`<span class="soft">${measure === 'cost' ? '$0' : '0'}</span>`;
  return measure === 'cost' ? renderUsd(value, 6) : html`${formatCount(value)}`;
}
