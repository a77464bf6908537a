/** The gateway's price list with its calculator. Prices are public: everybody who is signed in sees all of them. */
import { Type } from 'typebox';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderModel, renderModelName } from '#web/pricing/model-page.ts';
import type { PriceList } from '#web/pricing/price-list.ts';
import { renderCalculationPart, renderPrices } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import type { PricingQuery } from '#web/pricing/query.ts';
import { rankRows } from '#web/pricing/rows.ts';
import type { RankedRow } from '#web/pricing/rows.ts';
import { AccessError } from '../access/access.ts';
import { seesPriceChanges } from './price-change.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { priceListOf } from '../queries/price-lists.ts';
import { MODEL_ROOT } from '../paths.ts';
import { pageHead } from '../components/page.ts';

const rankings = new WeakMap<PriceList, readonly RankedRow[]>();

/** Those of web/pricing/query.ts, and `part`: only the calculation, for a script. */
const PRICES_QUERY = Type.Record(Type.String(), Type.String({ maxLength: 500 }));
/** A model's name may hold any character. */
const MODEL = Type.Object({ name: Type.String() });

async function showPrices(request: PageRequest<{ readonly query: typeof PRICES_QUERY }>): Promise<HandlerResult> {
  const { deps } = request;
  const list = priceListOf(deps);
  const query = parsePricingQuery(new URLSearchParams(request.query), list.pricing);
  const part = request.query['part'] === 'calculation' ? renderCalculationPart(list, query) : undefined;
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

function ranked(list: PriceList): readonly RankedRow[] {
  let rows = rankings.get(list);
  if (!rows) rankings.set(list, (rows = rankRows(list.pricing.rows)));
  return rows;
}

function showModel({ deps, params: { name } }: PageRequest<{ readonly params: typeof MODEL }>): HandlerResult {
  const list = priceListOf(deps);
  const row = list.pricing.rows.find(({ modelName }) => modelName === name);
  if (!row) throw new AccessError('NotFound', 'No PriceCatalog has a price for a model of this name.');
  const body = html`${pageHead({
      above: [{ path: '/prices', label: 'Prices' }],
      title: renderModelName(name),
      here: name,
    })}
    <div class="prices">${renderModel(list, row, { gatewayUrl: deps.gatewayUrl })}</div>`;
  return { page: { title: `${name} · Prices`, active: 'prices', body, scripts: ['copy.js'], styles: ['pricing.css'] } };
}

export const pricesRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/prices', query: PRICES_QUERY, handle: showPrices }),
  route({ method: 'GET', path: '/models/:name', params: MODEL, handle: showModel }),
];

interface PricesView {
  readonly ranked: readonly RankedRow[];
  /** The person may see what a change of prices would cost. */
  readonly mayPreview: boolean;
  /** Where the same list is without signing in. */
  readonly publicHref: string | undefined;
}

function renderPricesPage(list: PriceList, query: PricingQuery, { ranked, mayPreview, publicHref }: PricesView): Html {
  const calculator =
    list.pricing.rows.length === 0 ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`;
  return html`${pageHead({
      title: 'Prices',
      lede: html`In US dollars, as of now. Every model has ratios that say what its tokens cost; the group of a key
      multiplies them.${calculator}`,
      ...(mayPreview && { actions: html`<a class="button" href="/prices/change">Preview a change</a>` }),
      ...(publicHref !== undefined && {
        beside: html`<p class="soft">
          Also without signing in: <a href="${publicHref}">${publicHref.replace(/^https?:\/\//, '')}</a>
        </p>`,
      }),
    })}
    <div class="prices">${renderPrices(list, query, { ranked, modelRoot: MODEL_ROOT })}</div>`;
}
