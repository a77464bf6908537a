/** [P] The calls of an account, below its heading: filter, sum and table. */
import type { UsageRecord } from '#usage/record.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath } from '../paths.ts';
import { filterParameters, isCallFilter, momentsOf } from './query.ts';
import type { CallListFilter } from './query.ts';
import { renderMissing } from '../components/ledger-notice.ts';
import { renderCallsTable, callStatusFilter } from '../components/calls-table.ts';
import { notice } from '../components/notice.ts';
import { filters, suggestedFilter, dayFilters } from '../components/filters.ts';
import { olderPager } from '../components/pager.ts';

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

/** The page of calls, below its heading. */
export function renderCalls(view: CallsView): Html {
  const { ref, filter, calls, unknownKey } = view;
  return html`${renderFilter(view)}
    ${
      unknownKey === undefined
        ? NOTHING
        : notice(html`No key of this account that you may see is called <bdi>${unknownKey}</bdi>.`, {
            tone: 'warn',
            role: 'status',
          })
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

function renderFilter({ ref, filter, names, models, wholeAccount }: CallsView): Html {
  const path = accountPath(ref, 'calls');
  const clear = isCallFilter(filter) && wholeAccount ? html`<a class="button plain" href="${path}">Clear</a>` : NOTHING;
  const key = suggestedFilter({
    label: 'Key',
    name: 'key',
    value: filter.key,
    suggestions: [...names.values()].sort(),
  });
  return filters(
    { action: path, label: 'Calls', kept: { uid: filter.uid, ...(!wholeAccount && { key: filter.key }) }, clear },
    [
      ...(wholeAccount ? [key] : []),
      suggestedFilter({ label: 'Model', name: 'model', value: filter.model, suggestions: models }),
      callStatusFilter(filter.status, { refused: true }),
      dayFilters(filter.since, filter.until),
    ],
  );
}

export function renderNone({ filter, older, ref, wholeAccount }: CallsView): Html {
  if (older) return html`<p class="none">There are no older calls.</p>`;
  if (!isCallFilter(filter) || !wholeAccount)
    return html`<p class="none">No calls yet. A call appears here as soon as it is admitted.</p>`;
  return html`<p class="none">No call matches. <a href="${accountPath(ref, 'calls')}">Show all calls</a></p>`;
}

function renderPager({ ref, filter, next, older }: CallsView): Html {
  const parameters = filterParameters(filter);
  return olderPager({
    newest: older ? accountPath(ref, 'calls', parameters) : undefined,
    older: next === undefined ? undefined : accountPath(ref, 'calls', { ...parameters, before: next }),
  });
}
