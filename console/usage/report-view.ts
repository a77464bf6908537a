/** [P] Usage: figures of the month, a stacked chart, and the same by name. */
import { formatCount, pluralize, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderSwatch } from '../components/chart.ts';
import { NO_CALLS } from '../data/add-sums.ts';
import { periodText, renderFilterForm, renderTruncated } from './filter-form.ts';
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
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import { segments } from '../components/tabs.ts';

export interface UsagePageView extends ChartView {
  /** Suggestions. */
  readonly models: readonly string[];
  /** Names of the groups that can be chosen. */
  readonly groups: ReadonlyMap<string, string>;
  readonly figures: MonthSummary;
}

const SPLIT_WORDS = { model: 'Model', key: 'Key', group: 'Group', account: 'Account' } as const;

const DAY_MS = 86_400_000;

export function renderUsage(view: UsagePageView): Html {
  const { query, names, models, groups, series } = view;
  const ranking = rank(series.sums, query.show);
  const kept = viewParameters(query);
  return html`${renderMonthSummary(view.figures)} ${renderRanges('/usage', query, kept)}
    ${renderFilterForm({ path: '/usage', query, scope: names.scope, groups, models, kept })}
    ${renderTruncated(names.scope)} ${renderMissing(series, query.sinceMs)}
    <div class="bar-line">
      <p><b>${sumText(ranking.all)}</b> · ${periodText(query)}</p>
      <p><a href="${callsPath(query)}">All calls</a></p>
    </div>
    ${
      ranking.all.calls === 0
        ? html`<p class="none">No calls in this time. Choose a longer range, or clear the filter.</p>`
        : html`${renderSwitches(query, names)}${renderChart(ranking, view)}${renderRanking(ranking, view)}`
    }`;
}

function renderSwitches(query: UsagePageQuery, { scope }: Names): Html {
  const href = (change: Partial<UsagePageQuery>): string =>
    withParameters('/usage', {
      ...filterParameters(query),
      ...periodParameters(query),
      ...viewParameters({ ...query, ...change }),
    });
  const splits = SPLITS.filter((by) => by !== 'account' || scope.accounts.length > 1 || query.by === 'account');
  const hourly = query.untilMs - query.sinceMs <= MAX_HOURLY_DAYS * DAY_MS;
  return html`<div class="usage-switches">
    ${renderSwitch(
      'Show',
      MEASURES.map((show) => ({ label: MEASURE_WORDS[show], href: href({ show }), current: show === query.show })),
    )}
    ${renderSwitch(
      'By',
      splits.map((by) => ({ label: SPLIT_WORDS[by], href: href({ by }), current: by === query.by })),
    )}
    ${
      hourly
        ? renderSwitch(
            'Per',
            UNITS.map((unit) => ({ label: UNIT_WORDS[unit], href: href({ unit }), current: unit === query.unit })),
          )
        : NOTHING
    }
  </div>`;
}

function renderSwitch(label: string, choices: Parameters<typeof segments>[1]): Html {
  const id = `switch-${label.toLowerCase()}`;
  return html`<div class="usage-switch">
    <span class="soft" id="${id}">${label}</span> ${segments({ id }, choices)}
  </div>`;
}

/** By name: the first five, and the others on demand. */
function renderRanking(ranking: Ranking, view: UsagePageView): Html {
  const { others } = ranking;
  return section(
    { id: 'by-name', title: `By ${view.query.by}` },
    html`${renderNames(ranking.top, ranking, view)}
    ${
      others.length === 0
        ? NOTHING
        : html`<details class="fold">
            <summary>${pluralize(others.length, 'other')} · ${sumText(ranking.rest?.sum ?? NO_CALLS)}</summary>
            ${renderNames(others.slice(0, MAX_OTHERS), ranking, view)}${
              others.length > MAX_OTHERS ? html`<p class="soft">The largest ${MAX_OTHERS} are shown.</p>` : NOTHING
            }
          </details>`
    }`,
  );
}

const MAX_OTHERS = 200;

function renderNames(names: readonly RankedName[], ranking: Ranking, view: UsagePageView): Html {
  const {
    query: { by, show },
  } = view;
  const whole = measured(ranking.all, show);
  const isTop = names === ranking.top;
  return table<RankedName>(
    [
      {
        title: SPLIT_WORDS[by],
        cell: ({ name }, index) =>
          html`${renderSwatch(isTop ? Math.min(index, OTHERS_COLOR) : OTHERS_COLOR)}<a
              href="${callsPath(view.query, filterOf(name, by, view.names))}"
              ><bdi>${labelOf(name, by, view.names)}</bdi></a
            >`,
      },
      {
        title: 'Share',
        hidden: true,
        columnStyle: 'share',
        cell: ({ sum }) => renderBar({ part: measured(sum, show), whole }),
      },
      { title: 'Calls', num: true, cell: ({ sum }) => formatCount(sum.calls) },
      { title: 'Input tokens', num: true, cell: ({ sum }) => formatCount(sum.inputTokens) },
      { title: 'Output tokens', num: true, cell: ({ sum }) => formatCount(sum.outputTokens) },
      { title: 'Cost', num: true, cell: ({ sum }) => renderUsd(sum.costNanoUsd, 6) },
    ],
    names,
    { label: `${isTop ? 'Largest' : 'Others'} by ${by}`, cards: true, style: 'usage-names' },
  );
}
