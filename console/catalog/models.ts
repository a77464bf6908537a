/**
 * The models of the gateway: one list with their facts and prices and the calculator, in the groups that a person could
 * use or may read, or what one key can call at its group's prices; and the page of each model.
 */
import { Type } from 'typebox';
import type { ApiKey, ModelRoute, PriceCatalog } from '#crds/types.gen.ts';
import { compareText } from '#web/compare-text.ts';
import { namespacedName } from '#objects/resources.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderModel, renderModelName } from '#web/pricing/model-page.ts';
import type { PriceList } from '#web/pricing/price-list.ts';
import { renderCalculationPart, renderPrices } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import type { PricingQuery } from '#web/pricing/query.ts';
import { AccessError } from '../access/access.ts';
import { MAX_ID_LENGTH } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { mayAddModels } from './edit/new-model.ts';
import { callableModels } from '../queries/callable-models.ts';
import { seenGroups } from '../queries/seen-groups.ts';
import { editPath, keyPath, MODEL_ROOT, NEW_MODEL_PATH, modelPath, withParameters } from '../paths.ts';
import { notice } from '../components/notice.ts';
import { pageHead } from '../components/page.ts';
import { segments } from '../components/tabs.ts';

const PATH = '/models';
/** Those of web/pricing/query.ts; `part`: only the calculation, for a script; `key`: what this key can call. */
const MODELS_QUERY = Type.Record(Type.String(), Type.String({ maxLength: MAX_ID_LENGTH }));
/** A model's name may hold any character. */
const MODEL = Type.Object({ name: Type.String() });

type ModelsRequest = PageRequest<{ readonly query: typeof MODELS_QUERY }>;

async function showModels(request: ModelsRequest): Promise<HandlerResult> {
  const { deps, query: parameters, person } = request;
  // the holder of a key begins with what it can call
  if (person.ownKey && Object.keys(parameters).length === 0)
    return { redirect: withParameters(PATH, { key: namespacedName(person.ownKey) }) };
  const [{ list: all }, key, mayAdd] = await Promise.all([seenGroups(request), keyOf(request), mayAddModels(request)]);
  const list = key ? callableBy(key, all, request) : all;
  const query = pricingQuery(parameters, list, key);
  const part = parameters['part'] === 'calculation' ? renderCalculationPart(list, query) : undefined;
  if (part) return { fragment: part };
  const body = html`${renderHead(deps.gatewayUrl, list, mayAdd)} ${key ? renderKeySwitch(key) : NOTHING}
  ${key && list.pricing.rows.length === 0 ? notice(NONE_CALLABLE) : renderList(list, query, key)}`;
  return {
    page: {
      title: 'Models',
      active: 'models',
      body,
      scripts: ['pricing.js', 'calculator.js'],
      styles: ['pricing.css'],
    },
  };
}

const NONE_CALLABLE = 'This key can call no model at the moment: its group has none that is priced and served.';

function renderList(list: PriceList, query: PricingQuery, key: ApiKey | undefined): Html {
  const kept = key ? { key: namespacedName(key.metadata) } : {};
  return html`<div class="prices">${renderPrices(list, query, { modelRoot: MODEL_ROOT, kept })}</div>`;
}

/** The view that is asked for; of a key, at first at its group's prices. */
function pricingQuery(
  parameters: Readonly<Record<string, string>>,
  list: PriceList,
  key: ApiKey | undefined,
): PricingQuery {
  const asked = parsePricingQuery(new URLSearchParams(parameters), list.pricing);
  return key && parameters['group'] === undefined ? { ...asked, group: groupOf(key, list) } : asked;
}

/** The key that is asked for, if the person may see it. */
async function keyOf({ query, person }: ModelsRequest): Promise<ApiKey | undefined> {
  const id = query['key'] ?? '';
  if (id === '') return undefined;
  const { objects } = await person.list('ApiKey');
  return objects.find(({ metadata }) => namespacedName(metadata) === id);
}

/** The list with only the models that a key can call. */
function callableBy(key: ApiKey, list: PriceList, { deps }: ModelsRequest): PriceList {
  const callable = new Set(callableModels(deps, key).map(({ model }) => model));
  return {
    ...list,
    pricing: { ...list.pricing, rows: list.pricing.rows.filter(({ modelName }) => callable.has(modelName)) },
  };
}

function groupOf({ spec }: ApiKey, { pricing: { groups } }: PriceList): string | undefined {
  return groups.find(({ name }) => name === spec.groupRef.name)?.name;
}

function renderKeySwitch(key: ApiKey): Html {
  const id = namespacedName(key.metadata);
  return html`<div class="toolbar">
    ${segments('Which models', [
      { label: `Callable by ${id}`, href: withParameters(PATH, { key: id }), current: true },
      { label: 'All models', href: `${PATH}?key=`, current: false },
    ])}
    <a href="${keyPath(key, 'use')}">How this key calls them</a>
  </div>`;
}

function renderHead(gatewayUrl: string | undefined, { pricing: { rows } }: PriceList, mayAdd: boolean): Html {
  const calculator = rows.length === 0 ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`;
  const publicHref = gatewayUrl === undefined ? undefined : `${gatewayUrl.replace(/\/$/, '')}/pricing`;
  return pageHead({
    title: 'Models',
    lede: html`What each model takes and makes, and what it costs in US dollars, as of now. Every model has ratios that
    say what its tokens cost; the group of a key multiplies them.${calculator}`,
    ...(mayAdd && { actions: html`<a class="button" href="${NEW_MODEL_PATH}">Add a model</a>` }),
    ...(publicHref !== undefined && {
      beside: html`<p class="soft">
        Also without signing in: <a href="${publicHref}">${publicHref.replace(/^https?:\/\//, '')}</a>
      </p>`,
    }),
  });
}

async function showModel(request: PageRequest<{ readonly params: typeof MODEL }>): Promise<HandlerResult> {
  const {
    deps,
    params: { name },
  } = request;
  const { list } = await seenGroups(request);
  const row = list.pricing.rows.find(({ modelName }) => modelName === name);
  if (!row) throw new AccessError('NotFound', 'No PriceCatalog has a price for a model of this name.');
  const body = html`${pageHead({
      above: [{ path: PATH, label: 'Models' }],
      title: renderModelName(name),
      here: name,
      actions: html`${await renderEdits(request, name)}
        <a class="button" href="${withParameters('/usage/calls', { model: name })}">Its calls</a>`,
    })}
    <div class="prices">${renderModel(list, row, { gatewayUrl: deps.gatewayUrl })}</div>`;
  return { page: { title: `${name} · Models`, active: 'models', body, scripts: ['copy.js'], styles: ['pricing.css'] } };
}

/** Links to the forms of what makes the model: its prices and its routes, for people who may read these. */
async function renderEdits({ person }: Pick<PageRequest, 'person'>, model: string): Promise<Html> {
  const [catalogs, routes] = await Promise.all([person.list('PriceCatalog'), person.list('ModelRoute')]);
  const link = (place: string, object: string, label: string): Html =>
    html`<a class="button" href="${editPath(place, { object, entry: model })}">${label}</a>`;
  const found = (objects: readonly (PriceCatalog | ModelRoute)[]): string[] =>
    objects
      .filter(({ spec }) => spec.models.some(({ name }) => name === model))
      .map(({ metadata }) => metadata.name)
      .sort(compareText);
  return html`${found(catalogs.objects).map((name) => link('price', name, `Edit its price in ${name}`))}
  ${found(routes.objects).map((name) => link('model', name, `Edit it in ${name}`))}`;
}

export const modelsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, query: MODELS_QUERY, handle: showModels }),
  route({ method: 'GET', path: '/models/:name', params: MODEL, handle: showModel }),
  // where prices and models had pages of their own
  route({
    method: 'GET',
    path: '/prices',
    query: MODELS_QUERY,
    handle: ({ query }) => ({ redirect: withParameters(PATH, query) }),
  }),
  route({
    method: 'GET',
    path: '/prices/models/:name',
    params: MODEL,
    handle: ({ params }) => ({ redirect: modelPath(params.name) }),
  }),
];
