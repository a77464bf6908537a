/**
 * [P] The public price page as HTML, for one state and one view of it. It needs no script: the controls are a GET form. With
 * scripts, browser/pricing.js sorts and filters in place. Whatever manifests put into names is only ever text (html.ts).
 */
import { ONE_E9 } from '../../snapshot/decimal.ts';
import type { PricingRow, State } from '../../state/state.ts';
import { renderBasis, renderFilters } from './filters.ts';
import { renderFootnote } from './footnote.ts';
import { flag, html, NOTHING } from './html.ts';
import type { Html } from './html.ts';
import { DEFAULT_QUERY } from './query.ts';
import type { PricingQuery } from './query.ts';
import { arrangeRows, rankRows } from './rows.ts';
import type { ArrangedRow, RankedRow } from './rows.ts';
import { renderTable } from './table.ts';

/** What the page shows prices from. */
export type PricedState = Pick<State, 'pricing' | 'groups'>;

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
  state: PricedState, site: PricingSite, query: PricingQuery = DEFAULT_QUERY, ranked: readonly RankedRow[] = rankRows(state.pricing.rows),
): string {
  const empty = state.pricing.rows.length === 0;
  const main = empty ? renderEmpty() : renderList(state, query, ranked);
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
<body>
${empty ? NOTHING : html`<a class="skip" href="#list">Skip to the price list</a>`}
<header>
<p class="site"><bdi>${site.title}</bdi></p>
<h1>Pricing</h1>
<p class="lede">Prices as of now, in US dollars. Every model has ratios that say what its tokens cost; the group of your key multiplies them.</p>
</header>
<main>${main}</main>
<footer><p>Currency: USD · Also as data: <a href="pricing.json">pricing.json</a></p></footer>
</body>
</html>
`.markup;
}

/** The models' count of a view, as the script writes it too. */
export function countText(visible: number, all: number): string {
  const models = `${all.toLocaleString('en-US')} ${all === 1 ? 'model' : 'models'}`;
  return visible === all ? models : `${visible.toLocaleString('en-US')} of ${models}`;
}

function renderList(state: PricedState, query: PricingQuery, ranked: readonly RankedRow[]): Html {
  const vendors = vendorsInOrder(ranked);
  const rows = arrangeRows(ranked, query, query.group === undefined ? undefined : state.groups.get(query.group));
  const visible = rows.filter((row) => row.visible).length;
  return html`${renderFilters(state, query, vendors)}
<section id="list" tabindex="-1" aria-label="Price list">
<div class="bar"><p id="count" role="status">${countText(visible, rows.length)}</p><p id="basis">${renderBasis(state, query)}</p></div>
${renderTable(state, query, rows, vendors)}
<p id="none"${flag('hidden', visible > 0)}>No model matches these filters. <a href="?" id="clear">Show all models</a></p>
</section>
${renderFootnote(exampleRow(rows))}`;
}

/** A visible model that is priced by tokens, rather one whose ratios all matter. */
function exampleRow(rows: readonly ArrangedRow[]): PricingRow | undefined {
  const candidates = rows.flatMap(({ visible, ranked: { row } }) => visible && row.quotaType === 'Token' ? [row] : []);
  return candidates.find((row) => row.cacheRatioE9 !== ONE_E9 && row.completionRatioE9 !== ONE_E9) ?? candidates[0];
}

function vendorsInOrder(ranked: readonly RankedRow[]): string[] {
  const ranks = new Map(ranked.map(({ row, ranks }) => [row.vendor, ranks.vendor]));
  return [...ranks].sort(([, a], [, b]) => a - b).map(([vendor]) => vendor);
}

function renderEmpty(): Html {
  return html`<section class="empty" aria-labelledby="empty">
<h2 id="empty">No models are priced yet</h2>
<p>A model appears here as soon as a <code>PriceCatalog</code> in the gateway's namespace gives it a price. Apply one, for example:</p>
<pre><code>apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata:
  name: anthropic
spec:
  models:
  - name: claude-sonnet-4-5
    vendor: Anthropic
    quotaType: Token
    modelRatio: "1.5"
    completionRatio: "5"
    cacheRatio: "0.1"</code></pre>
<p>Keys can call it once a <code>ModelRoute</code> serves it and a <code>Group</code> allows it.</p>
</section>`;
}
