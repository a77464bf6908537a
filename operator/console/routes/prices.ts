/** GET /prices: the gateway's price list with its calculator. Prices are public: everybody who is signed in sees all of them. */
import type { PriceList } from '#web/pricing/price-list.ts';
import { renderCalculationPart } from '#web/pricing/prices.ts';
import { parsePricingQuery } from '#web/pricing/query.ts';
import { rankRows } from '#web/pricing/rows.ts';
import type { RankedRow } from '#web/pricing/rows.ts';
import { createPriceLists } from '../prices/price-list.ts';
import type { Answer, ConsoleDeps, ConsoleRoute, Visit } from '../route.ts';
import { renderPricesPage } from '../views/prices.ts';

/** What is worked out once for each console, and once for each list. */
const compilers = new WeakMap<ConsoleDeps, ReturnType<typeof createPriceLists>>();
const rankings = new WeakMap<PriceList, readonly RankedRow[]>();

function showPrices({ deps, query: parameters }: Visit): Answer {
  const list = priceListOf(deps);
  const query = parsePricingQuery(parameters, list.pricing);
  const part = parameters.get('part') === 'calculation' ? renderCalculationPart(list, query) : undefined;
  if (part) return { fragment: part };
  const body = renderPricesPage(list, query, { ranked: ranked(list), publicHref: deps.gatewayUrl === undefined ? undefined : `${deps.gatewayUrl.replace(/\/$/, '')}/pricing` });
  return { page: { title: 'Prices', active: 'prices', body, scripts: ['pricing.js', 'calculator.js'], styles: ['pricing.css'] } };
}

function priceListOf(deps: ConsoleDeps): PriceList {
  let compile = compilers.get(deps);
  if (!compile) compilers.set(deps, compile = createPriceLists(deps.gatewayNamespace));
  return compile(deps.resources());
}

function ranked(list: PriceList): readonly RankedRow[] {
  let rows = rankings.get(list);
  if (!rows) rankings.set(list, rows = rankRows(list.pricing.rows));
  return rows;
}

export const pricesRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/prices', handle: showPrices }];
