/** The list of API keys, its live part, and its switches. */
import { Type } from 'typebox';
import { hash } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { pluralize, formatCount } from '#web/format.ts';
import { flag, html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { accountIdOf, namespacedName } from '#objects/resources.ts';
import { AccessError } from '../access/access.ts';
import type { PersonAccess } from '../access/access.ts';
import {
  findRows,
  formatSort,
  isFiltered,
  KEY_COLUMNS,
  keyRows,
  KEYS_PER_PAGE,
  KEYS_QUERY,
  keysPath,
  parseKeysQuery,
  selectKeys,
} from './query.ts';
import type { KeysQuery, KeysSelection } from './query.ts';
import { groupNames } from '../queries/names.ts';
import { KEY_STATUS_LABELS, KEY_STATUSES } from '../queries/key-status.ts';
import { readKeyStatuses } from '../queries/key-statuses.ts';
import { UNDO_SCRIPT, undoOffer } from './undo.ts';
import { keysCsv } from './list-csv.ts';
import { COLUMN_TITLES, renderKeysTable } from './list-table.ts';
import type { KeyRights } from './list-table.ts';
import { changeKey, readSwitchValue, requestedKeyWithUid, SWITCH_FORM, switchValue } from './requested-key.ts';
import type { KeyRequest, SwitchRequest } from './requested-key.ts';
import { formText, MAX_ID_LENGTH, OBJECT, parseQuery, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { postForm } from '../components/form.ts';
import { renderMissingRight, rightsOf } from '../components/missing-right.ts';
import type { Backend, MissingRight } from '../components/missing-right.ts';
import { keyPath } from '../paths.ts';
import { pageHead, empty } from '../components/page.ts';
import { filters, searchFilter, selectFilter } from '../components/filters.ts';
import { pager } from '../components/pager.ts';
import { doneNotice } from '../components/notice.ts';

const LIST_QUERY = Type.Object({
  ...KEYS_QUERY.properties,
  /** The version of the list that the page's script has: only a newer one is sent. */
  part: queryText(),
  /** "namespace/name" of the key that was just deleted, or switched off. */
  deleted: queryText(MAX_ID_LENGTH),
  off: queryText(MAX_ID_LENGTH),
});
const SWITCH_FIELDS = Type.Object({
  to: formText(),
  /** "key": the switch is on the key's own page. */
  back: formText(),
  /** The path of the list that the switch is in. */
  view: formText(),
  /** Present: a script switched it, and shows the list. */
  part: formText(),
});

type ListRequest = PageRequest<{ readonly query: typeof LIST_QUERY }>;
type SwitchKeyRequest = KeyRequest & ListRequest & PageRequest<{ readonly form: typeof SWITCH_FIELDS }>;

export const keyListRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/keys', query: LIST_QUERY, handle: openKeys }),
  route({ method: 'GET', path: '/keys.csv', query: LIST_QUERY, handle: downloadKeys }),
  route({
    method: 'POST',
    path: '/keys/:namespace/:name/enabled',
    params: OBJECT,
    query: LIST_QUERY,
    form: SWITCH_FIELDS,
    handle: switchKey,
  }),
];

const DELETED = /^[a-z0-9][-a-z0-9.]*\/[a-z0-9][-a-z0-9.]*$/;

function openKeys(request: ListRequest): Promise<HandlerResult> {
  const query = parseKeysQuery(request.query);
  const known = request.query.part;
  return known === undefined ? keysPage(request, query, deletedText(request)) : keysPart(request, query, known);
}

/** The notice about a deleted key: only a name, because an address can claim anything. */
function deletedText({ query: { deleted = '' } }: ListRequest): string | undefined {
  return DELETED.test(deleted) ? `The key ${deleted} is deleted.` : undefined;
}

const PAGE = { title: 'API keys', active: 'keys', scripts: ['keys.js', UNDO_SCRIPT], styles: ['keys.css'] } as const;

/** The whole page, with what was just done. */
async function keysPage(request: ListRequest, query: KeysQuery, done?: string): Promise<HandlerResult> {
  const view = await keysView(request, query, { done, off: request.query.off });
  if (view === undefined)
    return { page: { ...PAGE, body: renderNotAllowed(request.person.person.name, request.deps.access.backend) } };
  request.deps.usage?.prepare([...new Set(view.selection.rows.map(({ facts }) => accountIdOf(facts.apiKey)))]);
  return { page: { ...PAGE, body: renderKeys(view) } };
}

/** The list for the page's script; empty if the script has this version already. */
async function keysPart(request: ListRequest, query: KeysQuery, known: string): Promise<HandlerResult> {
  const view = await keysView(request, query);
  if (view === undefined) return { redirect: '/keys' };
  return { fragment: renderKeysPart(view, known) };
}

/** The list for the page's script after a switch, with an offer to undo it. */
async function switchedPart(request: ListRequest, query: KeysQuery, off: string | undefined): Promise<HandlerResult> {
  const view = await keysView(request, query, { off });
  if (view === undefined) return { redirect: '/keys' };
  return { fragment: html`${undoOffer(view.off, undoButton)}${renderKeysPart(view, '')}` };
}

interface Happened {
  /** In words. */
  readonly done?: string | undefined;
  /** "namespace/name" of the key that was switched off. */
  readonly off?: string | undefined;
}

/** undefined: the person may see no keys anywhere. */
async function keysView(
  request: ListRequest,
  query: KeysQuery,
  { done, off }: Happened = {},
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
    missing: rightsOf(deps.access.backend, person),
    done,
    off: switchedOff(off, listing.objects, rights),
  };
}

/** All keys that the filter lets through, in its order. */
async function downloadKeys(request: ListRequest): Promise<HandlerResult> {
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
async function switchKey(request: SwitchKeyRequest): Promise<HandlerResult> {
  const switched = readSwitchValue(request.form.to ?? '');
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

async function setEnabled(request: SwitchKeyRequest, { uid, enabled }: SwitchRequest): Promise<void> {
  const apiKey = await requestedKeyWithUid(request, uid);
  if (apiKey.spec.enabled !== enabled) await changeKey(request, apiKey, { enabled });
}

function isConflict(error: unknown): boolean {
  return error instanceof AccessError && error.reason === 'Conflict';
}

/** Leads to the same view with an offer to undo, or returns both to the script. */
function switchedAnswer(request: SwitchKeyRequest, { enabled }: SwitchRequest): Promise<HandlerResult> | HandlerResult {
  const { form, params } = request;
  if (form.back === 'key') return { redirect: `${keyPath({ metadata: params })}?done=${enabled ? 'on' : 'off'}` };
  const view = viewOf(form.view ?? '');
  const off = enabled ? undefined : namespacedName(params);
  if (form.part !== undefined) return switchedPart(request, view, off);
  const path = keysPath(view);
  if (off === undefined) return { redirect: path };
  return { redirect: `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ off }).toString()}` };
}

/** The key that was switched off on the way here, if it is off and the person may switch it on. */
function switchedOff(off: string | undefined, apiKeys: readonly ApiKey[], { change }: KeyRights): ApiKey | undefined {
  return off === undefined
    ? undefined
    : apiKeys.find(
        ({ metadata: { namespace, name }, spec }) =>
          off === `${namespace}/${name}` && !spec.enabled && change.has(namespace),
      );
}

function undoButton(apiKey: ApiKey): Html {
  return html`<button
    type="submit"
    class="button small"
    form="${SWITCH_FORM}"
    formaction="${keyPath(apiKey, 'enabled')}"
    name="to"
    value="${switchValue(apiKey)}"
  >
    Undo
  </button>`;
}

/** Always a view of the list, whatever was posted. */
function viewOf(path: string): KeysQuery {
  return parseKeysQuery(parseQuery(path.split('?')[1] ?? ''));
}

interface KeysView {
  readonly selection: KeysSelection;
  /** As asked, on a page that there is. */
  readonly query: KeysQuery;
  readonly rights: KeyRights;
  readonly csrf: string;
  readonly nowMs: number;
  readonly missing: MissingRight;
  /** What was just done, in words. */
  readonly done: string | undefined;
  /** The key that was just switched off. */
  readonly off: ApiKey | undefined;
}

/** The whole page. */
function renderKeys(view: KeysView): Html {
  const { selection, query, rights, csrf, done, off } = view;
  const mayCreate = rights.create.length > 0;
  const create = html`<a class="button primary" href="/keys/new">Create key</a>`;
  const list = html`${renderFilters(selection, query)}
    ${postForm({ action: '/keys', csrf, id: SWITCH_FORM, style: '', hidden: { view: keysPath(query) } }, NOTHING)}
    <div class="bar-line">
      <p class="count" id="keys-count" role="status">${countText(view)}</p>
      <p><a id="keys-csv" href="${keysPath({ ...query, page: 1 }, '/keys.csv')}">Download as CSV</a></p>
    </div>
    ${undoOffer(off, undoButton)}
    <div id="keys" data-version="${versionOf(view)}">${renderList(view)}</div>`;
  return html`${pageHead({
    title: 'API keys',
    lede: 'What programs call models with, each within its own limit.',
    ...(mayCreate && selection.total > 0 && { actions: create }),
  })}
  ${doneNotice(done)} ${selection.total === 0 ? renderNoKeys(mayCreate, view.missing) : list}`;
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
  const held = KEY_STATUSES.filter((status) => statuses.has(status) || status === query.status).map(
    (status) => [status, `${KEY_STATUS_LABELS[status]} (${formatCount(statuses.get(status) ?? 0)})`] as const,
  );
  const clear = html`<a class="button plain" id="keys-clear" href="/keys" ${flag('hidden', !isFiltered(query))}
    >Clear</a
  >`;
  return filters({ action: '/keys', label: 'API keys', style: 'keys-filters', id: 'keys-filters', clear }, [
    searchFilter(query.text, 'Name, namespace, prefix or group'),
    selectFilter({
      label: 'Status',
      name: 'status',
      all: `All (${formatCount(total)})`,
      options: held,
      chosen: query.status ?? '',
    }),
    selectFilter({
      label: 'Namespace',
      name: 'namespace',
      all: 'All namespaces',
      options: names,
      chosen: query.namespace,
    }),
    selectFilter({ label: 'Group', name: 'group', all: 'All groups', options: groups, chosen: query.group }),
    sortChoice(query),
  ]);
}

/** Shown on phones, where the table has no head. */
function sortChoice({ sort }: KeysQuery): Html {
  const orders = KEY_COLUMNS.flatMap((column) => [
    { column, descending: false },
    { column, descending: true },
  ]);
  return selectFilter({
    label: 'Sort by',
    name: 'sort',
    options: orders.map((order) => [
      formatSort(order),
      `${COLUMN_TITLES[order.column]} ${order.descending ? '↓' : '↑'}`,
    ]),
    chosen: formatSort(sort),
    style: 'keys-sort',
  });
}

function renderPager({ page, matches }: KeysSelection, query: KeysQuery): Html {
  return pager({
    page,
    pageSize: KEYS_PER_PAGE,
    total: matches,
    hrefOf: (to) => keysPath({ ...query, page: to }),
  });
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
function renderNoKeys(mayCreate: boolean, missing: MissingRight): Html {
  return empty(
    {
      id: 'no-keys',
      title: 'No keys yet',
      ...(mayCreate && { actions: html`<a class="button primary" href="/keys/new">Create your first key</a>` }),
    },
    html`<p>
        With an API key, a program calls the models that its group opens: with the OpenAI or the Anthropic SDK, at this
        gateway's address.
      </p>
      ${
        mayCreate
          ? NOTHING
          : html`<p>You may see keys, but not create any. ${renderMissingRight(missing, 'create')}</p>`
      }`,
  );
}

/** There are keys, but none matches the filter. */
function renderNoMatch(): Html {
  return empty(
    { id: 'no-match', title: 'No key matches', actions: html`<a class="button" href="/keys">Show all keys</a>` },
    html`<p>Search for fewer words, or choose other filters.</p>`,
  );
}

/** The person may not see keys in any known namespace. */
function renderNotAllowed(person: string, backend: Backend): Html {
  return html`${pageHead({ title: 'API keys' })}
  ${empty(
    { id: 'not-allowed', title: 'You may not see any API keys' },
    html`<p>
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
      }`,
  )}`;
}

function grantCommands(person: string): string {
  const user = `'${person.replaceAll("'", String.raw`'\''`)}'`;
  return `kubectl create role api-keys -n NAMESPACE \\
  --verb=get,list,create,patch,delete \\
  --resource=apikeys.modelgateway.dev
kubectl create rolebinding api-keys -n NAMESPACE \\
  --role=api-keys --user=${user}`;
}
