/** [P] The filter of Usage and of its calls, with suggestions. */
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { CALL_STATUSES } from '#usage/record.ts';
import { STATUS_WORDS } from '../components/calls-table.ts';
import { filterParameters, periodParameters } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import type { Names } from '../queries/names.ts';
import { withParameters } from '../paths.ts';

export interface FilterView {
  /** "/usage" or "/usage/calls". */
  readonly path: string;
  readonly query: UsagePageQuery;
  readonly names: Names;
  /** Names of models. */
  readonly models: readonly string[];
  /** Other parameters that are kept. */
  readonly kept: Readonly<Record<string, string>>;
}

const MAX_SUGGESTIONS = 500;

export function renderFilterForm(view: FilterView): Html {
  const {
    path,
    query,
    names: { scope, groups },
    models,
    kept,
  } = view;
  const keys = [...scope.keys.values()].map(({ id }) => id).sort();
  return html`<form
    class="filters usage-filters"
    method="get"
    action="${path}"
    role="search"
    aria-label="Calls"
    autocomplete="off"
  >
    ${scope.accounts.length > 1 ? suggested('Account', 'account', query.account, scope.accounts) : NOTHING}
    ${suggested('Key', 'key', query.key, keys)} ${suggested('Model', 'model', query.model, models)}
    <label>
      <span>Group</span>
      <select name="group">
        <option value="">All</option>
        ${[...groups].map(
          ([name, label]) => html`<option value="${name}" ${flag('selected', name === query.group)}>${label}</option>`,
        )}
      </select>
    </label>
    <label>
      <span>Status</span>
      <select name="status">
        <option value="">All</option>
        ${CALL_STATUSES.map(
          (status) =>
            html`<option value="${status}" ${flag('selected', status === query.status)}>
              ${STATUS_WORDS[status]}
            </option>`,
        )}
      </select>
    </label>
    <label>
      <span>From (UTC)</span>
      <input type="date" name="since" value="${query.since.slice(0, 10)}" />
    </label>
    <label>
      <span>To (UTC)</span>
      <input type="date" name="until" value="${query.until.slice(0, 10)}" />
    </label>
    ${Object.entries({ ...kept, uid: query.uid, range: query.range ?? '' }).map(([name, value]) =>
      value === '' ? NOTHING : html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <div class="actions">
      <button type="submit" class="button">Apply</button>
      ${isFiltered(query) ? html`<a class="button plain" href="${withParameters(path, kept)}">Clear</a>` : NOTHING}
    </div>
  </form>`;
}

function suggested(label: string, name: string, value: string, suggestions: readonly string[]): Html {
  return html`<label
      ><span>${label}</span
      ><input
        name="${name}"
        value="${value}"
        list="usage-${name}s"
        maxlength="253"
        placeholder="All"
        spellcheck="false"
        autocapitalize="none"
    /></label>
    <datalist id="usage-${name}s">
      ${suggestions.slice(0, MAX_SUGGESTIONS).map((each) => html`<option value="${each}"></option>`)}
    </datalist>`;
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
