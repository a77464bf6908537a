/**
 * [P] The public price page as an HTML document, for one price list and one view of it.
 */
import { html, NOTHING } from '../html.ts';
import type { PriceList } from './price-list.ts';
import { renderPrices } from './prices.ts';
import { DEFAULT_QUERY } from './query.ts';
import type { PricingQuery } from './query.ts';
import { rankRows } from './rows.ts';
import type { RankedRow } from './rows.ts';

/** What differs between installations; asset addresses are relative to the page. */
export interface PricingSite {
  /** Whose prices these are: "Model Gateway". */
  readonly title: string;
  readonly styleHref: string;
  readonly scriptHref: string;
  readonly iconHref: string;
}

/** The page. `ranked` spares ranking the same rows again. */
export function renderPricingPage(
  list: PriceList, site: PricingSite, query: PricingQuery = DEFAULT_QUERY, ranked: readonly RankedRow[] = rankRows(
    list.pricing.rows,
  ),
): string {
  const empty = list.pricing.rows.length === 0;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Models, their vendors, ratios and prices.">
<title>Pricing · ${site.title}</title>
<link rel="icon" href="${site.iconHref}" type="image/svg+xml">
<link rel="stylesheet" href="${site.styleHref}">
<script src="${site.scriptHref}" defer></script>
</head>
<body class="public">
${empty ? NOTHING : html`<a class="skip" href="#list">Skip to the price list</a>`}
<header>
<p class="site"><bdi>${site.title}</bdi></p>
<h1>Pricing</h1>
<p class="lede">Prices as of now, in US dollars. Every model has ratios that say what its tokens cost; the group of \
your key multiplies them.${empty ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`}</p>
</header>
<main class="prices">${renderPrices(list, query, ranked)}</main>
<footer><p>Currency: USD · Also as data: <a href="pricing.json">pricing.json</a></p></footer>
</body>
</html>
`.markup;
}
