/** The gateway's price list with its calculator. Prices are public: everybody who is signed in sees all of them. */
import type { CompiledPrice } from '#price/sheet.ts';
import { hasOwnPrice } from '#snapshot/catalog-prices.ts';
import { ONE_E9 } from '#snapshot/decimal.ts';
import { Endpoint, Input } from '#snapshot/snapshot.gen.ts';
import type { DirectAccess, Group, Model, ModelRoute, Snapshot } from '#snapshot/snapshot.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { Endpoint as EndpointName, ServedModel } from '#web/pricing/model-facts.ts';
import { renderModel, renderModelName } from '#web/pricing/model-page.ts';
import type { OfferingGroup, PricedCandidate, PricedOffer, PriceList } from '#web/pricing/price-list.ts';
import { makePricingGroups, makePricingRows } from '#web/pricing/price-rows.ts';
import type { ModelPrice } from '#web/pricing/price-rows.ts';
import { renderCalculationPart, renderPrices } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import type { PricingQuery } from '#web/pricing/query.ts';
import { rankRows } from '#web/pricing/rows.ts';
import type { RankedRow } from '#web/pricing/rows.ts';
import { indexPrices, priceAt } from '../../dataplane/state/compile-pricing.ts';
import type { PriceEntry } from '../../dataplane/state/compile-pricing.ts';
import { withoutTenants } from '../../operator/store/resources.ts';
import type { Resources } from '../../operator/store/resources.ts';
import { translate } from '../../operator/translate/translate.ts';
import { AccessError } from '../access/access.ts';
import { seesPriceChanges } from './price-change.ts';
import type { HandlerResult, ConsoleDeps, ConsoleRoute, PageRequest } from '../route.ts';

const MODEL_ROOT = '/prices/models/';

/** Computed once per console, and once per list. */
const compilers = new WeakMap<ConsoleDeps, ReturnType<typeof createPriceLists>>();
const rankings = new WeakMap<PriceList, readonly RankedRow[]>();

async function showPrices(request: PageRequest): Promise<HandlerResult> {
  const { deps, query: parameters } = request;
  const list = priceListOf(deps);
  const query = parsePricingQuery(parameters, list.pricing);
  const part = parameters.get('part') === 'calculation' ? renderCalculationPart(list, query) : undefined;
  if (part) return { fragment: part };
  const body = renderPricesPage(list, query, {
    ranked: ranked(list),
    mayPreview: await seesPriceChanges(request),
    publicHref: deps.gatewayUrl === undefined ? undefined : `${deps.gatewayUrl.replace(/\/$/, '')}/pricing`,
  });
  return {
    page: {
      title: 'Prices',
      active: 'prices',
      body,
      scripts: ['pricing.js', 'calculator.js'],
      styles: ['pricing.css'],
    },
  };
}

/** The prices of all groups as they are now. */
export function priceListOf(deps: ConsoleDeps): PriceList {
  let compile = compilers.get(deps);
  if (!compile) compilers.set(deps, (compile = createPriceLists(deps.gatewayNamespace)));
  return compile(deps.resources(), deps.nowMs());
}

function ranked(list: PriceList): readonly RankedRow[] {
  let rows = rankings.get(list);
  if (!rows) rankings.set(list, (rows = rankRows(list.pricing.rows)));
  return rows;
}

function showModel({ deps, params }: PageRequest): HandlerResult {
  const list = priceListOf(deps);
  const name = params['name'] ?? '';
  const row = list.pricing.rows.find(({ modelName }) => modelName === name);
  if (!row) throw new AccessError('NotFound', 'No PriceCatalog has a price for a model of this name.');
  const body = html`<div class="page-head">
      <div>
        <nav class="crumbs" aria-label="Where this page is">
          <ol>
            <li><a href="/prices">Prices</a></li>
            <li aria-current="page"><bdi>${name}</bdi></li>
          </ol>
        </nav>
        <h1>${renderModelName(name)}</h1>
      </div>
    </div>
    <div class="prices">${renderModel(list, row, { gatewayUrl: deps.gatewayUrl })}</div>`;
  return { page: { title: `${name} · Prices`, active: 'prices', body, scripts: ['copy.js'], styles: ['pricing.css'] } };
}

export const pricesRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/prices', handle: showPrices },
  { method: 'GET', path: '/prices/models/:name', handle: showModel },
];

/** The price list of the resources. Returns the same object while the resources that prices come from are the same. */
export function createPriceLists(gatewayNamespace: string): (resources: Resources, nowMs: number) => PriceList {
  let last: { readonly sources: readonly unknown[]; readonly list: PriceList; readonly untilMs: number } | undefined;
  return (resources, nowMs) => {
    const { groups, modelRoutes, priceCatalogs, malformed, secrets } = resources;
    const sources = [groups, modelRoutes, priceCatalogs, malformed, secrets];
    const isSame = last !== undefined && sources.every((source, index) => source === last?.sources[index]);
    if (last && isSame && nowMs < last.untilMs) return last.list;
    const { snapshot, nextChangeMs: untilMs = Number.POSITIVE_INFINITY } = translate(withoutTenants(resources), {
      gatewayNamespace,
      nowMs,
    });
    const list = compilePriceList(snapshot);
    last = { sources, list, untilMs };
    return list;
  };
}

/** What a proxy would show for this snapshot. */
export function compilePriceList({
  groups,
  routes,
  catalogs,
}: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'>): PriceList {
  const prices = indexPrices(catalogs);
  const offering = offeringGroups(groups, new Map(routes.map((route) => [route.name, route])), prices);
  return {
    pricing: {
      rows: makePricingRows({
        prices: prices.values(),
        groups: offering.values(),
        served: routes.flatMap(({ models }) => models.map(servedModel)),
      }),
      groups: makePricingGroups(
        groups.map(({ name, displayName, priceRatioE9, restricted, access }) => ({
          name,
          displayName,
          priceRatioE9,
          restricted,
          memberNames: access?.$case === 'automatic' ? access.value.members : undefined,
        })),
        (name) => [...(offering.get(name)?.offers.keys() ?? [])].some((model) => prices.has(model)),
      ),
    },
    groups: offering,
  };
}

const ENDPOINTS: Readonly<Partial<Record<Endpoint, EndpointName>>> = {
  [Endpoint.CHAT]: 'Chat',
  [Endpoint.EMBEDDINGS]: 'Embeddings',
  [Endpoint.IMAGES]: 'Images',
  [Endpoint.VIDEOS]: 'Videos',
  [Endpoint.SPEECH]: 'Speech',
  [Endpoint.TRANSCRIPTIONS]: 'Transcriptions',
  [Endpoint.REALTIME]: 'Realtime',
};

function servedModel({
  name,
  endpoints,
  inputs,
  contextTokens,
  maxOutputTokens,
}: Model): ServedModel & { readonly name: string } {
  return {
    name,
    contextTokens,
    maxOutputTokens,
    acceptsImages: inputs.includes(Input.IMAGE),
    endpoints: endpoints.flatMap((endpoint) => ENDPOINTS[endpoint] ?? []),
  };
}

type Prices = ReadonlyMap<string, PriceEntry>;

/**
 * A Direct group serves what its routes have; an Automatic one what its members do, at the member's ratio times its
 * own.
 */
function offeringGroups(
  groups: readonly Group[],
  routes: ReadonlyMap<string, ModelRoute>,
  prices: Prices,
): Map<string, OfferingGroup> {
  const direct = new Map(
    groups.flatMap(({ name, access, priceRatioE9 }) =>
      access?.$case === 'direct' ? [[name, { priceRatioE9, models: servedModels(access.value, routes) }] as const] : [],
    ),
  );
  return new Map(
    groups.map(({ name, displayName, access, priceRatioE9 }) => {
      const members = access?.$case === 'automatic' ? access.value.members : [name];
      const ownRatioE9 = access?.$case === 'automatic' ? priceRatioE9 : ONE_E9;
      const offers = new Map<string, PricedCandidate[]>();
      for (const member of members) {
        const { priceRatioE9: ratioE9, models } = direct.get(member) ?? { priceRatioE9: 0n, models: NO_MODELS };
        for (const [model, channels] of models) {
          const candidates = pricesOn(prices.get(model), ratioE9 * ownRatioE9, channels).map(
            (price): PricedCandidate => ({ group: member, price }),
          );
          offers.set(model, [...(offers.get(model) ?? []), ...candidates]);
        }
      }
      return [
        name,
        {
          name,
          displayName,
          offers: new Map([...offers].map(([model, candidates]) => [model, offerOf(prices.get(model), candidates)])),
        },
      ];
    }),
  );
}

function offerOf(price: ModelPrice | undefined, candidates: readonly PricedCandidate[]): PricedOffer {
  return { quotaType: price?.quotaType, tiers: [candidates] };
}

type ServedModels = ReadonlyMap<string, readonly string[]>;
const NO_MODELS: ServedModels = new Map<string, never>();

/** Models that at least one channel may serve, with these channels as "route/channel". */
function servedModels({ routes: entries }: DirectAccess, routes: ReadonlyMap<string, ModelRoute>): ServedModels {
  const served = entries.flatMap(({ route: name, models, channels }) => {
    const route = routes.get(name);
    const usable = (route?.channels ?? [])
      .filter((channel) => channel.drained !== true && (!channels || channels.names.includes(channel.name)))
      .map((channel) => `${name}/${channel.name}`);
    const names = (route?.models ?? [])
      .map((model) => model.name)
      .filter((model) => !models || models.names.includes(model));
    return usable.length === 0 ? [] : names.map((model) => ({ model, usable }));
  });
  return new Map(
    [...Map.groupBy(served, ({ model }) => model)].map(([model, some]) => [
      model,
      some.flatMap(({ usable }) => usable),
    ]),
  );
}

/** The prices of a model at a group's ratio: of each channel with a price of its own, and of all others. */
function pricesOn(
  entry: PriceEntry | undefined,
  groupRatioE18: bigint,
  channels: readonly string[],
): (CompiledPrice | undefined)[] {
  if (!entry) return [undefined];
  const own = [...new Set(channels)].filter((id) => hasOwnPrice(entry.price, id));
  const prices = own.map((id) => priceAt(entry, groupRatioE18, id));
  return channels.every((id) => own.includes(id)) ? prices : [priceAt(entry, groupRatioE18), ...prices];
}

interface PricesView {
  readonly ranked: readonly RankedRow[];
  /** The person may see what a change of prices would cost. */
  readonly mayPreview: boolean;
  /** Where the same list is without signing in. */
  readonly publicHref: string | undefined;
}

function renderPricesPage(list: PriceList, query: PricingQuery, { ranked, mayPreview, publicHref }: PricesView): Html {
  return html`<div class="page-head">
      <div>
        <h1>Prices</h1>
        <p class="lede">
          In US dollars, as of now. Every model has ratios that say what its tokens cost; the group of a key multiplies
          them.${
            list.pricing.rows.length === 0 ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`
          }
        </p>
      </div>
      ${
        mayPreview
          ? html`<div class="actions">
              <a class="button" href="/prices/change">Preview a change</a>
            </div>`
          : NOTHING
      }
      ${
        publicHref === undefined
          ? NOTHING
          : html`<p class="soft">
              Also without signing in: <a href="${publicHref}">${publicHref.replace(/^https?:\/\//, '')}</a>
            </p>`
      }
    </div>
    <div class="prices">${renderPrices(list, query, { ranked, modelRoot: MODEL_ROOT })}</div>`;
}
