/** [P] Usage: figures of the month, a stacked chart, and the same by name. */
import { formatCount, formatExactUsd, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { formatCompact } from '../charts/scale.ts';
import type { Measure } from '../charts/scale.ts';
import { renderStacked, renderSwatch } from '../charts/stacked.ts';
import type { ChartColumn } from '../charts/stacked.ts';
import { NO_CALLS } from '../usage/add-sums.ts';
import type { Series, SpendingSum } from '../usage/usage.ts';
import { withParameters } from '../wallet/account-facts.ts';
import { renderMissing } from '../wallet/spending.ts';
import { periodText, renderFilterForm, renderRanges } from './filter-form.ts';
import type { MonthSummary } from './forecast.ts';
import { filterOf, labelOf } from './names.ts';
import type { Names } from './names.ts';
import {
  columnLabel,
  columnsOf,
  filterParameters,
  MAX_HOURLY_DAYS,
  MEASURES,
  momentText,
  periodParameters,
  SPLITS,
  UNITS,
  viewParameters,
} from './query.ts';
import type { UsagePageFilter, UsagePageQuery } from './query.ts';
import { measured, rank } from './ranked.ts';
import type { RankedName, Ranking } from './ranked.ts';

export interface ChartView {
  readonly query: UsagePageQuery;
  readonly names: Names;
  readonly series: Series;
}

export interface UsagePageView extends ChartView {
  /** Suggestions. */
  readonly models: readonly string[];
  readonly figures: MonthSummary;
  /** The person may see margins. */
  readonly margins: boolean;
}

const MEASURE_WORDS: Readonly<Record<Measure, string>> = { cost: 'Cost', calls: 'Calls', tokens: 'Tokens' };
const SPLIT_WORDS = { model: 'Model', key: 'Key', group: 'Group', account: 'Account' } as const;
const UNIT_WORDS = { day: 'Day', hour: 'Hour' } as const;
const OTHERS_COLOR = 5;
const DAY_MS = 86_400_000;

export function renderUsage(view: UsagePageView): Html {
  const { query, names, models, series } = view;
  const ranking = rank(series.sums, query.show);
  const kept = viewParameters(query);
  return html`${renderMonthSummary(view.figures)}
    <div class="toolbar usage-range">${renderRanges('/usage', query, kept)}</div>
    ${renderFilterForm({ path: '/usage', query, names, models, kept })}
    ${
      names.scope.truncated
        ? html`<div class="notice">
            <p>You may see more accounts or keys than this page adds up. Choose an account.</p>
          </div>`
        : NOTHING
    }
    ${renderMissing(series, query.sinceMs)}
    <div class="bar-line">
      <p><b>${sumText(ranking.all)}</b> · ${periodText(query)}</p>
      <p>
        ${
          view.margins
            ? html`<a
                  href="${withParameters('/usage/margins', { ...filterParameters(query), ...periodParameters(query) })}"
                  >Margins</a
                >
                · `
            : NOTHING
        }<a href="${callsPath(query)}">All calls</a>
      </p>
    </div>
    ${
      ranking.all.calls === 0
        ? html`<p class="none">No calls in this time. Choose a longer range, or clear the filter.</p>`
        : html`${renderSwitches(query, names)}${renderChart(ranking, view)}${renderRanking(ranking, view)}`
    }`;
}

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
  return html`<dl class="figures">
    <div>
      <dt>Today (UTC)</dt>
      <dd>${renderUsd(today.costNanoUsd)}<small>${pluralize(today.calls, 'call')}</small></dd>
    </div>
    <div>
      <dt>${monthName} so far</dt>
      <dd>${renderUsd(month.costNanoUsd)}<small>${pluralize(month.calls, 'call')}</small></dd>
    </div>
    <div>
      <dt>${monthName} in all, forecast</dt>
      <dd>
        ${
          forecastNanoUsd === undefined
            ? html`<span class="soft">—</span><small>no calls in the last seven days</small>`
            : html`${renderUsd(forecastNanoUsd, 2)}<small>at the pace of the last seven days</small>`
        }
      </dd>
    </div>
    <div>
      <dt>Last month</dt>
      <dd>${renderUsd(lastMonth.costNanoUsd)}<small>${pluralize(lastMonth.calls, 'call')}</small></dd>
    </div>
  </dl>`;
}

function renderSwitches(query: UsagePageQuery, { scope }: Names): Html {
  const path = (change: Partial<UsagePageQuery>): string =>
    withParameters('/usage', {
      ...filterParameters(query),
      ...periodParameters(query),
      ...viewParameters({ ...query, ...change }),
    });
  const segments = (label: string, options: readonly (readonly [string, string, boolean])[]): Html =>
    html`<div class="usage-switch">
      <span class="soft" id="switch-${label.toLowerCase()}">${label}</span>
      <ul class="segments" aria-labelledby="switch-${label.toLowerCase()}">
        ${options.map(
          ([words, href, current]) =>
            html`<li><a href="${href}" ${current ? html`aria-current="true"` : NOTHING}>${words}</a></li>`,
        )}
      </ul>
    </div>`;
  const splits = SPLITS.filter((by) => by !== 'account' || scope.accounts.length > 1 || query.by === 'account');
  const hourly = query.untilMs - query.sinceMs <= MAX_HOURLY_DAYS * DAY_MS;
  return html`<div class="usage-switches">
    ${segments(
      'Show',
      MEASURES.map((show) => [MEASURE_WORDS[show], path({ show }), show === query.show]),
    )}
    ${segments(
      'By',
      splits.map((by) => [SPLIT_WORDS[by], path({ by }), by === query.by]),
    )}
    ${
      hourly
        ? segments(
            'Per',
            UNITS.map((unit) => [UNIT_WORDS[unit], path({ unit }), unit === query.unit]),
          )
        : NOTHING
    }
  </div>`;
}

/** The calls that are shown, or some of them. */
function callsPath(query: UsagePageQuery, change: Partial<UsagePageFilter> = {}, startMs?: number): string {
  const moment = startMs === undefined ? undefined : momentText(startMs, query.unit);
  return withParameters('/usage/calls', {
    ...filterParameters({ ...query, ...change }),
    ...(moment === undefined ? periodParameters(query) : { since: moment, until: moment }),
  });
}

interface ShownName extends Omit<RankedName, 'name'> {
  readonly label: string;
  readonly color: number;
  readonly filter: Partial<UsagePageFilter>;
}

/** The first five and the others together. */
function shownNames({ top, others, rest }: Ranking, { query: { by }, names }: ChartView): ShownName[] {
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

function renderChart(ranking: Ranking, view: ChartView): Html {
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

function exactText(sum: SpendingSum, measure: Measure): string {
  if (measure === 'cost') return `${formatExactUsd(sum.costNanoUsd)}, ${pluralize(sum.calls, 'call')}`;
  return measure === 'calls' ? pluralize(sum.calls, 'call') : `${formatCount(measured(sum, 'tokens'))} tokens`;
}

/** The same numbers, the latest first. */
function renderColumnTable(shown: readonly ShownName[], { query, series }: ChartView): Html {
  const starts = [...new Set(series.sums.map(({ startMs }) => startMs))].sort((a, b) => b - a);
  return html`<details class="fold">
    <summary>As a table</summary>
    <div class="table-box" tabindex="0" role="region" aria-label="The chart as a table">
      <table class="table">
        <caption>
          ${UNIT_WORDS[query.unit]}s without calls are left out. Times are UTC.
        </caption>
        <thead>
          <tr>
            <th scope="col">${UNIT_WORDS[query.unit]}</th>
            ${shown.map(({ label }) => html`<th scope="col" class="num"><bdi>${label}</bdi></th>`)}
          </tr>
        </thead>
        <tbody>
          ${starts.map(
            (startMs) =>
              html`<tr>
                <th scope="row" class="nowrap">
                  <a href="${callsPath(query, {}, startMs)}">${columnLabel(startMs, query.unit)}</a>
                </th>
                ${shown.map(
                  ({ byStart }) =>
                    html`<td class="num">${renderMeasured(byStart.get(startMs) ?? NO_CALLS, query.show)}</td>`,
                )}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

function renderMeasured(sum: SpendingSum, measure: Measure): Html {
  const value = measured(sum, measure);
  if (value === 0n) return html`<span class="soft">${measure === 'cost' ? '$0' : '0'}</span>`;
  return measure === 'cost' ? renderUsd(value, 6) : html`${formatCount(value)}`;
}

/** By name: the first five, and the others on demand. */
function renderRanking(ranking: Ranking, view: UsagePageView): Html {
  const {
    query: { by },
  } = view;
  const title = `By ${by}`;
  const { others } = ranking;
  return html`<section class="section" aria-labelledby="by-name">
    <h2 id="by-name">${title}</h2>
    ${renderNames(ranking.top, ranking, view)}
    ${
      others.length === 0
        ? NOTHING
        : html`<details class="fold">
            <summary>${pluralize(others.length, 'other')} · ${sumText(ranking.rest?.sum ?? NO_CALLS)}</summary>
            ${renderNames(others.slice(0, MAX_OTHERS), ranking, view)}${
              others.length > MAX_OTHERS ? html`<p class="soft">The largest ${MAX_OTHERS} are shown.</p>` : NOTHING
            }
          </details>`
    }
  </section>`;
}

const MAX_OTHERS = 200;

function renderNames(names: readonly RankedName[], ranking: Ranking, view: UsagePageView): Html {
  const {
    query: { by, show },
  } = view;
  const whole = measured(ranking.all, show);
  const isTop = names === ranking.top;
  return html`<div class="table-box" tabindex="0" role="region" aria-label="${isTop ? 'Largest' : 'Others'} by ${by}">
    <table class="table cards usage-names">
      <thead>
        <tr>
          <th scope="col">${SPLIT_WORDS[by]}</th>
          <th scope="col" class="share"><span class="vh">Share</span></th>
          <th scope="col" class="num">Calls</th>
          <th scope="col" class="num">Input tokens</th>
          <th scope="col" class="num">Output tokens</th>
          <th scope="col" class="num">Cost</th>
        </tr>
      </thead>
      <tbody>
        ${names.map(
          ({ name, sum }, index) =>
            html`<tr>
              <th scope="row" class="main">
                ${renderSwatch(isTop ? Math.min(index, OTHERS_COLOR) : OTHERS_COLOR)}<a
                  href="${callsPath(view.query, filterOf(name, by, view.names))}"
                  ><bdi>${labelOf(name, by, view.names)}</bdi></a
                >
              </th>
              <td class="share">${renderBar({ part: measured(sum, show), whole })}</td>
              <td data-label="Calls" class="num">${formatCount(sum.calls)}</td>
              <td data-label="Input tokens" class="num">${formatCount(sum.inputTokens)}</td>
              <td data-label="Output tokens" class="num">${formatCount(sum.outputTokens)}</td>
              <td data-label="Cost" class="num">${renderUsd(sum.costNanoUsd, 6)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
