/** [P] The price list within the console's frame. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { PriceList } from '#web/pricing/price-list.ts';
import { renderPrices } from '#web/pricing/prices.ts';
import type { PricingQuery } from '#web/pricing/query.ts';
import type { RankedRow } from '#web/pricing/rows.ts';

/** `publicHref`: where the same list is without signing in. */
export function renderPricesPage(list: PriceList, query: PricingQuery, { ranked, publicHref }: { readonly ranked: readonly RankedRow[]; readonly publicHref: string | undefined }): Html {
  return html`<div class="page-head"><div><h1>Prices</h1>
<p class="lede">In US dollars, as of now. Every model has ratios that say what its tokens cost; the group of a key multiplies them.\
${list.pricing.rows.length === 0 ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`}</p></div>
${publicHref === undefined ? NOTHING : html`<p class="soft">Also without signing in: <a href="${publicHref}">${publicHref.replace(/^https?:\/\//, '')}</a></p>`}</div>
<div class="prices">${renderPrices(list, query, ranked)}</div>`;
}
