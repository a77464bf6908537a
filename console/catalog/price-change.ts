/** What an edit of a PriceCatalog would have cost the calls of the last days, before anybody saves it. */
import { Type } from 'typebox';
import { compareText } from '#web/compare-text.ts';
import { pluralize } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { manifestOf } from '../queries/manifest.ts';
import { priceChange, readEdit } from './compute-change.ts';
import { renderPriceChange } from './price-change-view.ts';
import { formText, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { groupNames } from '../queries/names.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import { NO_FILTER } from '../queries/usage-query.ts';
import { choiceForm, postForm } from '../components/form.ts';
import { withParameters } from '../paths.ts';
import { renderLedgerNotice } from '../components/ledger-notice.ts';
import { pageHead } from '../components/page.ts';
import { selectFilter } from '../components/filters.ts';
import { textArea } from '../components/field.ts';

export const CHANGE_PATH = '/catalogs/change';
const DAY_MS = 86_400_000;
const DAYS = [1, 7, 30];
const CATALOG_QUERY = Type.Object({ catalog: queryText() });
const CHANGE_FORM = Type.Object({ manifest: formText(), days: formText() });

type CatalogRequest = PageRequest<{ readonly query: typeof CATALOG_QUERY }>;

/** The values of the form. */
interface Draft {
  /** The names of the catalogs that a change can start from. */
  readonly names: readonly string[];
  /** The catalog that it starts from; empty: there is none. */
  readonly chosen: string;
  readonly manifest: string;
  readonly days: number;
}

/** Whether the person may read the catalogs of the gateway. Holders of a key may not. */
export async function seesPriceChanges({ person, deps }: Pick<PageRequest, 'person' | 'deps'>): Promise<boolean> {
  return person.ownKey === undefined && person.may('list', 'PriceCatalog', { namespace: deps.gatewayNamespace });
}

async function showForm(request: CatalogRequest): Promise<HandlerResult> {
  return changePage(request, await readDraft(request), NOTHING);
}

async function showChange(
  request: CatalogRequest & PageRequest<{ readonly form: typeof CHANGE_FORM }>,
): Promise<HandlerResult> {
  const {
    deps,
    deps: { usage },
    form,
    nowMs,
    gone,
  } = request;
  const days = DAYS.find((each) => String(each) === form.days) ?? 7;
  // browsers send the line breaks of a text area as CR LF
  const manifest = (form.manifest ?? '').replaceAll('\r\n', '\n');
  const draft = { ...(await readDraft(request)), manifest, days };
  if (!usage) return changePage(request, draft, renderLedgerNotice('Missing'));
  const edit = await readEdit(draft.manifest, deps);
  if ('mistakes' in edit) return changePage(request, draft, NOTHING, edit.mistakes);
  const scope = await readScope(request);
  const calls = usage.records(callQueryOf(scope, { ...NO_FILTER, sinceMs: nowMs - days * DAY_MS, untilMs: nowMs }));
  const { gatewayNamespace, translator, nextTurn } = deps;
  const change = await priceChange(edit.catalog, calls, {
    resources: deps.resources(),
    gatewayNamespace,
    translator,
    nextTurn,
    nowMs,
    gone,
  });
  if ('mistakes' in change) return changePage(request, draft, NOTHING, change.mistakes);
  return changePage(request, draft, renderPriceChange(change, { scope, groups: groupNames(deps) }, days));
}

/** The catalog that the address names, or the first one. Rejects with NotFound where the person may not see any. */
async function readDraft(request: CatalogRequest): Promise<Draft> {
  const {
    person,
    deps: { gatewayNamespace },
    query,
  } = request;
  if (!(await seesPriceChanges(request)))
    throw new AccessError('NotFound', "This page is for people who may list the gateway's PriceCatalogs.");
  const { objects } = await person.list('PriceCatalog');
  const catalogs = objects
    .filter(({ metadata, spec }) => metadata.namespace === gatewayNamespace && spec.purpose !== 'Costs')
    .sort((a, b) => compareText(a.metadata.name, b.metadata.name));
  const chosen = catalogs.find(({ metadata }) => metadata.name === query.catalog) ?? catalogs[0];
  return {
    names: catalogs.map(({ metadata }) => metadata.name),
    chosen: chosen?.metadata.name ?? '',
    manifest: chosen ? manifestOf(chosen) : '',
    days: 7,
  };
}

function changePage(
  { csrf, deps }: CatalogRequest,
  { names, chosen, manifest, days }: Draft,
  result: Html,
  mistakes: readonly string[] = [],
): HandlerResult {
  const errors = mistakes.map((message) => ({ field: 'manifest', message }));
  const save =
    deps.access.backend === 'Files'
      ? "Write the manifest into the gateway's folder to put it in force."
      : html`<code>kubectl apply</code> it, or merge it, to put it in force.`;
  const fields = html`${textArea({ field: 'manifest', label: 'Manifest', value: manifest, errors, rows: 24, tall: true })}
    <div class="toolbar">
      ${selectFilter({
        label: 'Calls of',
        name: 'days',
        options: DAYS.map((each) => [String(each), `Last ${pluralize(each, 'day')}`]),
        chosen: String(days),
      })}
      <button type="submit" class="button primary">Show what changes</button>
    </div>`;
  const body = html`${pageHead({
      above: [{ path: '/catalogs', label: 'Price catalogs' }],
      title: 'Preview a price change',
      here: 'Preview a change',
      lede: html`Edit a PriceCatalog and see what the calls of the last days would have cost by it. Nothing is saved.
      ${save}`,
    })}
    ${names.length > 1 ? renderChoice(names, chosen) : NOTHING}
    ${postForm({ action: `${withParameters(CHANGE_PATH, { catalog: chosen })}#result`, csrf }, fields)}
    <div id="result">${result}</div>`;
  return {
    page: { title: 'Preview a price change', active: 'catalogs', body, styles: ['pricing.css'] },
    status: mistakes.length > 0 ? 422 : 200,
  };
}

function renderChoice(names: readonly string[], chosen: string): Html {
  return choiceForm(
    { action: CHANGE_PATH, button: 'Load' },
    selectFilter({ label: 'Catalog', name: 'catalog', options: names.map((name) => [name, name]), chosen }),
  );
}

export const priceChangeRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/prices/change',
    query: CATALOG_QUERY,
    handle: ({ query }) => ({ redirect: withParameters(CHANGE_PATH, query) }),
  }),
  route({ method: 'GET', path: CHANGE_PATH, query: CATALOG_QUERY, handle: showForm }),
  route({ method: 'POST', path: CHANGE_PATH, query: CATALOG_QUERY, form: CHANGE_FORM, handle: showChange }),
];
