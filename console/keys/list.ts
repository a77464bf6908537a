/** The list of API keys, its live part, and its switches. */
import { hash } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { pluralize, formatCount } from '#web/format.ts';
import { flag, html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { accountIdOf } from '../../operator/store/resources.ts';
import { AccessError } from '../access/access.ts';
import type { PersonAccess } from '../access/access.ts';
import {
  findRows,
  formatSort,
  isFiltered,
  KEY_COLUMNS,
  keyRows,
  KEYS_PER_PAGE,
  keysPath,
  parseKeysQuery,
  selectKeys,
} from './query.ts';
import type { KeysQuery, KeysSelection } from './query.ts';
import { groupNames } from '../queries/names.ts';
import { KEY_STATUS_LABELS, KEY_STATUSES } from '../queries/key-status.ts';
import { readKeyStatuses } from '../queries/key-statuses.ts';
import { keysCsv } from './list-csv.ts';
import { COLUMN_TITLES, renderKeysTable } from './list-table.ts';
import type { KeyRights } from './list-table.ts';
import { changeKey, keyRef, readSwitchValue, requestedKeyWithUid, SWITCH_FORM, switchValue } from './requested-key.ts';
import type { SwitchRequest } from './requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { csrfField, renderMissingRight } from '../components/form.ts';
import type { Backend } from '../components/form.ts';
import { keyPath } from '../paths.ts';

export const keyListRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys', handle: openKeys },
  { method: 'GET', path: '/keys.csv', handle: downloadKeys },
  { method: 'POST', path: '/keys/:namespace/:name/enabled', handle: switchKey },
];

const DELETED = /^[a-z0-9][-a-z0-9.]*\/[a-z0-9][-a-z0-9.]*$/;

function openKeys(request: PageRequest): Promise<HandlerResult> {
  const query = parseKeysQuery(request.query);
  const known = request.query.get('part');
  return known === null ? keysPage(request, query, doneNotice(request)) : keysPart(request, query, known);
}

/** The notice about a deleted key: only a name, because an address can claim anything. */
function doneNotice({ query }: PageRequest): string | undefined {
  const deleted = query.get('deleted') ?? '';
  return DELETED.test(deleted) ? `The key ${deleted} is deleted.` : undefined;
}

const PAGE = { title: 'API keys', active: 'keys', scripts: ['keys.js'], styles: ['keys.css'] } as const;

/** The whole page, with what was just done. */
async function keysPage(request: PageRequest, query: KeysQuery, done?: string): Promise<HandlerResult> {
  const view = await keysView(request, query, done);
  if (view === undefined)
    return { page: { ...PAGE, body: renderNotAllowed(request.person.person.name, request.deps.access.backend) } };
  request.deps.usage?.prepare([...new Set(view.selection.rows.map(({ facts }) => accountIdOf(facts.apiKey)))]);
  return { page: { ...PAGE, body: renderKeys(view) } };
}

/** The list for the page's script; empty if the script has this version already. */
async function keysPart(request: PageRequest, query: KeysQuery, known: string): Promise<HandlerResult> {
  const view = await keysView(request, query, undefined);
  if (view === undefined) return { redirect: '/keys' };
  return { fragment: renderKeysPart(view, known) };
}

/** undefined: the person may see no keys anywhere. */
async function keysView(
  request: PageRequest,
  query: KeysQuery,
  done: string | undefined,
): Promise<KeysView | undefined> {
  const { person, deps, csrf, nowMs } = request;
  const [listing, rights] = await Promise.all([person.list('ApiKey'), keyRights(person)]);
  if (!listing.allowed && rights.create.length === 0) return undefined;
  const statusOf = await readKeyStatuses(request, listing.objects);
  const selection = selectKeys(listing.objects, query, { statusOf, groupNames: groupNames(deps) });
  return {
    selection,
    query: { ...query, page: selection.page },
    rights,
    csrf,
    nowMs,
    backend: deps.access.backend,
    done,
    off: switchedOff(request, listing.objects, rights),
  };
}

/** All keys that the filter lets through, in its order. */
async function downloadKeys(request: PageRequest): Promise<HandlerResult> {
  const { objects } = await request.person.list('ApiKey');
  const statusOf = await readKeyStatuses(request, objects);
  const rows = keyRows(objects, { statusOf, groupNames: groupNames(request.deps) });
  const content = keysCsv(findRows(rows, parseKeysQuery(request.query)));
  return { file: { name: 'api-keys.csv', contentType: 'text/csv; charset=utf-8', content } };
}

async function keyRights(person: PersonAccess): Promise<KeyRights> {
  const [create, change, remove] = await Promise.all([
    person.namespaces('create', 'ApiKey'),
    person.namespaces('patch', 'ApiKey'),
    person.namespaces('delete', 'ApiKey'),
  ]);
  return { create, change: new Set(change), remove: new Set(remove) };
}

/** How many conflicts are retried before an error. */
const MAX_ATTEMPTS = 3;

/** Retries after a conflict, because a concurrent change is most likely of another field. */
async function switchKey(request: PageRequest): Promise<HandlerResult> {
  const switched = readSwitchValue(request.form.get('to') ?? '');
  if (switched === undefined) throw new AccessError('Invalid', 'This page has no such switch. Nothing was changed.');
  for (let attempt = 1; ; attempt++) {
    try {
      await setEnabled(request, switched);
      return switchedAnswer(request, switched);
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

async function setEnabled(request: PageRequest, { uid, enabled }: SwitchRequest): Promise<void> {
  const apiKey = await requestedKeyWithUid(request, uid);
  if (apiKey.spec.enabled !== enabled) await changeKey(request, apiKey, { enabled });
}

function isConflict(error: unknown): boolean {
  return error instanceof AccessError && error.reason === 'Conflict';
}

/** Returns to the same view with an offer to undo, or the list for the script. */
function switchedAnswer(request: PageRequest, { enabled }: SwitchRequest): Promise<HandlerResult> | HandlerResult {
  const { form, params } = request;
  if (form.get('back') === 'key')
    return { redirect: `${keyPath({ metadata: keyRef(request) })}?done=${enabled ? 'on' : 'off'}` };
  const view = viewOf(form.get('view') ?? '');
  if (form.has('part')) return keysPart(request, view, '');
  const path = keysPath(view);
  const off = new URLSearchParams({ off: `${params['namespace'] ?? ''}/${params['name'] ?? ''}` }).toString();
  return { redirect: enabled ? path : `${path}${path.includes('?') ? '&' : '?'}${off}` };
}

/** The key that was switched off on the way here, if it is off and the person may switch it on. */
function switchedOff({ query }: PageRequest, apiKeys: readonly ApiKey[], { change }: KeyRights): ApiKey | undefined {
  const off = query.get('off');
  return off === null
    ? undefined
    : apiKeys.find(
        ({ metadata: { namespace, name }, spec }) =>
          off === `${namespace}/${name}` && !spec.enabled && change.has(namespace),
      );
}

/** keys.js shows the same after a switch, and removes it after ten seconds. */
function renderUndo(apiKey: ApiKey | undefined): Html {
  return html`<div id="keys-undo" role="status">
    ${
      apiKey === undefined
        ? NOTHING
        : html`<p class="notice">
            <span><bdi>${apiKey.metadata.name}</bdi> is switched off: its calls are refused.</span>
            <button
              type="submit"
              class="button small"
              form="${SWITCH_FORM}"
              formaction="${keyPath(apiKey, 'enabled')}"
              name="to"
              value="${switchValue(apiKey)}"
            >
              Undo
            </button>
          </p>`
    }
  </div>`;
}

/** Always a view of the list, whatever was posted. */
function viewOf(path: string): KeysQuery {
  return parseKeysQuery(new URLSearchParams(path.split('?')[1] ?? ''));
}

interface KeysView {
  readonly selection: KeysSelection;
  /** As asked, on a page that there is. */
  readonly query: KeysQuery;
  readonly rights: KeyRights;
  readonly csrf: string;
  readonly nowMs: number;
  readonly backend: Backend;
  /** What was just done, in words. */
  readonly done: string | undefined;
  /** The key that was just switched off. */
  readonly off: ApiKey | undefined;
}

/** The whole page. */
function renderKeys(view: KeysView): Html {
  const { selection, query, rights, csrf, done, off } = view;
  const empty = selection.total === 0;
  return html`${renderKeysHead(rights.create.length > 0 && !empty)}
  ${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
  ${
    empty
      ? renderNoKeys(rights.create.length > 0, view.backend)
      : html`${renderFilters(selection, query)}
          <form method="post" id="${SWITCH_FORM}">
            ${csrfField(csrf)} <input type="hidden" name="view" value="${keysPath(query)}" />
          </form>
          <div class="bar-line">
            <p class="count" id="keys-count" role="status">${countText(view)}</p>
            <p><a id="keys-csv" href="${keysPath({ ...query, page: 1 }, '/keys.csv')}">Download as CSV</a></p>
          </div>
          ${renderUndo(off)}
          <div id="keys" data-version="${versionOf(view)}">${renderList(view)}</div>`
  }`;
}

/** The heading, with a link to a new key for people who may create one. */
function renderKeysHead(create: boolean): Html {
  return html`<div class="page-head">
    <div>
      <h1>API keys</h1>
      <p class="lede">What programs call models with, each within its own limit.</p>
    </div>
    ${
      create
        ? html`<div class="actions">
            <a class="button primary" href="/keys/new">Create key</a>
          </div>`
        : NOTHING
    }
  </div>`;
}

/** The list for the page's script; empty if the script's version is current. */
function renderKeysPart(view: KeysView, known: string): Html {
  const version = versionOf(view);
  if (version === known) return NOTHING;
  return html`<div id="keys" data-version="${version}" data-count="${countText(view)}">${renderList(view)}</div>`;
}

function renderList(view: KeysView): Html {
  const { selection, query } = view;
  if (selection.rows.length === 0) return renderNoMatch();
  return html`${renderKeysTable({
    rows: selection.rows,
    query,
    rights: view.rights,
    nowMs: view.nowMs,
  })}${renderPager(selection, query)}`;
}

function renderFilters({ namespaces, groups, statuses, total }: KeysSelection, query: KeysQuery): Html {
  const names = namespaces.map((name) => [name, name] as const);
  const held = KEY_STATUSES.filter((status) => statuses.has(status)).map(
    (status) => [status, `${KEY_STATUS_LABELS[status]} (${formatCount(statuses.get(status) ?? 0)})`] as const,
  );
  return html`<form
    class="filters keys-filters"
    id="keys-filters"
    method="get"
    action="/keys"
    role="search"
    aria-label="API keys"
  >
    <label class="search">
      <span>Search</span>
      <input
        type="search"
        name="q"
        value="${query.text}"
        placeholder="Name, namespace, prefix or group"
        autocomplete="off"
        spellcheck="false"
      />
    </label>
    <label>
      <span>Status</span>
      ${select('status', `All (${formatCount(total)})`, held, query.status ?? '')}
    </label>
    <label>
      <span>Namespace</span>
      ${select('namespace', 'All namespaces', names, query.namespace)}
    </label>
    <label>
      <span>Group</span>
      ${select('group', 'All groups', groups, query.group)}
    </label>
    <label class="keys-sort">
      <span>Sort by</span>
      ${sortChoice(query)}
    </label>
    <div class="actions">
      <button type="submit" class="button">Apply</button>
      <a class="button plain" id="keys-clear" href="/keys" ${flag('hidden', !isFiltered(query))}>Clear</a>
    </div>
  </form>`;
}

/** Shown on phones, where the table has no head. */
function sortChoice({ sort }: KeysQuery): Html {
  const orders = KEY_COLUMNS.flatMap((column) => [
    { column, descending: false },
    { column, descending: true },
  ]);
  return html`<select name="sort">
    ${orders.map(
      (order) =>
        html`<option
          value="${formatSort(order)}"
          ${flag('selected', order.column === sort.column && order.descending === sort.descending)}
        >
          ${COLUMN_TITLES[order.column]} ${order.descending ? '↓' : '↑'}
        </option>`,
    )}
  </select>`;
}

/** Of values with their labels. A value that is chosen although nothing has it any more is still shown as chosen. */
function select(name: string, all: string, values: readonly (readonly [string, string])[], chosen: string): Html {
  const known = chosen === '' || values.some(([value]) => value === chosen);
  const options = known ? values : [...values, [chosen, labelOf(chosen)] as const];
  return html`<select name="${name}">
    <option value="">${all}</option>
    ${options.map(
      ([value, label]) => html`<option value="${value}" ${flag('selected', value === chosen)}>${label}</option>`,
    )}
  </select>`;
}

function labelOf(value: string): string {
  const status = KEY_STATUSES.find((each) => each === value);
  return status ? `${KEY_STATUS_LABELS[status]} (0)` : value;
}

function renderPager({ page, pages, matches }: KeysSelection, query: KeysQuery): Html {
  if (pages === 1) return NOTHING;
  const first = (page - 1) * KEYS_PER_PAGE + 1;
  const link = (to: number, label: string): Html =>
    html`<a class="button small" href="${keysPath({ ...query, page: to })}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">
    <p>
      ${formatCount(first)}–${formatCount(Math.min(matches, page * KEYS_PER_PAGE))} of ${formatCount(matches)} · page
      ${formatCount(page)} of ${formatCount(pages)}
    </p>
    <div class="actions">
      ${page > 2 ? link(1, 'First') : NOTHING} ${page > 1 ? link(page - 1, 'Previous') : NOTHING}
      ${page < pages ? link(page + 1, 'Next') : NOTHING} ${page < pages - 1 ? link(pages, 'Last') : NOTHING}
    </div>
  </nav>`;
}

function countText({ selection: { matches, total } }: KeysView): string {
  return matches === total ? pluralize(total, 'key') : `${formatCount(matches)} of ${pluralize(total, 'key')}`;
}

/** Changes whenever the list would look different, except for relative times. */
function versionOf({ selection: { rows, matches, total, page }, query, rights }: KeysView): string {
  const shown = rows.map(
    ({
      facts: {
        apiKey: { metadata, spec, status },
      },
      finding,
      group,
    }) => [metadata.namespace, metadata.name, metadata.uid, spec, status, finding, group],
  );
  return hash(
    'sha256',
    JSON.stringify([shown, matches, total, page, keysPath(query), [...rights.change], [...rights.remove]]),
    'base64url',
  ).slice(0, 16);
}

/** There is no key at all. */
function renderNoKeys(mayCreate: boolean, backend: Backend): Html {
  return html`<div class="empty" id="no-keys">
    <h2>No keys yet</h2>
    <p>
      With an API key, a program calls the models that its group opens: with the OpenAI or the Anthropic SDK, at this
      gateway's address.
    </p>
    ${
      mayCreate
        ? html`<div class="actions">
            <a class="button primary" href="/keys/new">Create your first key</a>
          </div>`
        : html`<p>You may see keys, but not create any. ${renderMissingRight(backend, 'create')}</p>`
    }
  </div>`;
}

/** There are keys, but none matches the filter. */
function renderNoMatch(): Html {
  return html`<div class="empty" id="no-match">
    <h2>No key matches</h2>
    <p>Search for fewer words, or choose other filters.</p>
    <div class="actions">
      <a class="button" href="/keys">Show all keys</a>
    </div>
  </div>`;
}

/** The person may not see keys in any known namespace. */
function renderNotAllowed(person: string, backend: Backend): Html {
  return html`<div class="page-head">
      <h1>API keys</h1>
    </div>
    <div class="empty" id="not-allowed">
      <h2>You may not see any API keys</h2>
      <p>
        Signed in as <b><bdi>${person}</bdi></b
        >. Seeing the keys of a namespace takes the rights <code>get</code> and <code>list</code> on
        <code>apikeys.modelgateway.dev</code> there; to work with them, <code>create</code>, <code>patch</code> and
        <code>delete</code> as well, and <code>get</code> on the keys' <code>secrets</code> to be shown a new key.
      </p>
      ${
        backend === 'Kubernetes'
          ? html`<p>Whoever administers the namespace can give them:</p>
              <pre class="code">${preformatted(grantCommands(person))}</pre>`
          : NOTHING
      }
    </div>`;
}

function grantCommands(person: string): string {
  const user = `'${person.replaceAll("'", String.raw`'\''`)}'`;
  return `kubectl create role api-keys -n NAMESPACE \\
  --verb=get,list,create,patch,delete \\
  --resource=apikeys.modelgateway.dev
kubectl create rolebinding api-keys -n NAMESPACE \\
  --role=api-keys --user=${user}`;
}
