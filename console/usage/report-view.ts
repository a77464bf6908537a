/** [P] Usage: figures of the month, a stacked chart, and the same by name. */
import { formatCount, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderSwatch } from '../components/chart.ts';
import { NO_CALLS } from '../data/add-sums.ts';
import { periodText, renderFilterForm } from './filter-form.ts';
import type { MonthSummary } from '../queries/forecast.ts';
import { filterOf, labelOf } from '../queries/names.ts';
import type { Names } from '../queries/names.ts';
import {
  MAX_HOURLY_DAYS,
  MEASURES,
  SPLITS,
  UNITS,
  viewParameters,
  filterParameters,
  periodParameters,
} from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { measured, rank } from '../queries/ranked.ts';
import type { RankedName, Ranking } from '../queries/ranked.ts';
import { withParameters } from '../paths.ts';
import { renderMissing } from '../components/ledger-notice.ts';
import { renderRanges } from '../components/ranges.ts';
import type { ChartView } from '../components/usage-chart.ts';
import {
  MEASURE_WORDS,
  UNIT_WORDS,
  OTHERS_COLOR,
  sumText,
  renderMonthSummary,
  callsPath,
  renderChart,
} from '../components/usage-chart.ts';

export interface UsagePageView extends ChartView {
  /** Suggestions. */
  readonly models: readonly string[];
  readonly figures: MonthSummary;
  /** The person may see margins. */
  readonly margins: boolean;
}

const SPLIT_WORDS = { model: 'Model', key: 'Key', group: 'Group', account: 'Account' } as const;

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
