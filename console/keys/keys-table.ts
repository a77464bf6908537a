/** [P] The table of keys: a row for each, with its switch. */
import { renderTime, renderUsd } from '#web/format.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderReadiness, barToneOf } from './key-facts.ts';
import type { KeyFacts } from './key-facts.ts';
import { KEY_COLUMNS, keysPath, sortedBy } from './keys-query.ts';
import type { KeyColumn, KeysQuery } from './keys-query.ts';
import { keyPath, SWITCH_FORM, switchValue } from './requested-key.ts';

/** What the person may do in which namespaces. */
export interface KeyRights {
  readonly create: readonly string[];
  readonly change: ReadonlySet<string>;
  readonly remove: ReadonlySet<string>;
}

export const COLUMN_TITLES: Readonly<Record<KeyColumn, string>> = {
  name: 'Name', key: 'Key', group: 'Group', enabled:
    'Enabled', spent: 'Spent of limit', remaining: 'Remaining', used: 'Last used', expires: 'Expires', ready: 'Ready',
};

const NUMERIC: ReadonlySet<KeyColumn> = new Set(['remaining']);

const PERIOD_WORDS = { Never: '', Daily: 'today', Monthly: 'this month' } as const;

interface KeysTable {
  readonly rows: readonly KeyFacts[];
  readonly query: KeysQuery;
  readonly rights: KeyRights;
  readonly nowMs: number;
}

/** The table with its head, whose links sort. */
export function renderKeysTable({ rows, query, rights, nowMs }: KeysTable): Html {
  return html`<div class="table-box keys-box"><table class="table cards keys-table" id="keys-table">
<caption class="vh">API keys with what they have spent and whether they work</caption>
<thead><tr>${KEY_COLUMNS.map((column) =>
  heading(column, query))}<th scope="col"><span class="vh">Actions</span></th></tr></thead>
<tbody>${rows.map((facts) => renderRow(facts, rights, nowMs))}</tbody>
</table></div>`;
}

function heading(column: KeyColumn, query: KeysQuery): Html {
  const order =
    query.sort.column === column ? html` aria-sort="${query.sort.descending ? 'descending' : 'ascending'}"` : NOTHING;
  return html`<th scope="col"${NUMERIC.has(column)
    ? html` class="num"`
    : NOTHING}${order}><a href="${keysPath(sortedBy(query, column))}">${COLUMN_TITLES[column]}</a></th>`;
}

function renderRow(facts: KeyFacts, rights: KeyRights, nowMs: number): Html {
  const { apiKey: { metadata: { namespace, name }, spec, status } } = facts;
  return html`
<tr data-key="${namespace}/${name}">\
<th scope="row" class="main"><a href="${keyPath(
  facts.apiKey,
)}"><bdi>${name}</bdi></a><small><bdi>${namespace}</bdi></small></th>\
<td data-label="Key">${status?.keyPrefix === undefined
  ? none('None yet')
  : html`<code>${status.keyPrefix}…</code>`}</td>\
<td data-label="Group" class="keys-group"><bdi>${spec.groupRef.name}</bdi></td>\
<td data-label="Enabled">${enabledSwitch(facts, rights.change.has(namespace))}</td>\
<td data-label="Spent of limit">${spentOfLimit(facts)}</td>\
<td data-label="Remaining" class="num">${remaining(facts)}</td>\
<td data-label="Last used">${facts.lastUsedMs === undefined 
  ? none('Never')
  : renderTime(facts.lastUsedMs, 'minute')}</td>\
<td data-label="Expires">${expires(facts, nowMs)}</td>\
<td data-label="Ready">${renderReadiness(facts.readiness)}</td>\
<td class="cell-actions">${actions(facts, rights)}</td></tr>`;
}

function none(text: string): Html {
  return html`<span class="soft">${text}</span>`;
}

/** Works without scripts: a button of the one form for all switches. */
function enabledSwitch({ apiKey }: KeyFacts, may: boolean): Html {
  const { metadata: { namespace, name }, spec: { enabled } } = apiKey;
  return html`<button type="submit" class="switch" role="switch" aria-checked="${String(
    enabled,
  )}" aria-label="${name} in ${namespace} is enabled" form="${SWITCH_FORM}" \
formaction="${keyPath(apiKey, 'enabled')}" name="to" value="${switchValue(apiKey)}"${may
  ? NOTHING
  : html` title="You may not change keys in ${namespace}"`}${flag('disabled', !may)}></button>`;
}

function spentOfLimit({ spentNanoUsd, limitNanoUsd }: KeyFacts): Html {
  if (limitNanoUsd === undefined) return html`<div class="meter"><div><span>${renderUsd(
    spentNanoUsd,
  )}</span><span class="soft">no limit</span></div></div>`;
  return html`<div class="meter"><div><span>${renderUsd(
    spentNanoUsd,
  )}</span><span class="soft">of ${renderUsd(limitNanoUsd)}</span></div>\
${renderBar({ part: spentNanoUsd, whole: limitNanoUsd, tone: barToneOf(spentNanoUsd, limitNanoUsd) })}</div>`;
}

function remaining({ remainingNanoUsd, apiKey: { spec: { quota } } }: KeyFacts): Html {
  if (remainingNanoUsd === undefined) return none('Unlimited');
  return quota.period === 'Never'
    ? renderUsd(remainingNanoUsd)
    : html`${renderUsd(remainingNanoUsd)}<small>${PERIOD_WORDS[quota.period]}</small>`;
}

function expires({ expiresMs }: KeyFacts, nowMs: number): Html {
  if (expiresMs === undefined) return none('Never');
  return expiresMs <= nowMs
    ? html`<span class="keys-over">${renderTime(expiresMs, 'day')}</span>`
    : renderTime(expiresMs, 'day');
}

function actions({ apiKey }: KeyFacts, { change, remove }: KeyRights): Html {
  const { namespace, name } = apiKey.metadata;
  const of = html`<span class="vh"> ${name} in ${namespace}</span>`;
  const rotates = change.has(namespace) && apiKey.spec.key.type === 'Generated';
  return html`${rotates
    ? html`<a class="button plain small" href="${keyPath(apiKey, 'rotate')}">Rotate${of}</a>`
    : NOTHING}\
${remove.has(namespace)
  ? html`<a class="button plain small danger" href="${keyPath(apiKey, 'delete')}">Delete${of}</a>`
  : NOTHING}`;
}
