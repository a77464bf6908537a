/** [P] The table of keys: a row for each, with its switch. */
import { columnPlaces, formatShortUsd, renderRemaining, renderSpent, renderTime, renderUsd } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderStatusMark } from '../views/status-mark.ts';
import type { KeyFacts } from './key-facts.ts';
import { barToneOf } from './key-overview.ts';
import { KEY_COLUMNS, keysPath, sortedBy } from './keys-query.ts';
import type { KeyColumn, KeyRow, KeysQuery } from './keys-query.ts';
import { copyPath, keyPath, SWITCH_FORM, switchValue } from './requested-key.ts';

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

const NUMERIC: ReadonlySet<KeyColumn> = new Set(['remaining']);

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
  return html`<div class="table-box keys-box">
    <table class="table cards keys-table" id="keys-table">
      <caption class="vh">
        API keys with what they have spent and their status
      </caption>
      <thead>
        <tr>
          ${KEY_COLUMNS.map((column) => heading(column, query))}
          <th scope="col"><span class="vh">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => renderRow(row, { rights, nowMs, places }))}
      </tbody>
    </table>
  </div>`;
}

function heading(column: KeyColumn, query: KeysQuery): Html {
  const order =
    query.sort.column === column ? html`aria-sort="${query.sort.descending ? 'descending' : 'ascending'}"` : NOTHING;
  return html`<th scope="col" ${NUMERIC.has(column) ? html`class="num"` : NOTHING} ${order}>
    <a href="${keysPath(sortedBy(query, column))}">${COLUMN_TITLES[column]}</a>
  </th>`;
}

interface RowContext {
  readonly rights: KeyRights;
  readonly nowMs: number;
  /** Of all amounts of a column. */
  readonly places: number;
}

function renderRow({ facts, finding, group }: KeyRow, { rights, nowMs, places }: RowContext): Html {
  const {
    metadata: { namespace, name },
    status,
  } = facts.apiKey;
  return html`<tr data-key="${namespace}/${name}">
    <th scope="row" class="main">
      <a href="${keyPath(facts.apiKey)}"><bdi>${name}</bdi></a
      ><small
        ><bdi>${namespace}</bdi>${
          status?.keyPrefix === undefined ? NOTHING : html` · <code>${status.keyPrefix}…</code>`
        }</small
      >
    </th>
    <td data-label="Status">${renderStatusMark(finding)}</td>
    <td data-label="Enabled">${enabledSwitch(facts, rights.change.has(namespace))}</td>
    <td data-label="Group" class="keys-group"><bdi>${group}</bdi></td>
    <td data-label="Spent of limit">${spentOfLimit(facts, places)}</td>
    <td data-label="Remaining" class="num">${remaining(facts, places)}</td>
    <td data-label="Last used">
      ${facts.lastUsedMs === undefined ? none('Never') : renderTime(facts.lastUsedMs, 'minute')}
    </td>
    <td data-label="Expires">${expires(facts, nowMs)}</td>
    <td class="cell-actions">${actions(facts, rights)}</td>
  </tr>`;
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
    create.includes(namespace) ? link('Copy', copyPath(apiKey)) : NOTHING
  }${mayChange && apiKey.spec.key.type === 'Generated' ? link('Rotate', keyPath(apiKey, 'rotate')) : NOTHING}${
    remove.has(namespace) ? link('Delete', keyPath(apiKey, 'delete'), ' danger') : NOTHING
  }`;
}
