/** [P] The filter of Usage and of its calls, with suggestions. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { callStatusFilter } from '../components/calls-table.ts';
import { filterParameters, periodParameters } from '../queries/usage-query.ts';
import type { UsagePageFilter, UsagePageQuery } from '../queries/usage-query.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { withParameters } from '../paths.ts';
import { notice } from '../components/notice.ts';
import { filters, selectFilter, suggestedFilter, dayFilters } from '../components/filters.ts';

export const CALLS_PATH = '/usage/calls';

export interface CallFilters {
  readonly query: UsagePageFilter;
  readonly scope: Pick<UsageScope, 'accounts' | 'keys'>;
  /** Names of models. */
  readonly models: readonly string[];
  /** Names of the groups that can be chosen. */
  readonly groups: ReadonlyMap<string, string>;
}

export interface FilterView extends CallFilters {
  /** Of one of Usage's pages. */
  readonly path: string;
  readonly query: UsagePageQuery;
  /** Other parameters that are kept. */
  readonly kept: Readonly<Record<string, string>>;
  /** Stands in place of the choice of how calls ended. */
  readonly status?: Html;
}

export function renderFilterForm(view: FilterView): Html {
  const { path, query, kept, status = callStatusFilter(query.status, { refused: path === CALLS_PATH }) } = view;
  return filters(
    {
      action: path,
      label: 'Calls',
      style: 'usage-filters',
      kept: { ...kept, uid: query.uid, range: query.range ?? '' },
      clear: isFiltered(query) ? html`<a class="button plain" href="${withParameters(path, kept)}">Clear</a>` : NOTHING,
    },
    [
      ...callFilters(view),
      ...(query.channel === ''
        ? []
        : [suggestedFilter({ label: 'Channel', name: 'channel', value: query.channel, suggestions: [] })]),
      status,
      dayFilters(query.since.slice(0, 10), query.until.slice(0, 10)),
    ],
  );
}

/** The fields that choose calls by account, key, model and group. */
export function callFilters({ query, scope, models, groups }: CallFilters): Html[] {
  const suggested = (label: string, name: 'account' | 'key' | 'model', suggestions: readonly string[]): Html =>
    suggestedFilter({ label, name, value: query[name], suggestions });
  return [
    ...(scope.accounts.length > 1 ? [suggested('Account', 'account', scope.accounts)] : []),
    suggested('Key', 'key', [...scope.keys.values()].map(({ id }) => id).sort()),
    suggested('Model', 'model', models),
    selectFilter({ label: 'Group', name: 'group', all: 'All', options: [...groups], chosen: query.group }),
  ];
}

/** Says that the sums of a page are not of everything that the person may see. */
export function renderTruncated({ truncated }: Pick<UsageScope, 'truncated'>): Html {
  return truncated ? notice('You may see more accounts or keys than this page adds up. Choose an account.') : NOTHING;
}

function isFiltered(query: UsagePageQuery): boolean {
  return query.range === undefined || Object.values(filterParameters(query)).some((value) => value !== '');
}

/** "2026-10-23 to 2026-11-21", or "2026-11-21, 13:00 to 14:00", as people read it. */
export function periodText({ sinceMs, untilMs }: Pick<UsagePageQuery, 'sinceMs' | 'untilMs'>): string {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const [since, until] = [iso(sinceMs).slice(0, 10), iso(Math.max(sinceMs, untilMs - 1)).slice(0, 10)];
  if (untilMs - sinceMs < 86_400_000)
    return `${since}, ${iso(sinceMs).slice(11, 16)} to ${iso(untilMs).slice(11, 16)} UTC`;
  return since === until ? since : `${since} to ${until}`;
}

/** Filter and period as parameters, for links from one page to the other. */
export function shownParameters(query: UsagePageQuery): Record<string, string> {
  return { ...filterParameters(query), ...periodParameters(query) };
}
