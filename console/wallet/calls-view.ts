/** [P] The calls of an account, below its heading: filter, sum and table. */
import { CALL_STATUSES } from '#usage/record.ts';
import type { UsageRecord } from '#usage/record.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath } from '../paths.ts';
import { filterParameters, isCallFilter, momentsOf } from './query.ts';
import type { CallListFilter } from './query.ts';
import { renderMissing } from '../components/ledger-notice.ts';
import { STATUS_WORDS, renderCallsTable } from '../components/calls-table.ts';

export interface CallsView {
  readonly ref: ObjectRef;
  readonly filter: CallListFilter;
  readonly calls: readonly UsageRecord[];
  /** The page after this one. */
  readonly next: string | undefined;
  /** This is not the first page. */
  readonly older: boolean;
  readonly names: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<string, string>;
  readonly made: (call: UsageRecord) => string | undefined;
  readonly margins: boolean;
  /** The sum of all calls that match the filter. */
  readonly sum: Html;
  /** Suggestions. */
  readonly models: readonly string[];
  /** False: the person sees one key only. */
  readonly wholeAccount: boolean;
  readonly unknownKey: string | undefined;
  /** Calls from before this moment may be missing. */
  readonly wholeSinceMs: number;
}

export const MAX_OPTIONS = 500;

/** The page of calls, below its heading. */
export function renderCalls(view: CallsView): Html {
  const { ref, filter, calls, unknownKey } = view;
  return html`${renderFilter(view)}
    ${
      unknownKey === undefined
        ? NOTHING
        : html`<div class="notice warn" role="status">
            <p>No key of this account that you may see is called <bdi>${unknownKey}</bdi>.</p>
          </div>`
    }
    ${renderMissing(view, momentsOf(filter).sinceMs ?? 0)}
    <div class="bar-line">
      <p><b>${view.sum}</b> · newest first</p>
      <p><a href="${accountPath(ref, 'calls.csv', filterParameters(filter))}">Download as CSV</a></p>
    </div>
    ${
      calls.length === 0
        ? renderNone(view)
        : renderCallsTable(calls, { ...view, keyOf: () => (filter.key === '' ? undefined : filter.key) })
    }
    ${renderPager(view)}`;
}

export function renderFilter({ ref, filter, names, models, wholeAccount }: CallsView): Html {
  const options = [...names.values()].sort().slice(0, MAX_OPTIONS);
  return html`<form
    class="filters"
    method="get"
    action="${accountPath(ref, 'calls')}"
    role="search"
    aria-label="Calls"
    autocomplete="off"
  >
    ${
      wholeAccount
        ? html`<label
              ><span>Key</span
              ><input
                name="key"
                value="${filter.key}"
                list="wallet-keys"
                maxlength="253"
                placeholder="All keys"
                spellcheck="false"
                autocapitalize="none"
            /></label>
            <datalist id="wallet-keys">${options.map((name) => html`<option value="${name}"></option>`)}</datalist>`
        : html`<input type="hidden" name="key" value="${filter.key}" />`
    }
    <label>
      <span>Model</span>
      <input
        name="model"
        value="${filter.model}"
        list="wallet-models"
        maxlength="253"
        placeholder="All models"
        spellcheck="false"
        autocapitalize="none"
      />
    </label>
    <datalist id="wallet-models">
      ${models.slice(0, MAX_OPTIONS).map((name) => html`<option value="${name}"></option>`)}
    </datalist>
    <label>
      <span>Status</span>
      <select name="status">
        <option value="">All</option>
        ${CALL_STATUSES.map(
          (status) =>
            html`<option value="${status}" ${flag('selected', status === filter.status)}>
              ${STATUS_WORDS[status]}
            </option>`,
        )}
      </select>
    </label>
    <label>
      <span>From (UTC)</span>
      <input type="date" name="since" value="${filter.since}" />
    </label>
    <label>
      <span>To (UTC)</span>
      <input type="date" name="until" value="${filter.until}" />
    </label>
    ${filter.uid === '' ? NOTHING : html`<input type="hidden" name="uid" value="${filter.uid}" />`}
    <div class="actions">
      <button type="submit" class="button">Apply</button>
      ${
        isCallFilter(filter) && wholeAccount
          ? html`<a class="button plain" href="${accountPath(ref, 'calls')}">Clear</a>`
          : NOTHING
      }
    </div>
  </form>`;
}

export function renderNone({ filter, older, ref, wholeAccount }: CallsView): Html {
  if (older) return html`<p class="none">There are no older calls.</p>`;
  if (!isCallFilter(filter) || !wholeAccount)
    return html`<p class="none">No calls yet. A call appears here as soon as it is admitted.</p>`;
  return html`<p class="none">No call matches. <a href="${accountPath(ref, 'calls')}">Show all calls</a></p>`;
}

export function renderPager({ ref, filter, next, older }: CallsView): Html {
  if (!older && next === undefined) return NOTHING;
  const parameters = filterParameters(filter);
  return html`<nav class="pager" aria-label="Pages">
    <span></span>
    <div class="actions">
      ${older ? html`<a class="button small" href="${accountPath(ref, 'calls', parameters)}">Newest</a>` : NOTHING}
      ${
        next === undefined
          ? NOTHING
          : html`<a class="button small" rel="next" href="${accountPath(ref, 'calls', { ...parameters, before: next })}"
              >Older</a
            >`
      }
    </div>
  </nav>`;
}
