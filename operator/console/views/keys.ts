/**
 * [P] The page of API keys: filters, the table, pages of a hundred, and what to do where there is nothing to show. It needs no
 * script; with browser/keys.js the list filters while one types and keeps itself up to date.
 */
import { hash } from 'node:crypto';
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { counted, formatCount } from '#web/figures.ts';
import { SWITCH_FORM } from './key-links.ts';
import { csrfField } from './csrf-field.ts';
import { renderNoKeys, renderNoMatch } from './keys-empty.ts';
import { formatSort, isFiltered, KEY_COLUMNS, keysPath } from './keys-query.ts';
import type { KeysQuery, YesNo } from './keys-query.ts';
import { PAGE_SIZE } from './keys-selection.ts';
import type { KeysSelection } from './keys-selection.ts';
import type { Place } from './rights-words.ts';
import { COLUMN_TITLES, renderKeysTable } from './keys-table.ts';
import type { KeyRights } from './keys-table.ts';

export interface KeysView {
  readonly selection: KeysSelection;
  /** As asked, on a page that there is. */
  readonly query: KeysQuery;
  readonly rights: KeyRights;
  readonly csrf: string;
  readonly nowMs: number;
  readonly place: Place;
  /** What was just done, in words. */
  readonly done: string | undefined;
}

/** The whole page. */
export function renderKeys(view: KeysView): Html {
  const { selection, query, rights, csrf, done } = view;
  const empty = selection.total === 0;
  return html`${renderKeysHead(rights.create.length > 0 && !empty)}
${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
${empty ? renderNoKeys(rights.create.length > 0, view.place) : html`${renderFilters(selection, query)}
<form method="post" id="${SWITCH_FORM}">${csrfField(csrf)}<input type="hidden" name="view" value="${keysPath(query)}"></form>
<div class="bar-line"><p class="count" id="keys-count" role="status">${countWords(view)}</p></div>
<div id="keys" data-version="${versionOf(view)}">${renderList(view)}</div>`}`;
}

/** The heading, and the way to a new key for who may make one. */
function renderKeysHead(create: boolean): Html {
  return html`<div class="page-head"><div><h1>API keys</h1>
<p class="lede">What programs call models with, each within its own limit.</p></div>
${create ? html`<div class="actions"><a class="button primary" href="/keys/new">Create key</a></div>` : NOTHING}</div>`;
}

/** What the page's script puts in place of the list; empty where the version that it has is still right. */
export function renderKeysPart(view: KeysView, known: string): Html {
  const version = versionOf(view);
  if (version === known) return NOTHING;
  return html`<div id="keys" data-version="${version}" data-count="${countWords(view)}">${renderList(view)}</div>`;
}

function renderList(view: KeysView): Html {
  const { selection, query } = view;
  if (selection.rows.length === 0) return renderNoMatch();
  return html`${renderKeysTable({ rows: selection.rows, query, rights: view.rights, nowMs: view.nowMs })}${renderPager(selection, query)}`;
}

function renderFilters({ namespaces, groups }: KeysSelection, query: KeysQuery): Html {
  return html`<form class="filters keys-filters" id="keys-filters" method="get" action="/keys" role="search" aria-label="API keys">
<label class="search"><span>Search</span><input type="search" name="q" value="${query.text}" placeholder="Name, namespace, prefix or group" autocomplete="off" spellcheck="false"></label>
<label><span>Namespace</span>${select('namespace', 'All namespaces', namespaces, query.namespace)}</label>
<label><span>Group</span>${select('group', 'All groups', groups, query.group)}</label>
<label><span>State</span>${choice('ready', query.ready, { yes: 'Ready', no: 'Not ready' })}</label>
<label><span>Enabled</span>${choice('enabled', query.enabled, { yes: 'Enabled', no: 'Disabled' })}</label>
<label class="keys-sort"><span>Sort by</span>${sortChoice(query)}</label>
<div class="actions"><button type="submit" class="button">Apply</button><a class="button plain" id="keys-clear" href="/keys"${flag('hidden', !isFiltered(query))}>Clear</a></div>
</form>`;
}

/** On phones the table's head is not there to sort by. */
function sortChoice({ sort }: KeysQuery): Html {
  const orders = KEY_COLUMNS.flatMap((column) => [{ column, descending: false }, { column, descending: true }]);
  return html`<select name="sort">${orders.map((order) => (
    html`<option value="${formatSort(order)}"${flag('selected', order.column === sort.column && order.descending === sort.descending)}>${COLUMN_TITLES[order.column]} ${order.descending ? '↓' : '↑'}</option>`))}</select>`;
}

/** A name that is chosen although nothing has it any more is still shown as chosen. */
function select(name: string, all: string, names: readonly string[], chosen: string): Html {
  const options = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  return html`<select name="${name}"><option value="">${all}</option>${options.map((each) => html`<option${flag('selected', each === chosen)}>${each}</option>`)}</select>`;
}

function choice(name: string, chosen: YesNo | undefined, words: Readonly<Record<YesNo, string>>): Html {
  return html`<select name="${name}"><option value="">All</option><option value="yes"${flag('selected', chosen === 'yes')}>${words.yes}</option>\
<option value="no"${flag('selected', chosen === 'no')}>${words.no}</option></select>`;
}

function renderPager({ page, pages, matches }: KeysSelection, query: KeysQuery): Html {
  if (pages === 1) return NOTHING;
  const first = (page - 1) * PAGE_SIZE + 1;
  const link = (to: number, words: string): Html => html`<a class="button small" href="${keysPath({ ...query, page: to })}">${words}</a>`;
  return html`<nav class="pager" aria-label="Pages"><p>${formatCount(first)}–${formatCount(Math.min(matches, page * PAGE_SIZE))} of ${formatCount(matches)} · page ${formatCount(page)} of ${formatCount(pages)}</p>
<div class="actions">${page > 2 ? link(1, 'First') : NOTHING}${page > 1 ? link(page - 1, 'Previous') : NOTHING}${page < pages ? link(page + 1, 'Next') : NOTHING}${page < pages - 1 ? link(pages, 'Last') : NOTHING}</div></nav>`;
}

function countWords({ selection: { matches, total } }: KeysView): string {
  return matches === total ? counted(total, 'key') : `${formatCount(matches)} of ${counted(total, 'key')}`;
}

/** Differs whenever the list would look different, but for the passing of time. */
function versionOf({ selection: { rows, matches, total, page }, query, rights, nowMs }: KeysView): string {
  const shown = rows.map(({ apiKey: { metadata: { namespace, name, uid }, spec, status }, expiresMs }) => [namespace, name, uid, spec, status, expiresMs !== undefined && expiresMs <= nowMs]);
  return hash('sha256', JSON.stringify([shown, matches, total, page, keysPath(query), [...rights.change], [...rights.remove]]), 'base64url').slice(0, 16);
}
