/** [P] The table of keys: a row for each, with its switch. */
import { columnPlaces, formatShortUsd, renderRemaining, renderSpent, renderTime, renderUsd } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderStatusMark } from '../components/status-mark.ts';
import type { KeyFacts } from '../queries/key-facts.ts';
import { barToneOf } from './overview-view.ts';
import { namespacedName } from '#objects/resources.ts';
import { KEY_COLUMNS, keysPath, sortedBy } from './query.ts';
import type { KeyColumn, KeyRow, KeysQuery } from './query.ts';
import { SWITCH_FORM, switchValue } from './requested-key.ts';
import { copyPath, keyPath } from '../paths.ts';
import type { Column } from '../components/table.ts';
import { table } from '../components/table.ts';

/** The person's rights, with the namespaces where they have them. */
export interface KeyRights {
  readonly create: readonly string[];
  readonly change: ReadonlySet<string>;
  readonly remove: ReadonlySet<string>;
}

export const COLUMN_TITLES: Readonly<Record<KeyColumn, string>> = {
  name: 'Name',
  status: 'Status',
  enabled: 'Enabled',
  group: 'Group',
  spent: 'Spent of limit',
  remaining: 'Remaining',
  used: 'Last used',
  expires: 'Expires',
};

const PERIOD_WORDS = { Never: '', Daily: 'today', Weekly: 'this week', Monthly: 'this month' } as const;

interface KeysTable {
  readonly rows: readonly KeyRow[];
  readonly query: KeysQuery;
  readonly rights: KeyRights;
  readonly nowMs: number;
}

/** The table with its head, whose links sort. */
export function renderKeysTable({ rows, query, rights, nowMs }: KeysTable): Html {
  const places = columnPlaces(
    rows.flatMap(({ facts: { spentNanoUsd, remainingNanoUsd = 0n } }) => [spentNanoUsd, remainingNanoUsd]),
  );
  const columns = KEY_COLUMNS.map((column): Column<KeyRow> => ({
    title: COLUMN_TITLES[column],
    sort: sortOf(column, query),
    ...cellsOf(column, { rights, nowMs, places }),
  }));
  const actionColumn: Column<KeyRow> = {
    title: 'Actions',
    hidden: true,
    style: 'cell-actions',
    cell: ({ facts }) => actions(facts, rights),
  };
  return table([...columns, actionColumn], rows, {
    caption: 'API keys with what they have spent and their status',
    cards: true,
    id: 'keys-table',
    style: 'keys-table',
    // keys.js keeps a row that moves by its id
    row({ facts: { apiKey } }) {
      const name = namespacedName(apiKey.metadata);
      return html`data-key="${name}" id="key-${name}"`;
    },
  });
}

function sortOf(column: KeyColumn, query: KeysQuery): NonNullable<Column<KeyRow>['sort']> {
  const { sort } = query;
  return {
    href: keysPath(sortedBy(query, column)),
    order: sort.column === column ? (sort.descending ? 'descending' : 'ascending') : undefined,
  };
}

interface RowContext {
  readonly rights: KeyRights;
  readonly nowMs: number;
  /** Of all amounts of a column. */
  readonly places: number;
}

function cellsOf(
  column: KeyColumn,
  { rights, nowMs, places }: RowContext,
): Pick<Column<KeyRow>, 'cell' | 'num' | 'style'> {
  switch (column) {
    case 'name':
      return { cell: renderName };
    case 'status':
      return { cell: ({ finding }) => renderStatusMark(finding) };
    case 'enabled':
      return { cell: ({ facts }) => enabledSwitch(facts, rights.change.has(facts.apiKey.metadata.namespace)) };
    case 'group':
      return { style: 'keys-group', cell: ({ group }) => html`<bdi>${group}</bdi>` };
    case 'spent':
      return { cell: ({ facts }) => spentOfLimit(facts, places) };
    case 'remaining':
      return { num: true, cell: ({ facts }) => remaining(facts, places) };
    case 'used':
      return {
        cell: ({ facts: { lastUsedMs } }) =>
          lastUsedMs === undefined ? none('Never') : renderTime(lastUsedMs, 'minute'),
      };
    case 'expires':
      return { cell: ({ facts }) => expires(facts, nowMs) };
  }
}

function renderName({ facts: { apiKey } }: KeyRow): Html {
  const {
    metadata: { namespace, name },
    status,
  } = apiKey;
  return html`<a href="${keyPath(apiKey)}"><bdi>${name}</bdi></a
    ><small
      ><bdi>${namespace}</bdi>${
        status?.keyPrefix === undefined ? NOTHING : html` · <code>${status.keyPrefix}…</code>`
      }</small
    >`;
}

function none(text: string): Html {
  return html`<span class="soft">${text}</span>`;
}

/** Works without scripts: a button of the one form for all switches. */
function enabledSwitch({ apiKey }: KeyFacts, may: boolean): Html {
  const {
    metadata: { namespace, name },
    spec: { enabled },
  } = apiKey;
  return html`<button
    type="submit"
    class="switch"
    role="switch"
    aria-checked="${String(enabled)}"
    aria-label="${name} in ${namespace} is enabled"
    form="${SWITCH_FORM}"
    formaction="${keyPath(apiKey, 'enabled')}"
    name="to"
    value="${switchValue(apiKey)}"
    ${may ? NOTHING : html`title="You may not change keys in ${namespace}"`}
    ${flag('disabled', !may)}
  ></button>`;
}

function spentOfLimit({ spentNanoUsd, limitNanoUsd }: KeyFacts, places: number): Html {
  if (limitNanoUsd === undefined)
    return html`<div class="meter">
      <div><span>${renderUsd(spentNanoUsd, places)}</span><span class="soft">no limit</span></div>
    </div>`;
  return html`<div class="meter">
    <div>
      <span>${renderSpent(spentNanoUsd, places)}</span><span class="soft">of ${formatShortUsd(limitNanoUsd)}</span>
    </div>
    ${renderBar({ part: spentNanoUsd, whole: limitNanoUsd, tone: barToneOf(spentNanoUsd, limitNanoUsd) })}
  </div>`;
}

function remaining(
  {
    remainingNanoUsd,
    apiKey: {
      spec: { quota },
    },
  }: KeyFacts,
  places: number,
): Html {
  if (remainingNanoUsd === undefined) return none('Unlimited');
  const amount = renderRemaining(remainingNanoUsd, places);
  return quota.period === 'Never' ? amount : html`${amount}<small>${PERIOD_WORDS[quota.period]}</small>`;
}

function expires({ expiresMs }: KeyFacts, nowMs: number): Html {
  if (expiresMs === undefined) return none('Never');
  return expiresMs <= nowMs
    ? html`<span class="keys-over">${renderTime(expiresMs, 'day')}</span>`
    : renderTime(expiresMs, 'day');
}

/** The actions on a key, each with its page. */
function actions({ apiKey }: KeyFacts, { create, change, remove }: KeyRights): Html {
  const { namespace, name } = apiKey.metadata;
  const of = html`<span class="vh"> ${name} in ${namespace}</span>`;
  const link = (label: string, href: string, tone = ''): Html =>
    html`<a class="button plain small${tone}" href="${href}">${label}${of}</a>`;
  const mayChange = change.has(namespace);
  return html`${mayChange ? link('Edit', keyPath(apiKey, 'settings')) : NOTHING}${
    create.includes(namespace) ? link('Duplicate', copyPath(apiKey)) : NOTHING
  }${mayChange && apiKey.spec.key.type === 'Generated' ? link('Rotate', keyPath(apiKey, 'rotate')) : NOTHING}${
    remove.has(namespace) ? link('Delete', keyPath(apiKey, 'delete'), ' danger') : NOTHING
  }`;
}
