/**
 * [P] The public price page and the pages of its models as HTML documents.
 */
import { html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { renderModel, renderModelName } from './model-page.ts';
import type { PriceList, PricingRow } from './price-list.ts';
import { renderPrices } from './prices.ts';
import { DEFAULT_QUERY } from './query.ts';
import type { PricingQuery } from './query.ts';
import { rankRows } from './rows.ts';
import type { RankedRow } from './rows.ts';

/** What differs between installations; asset addresses are relative to /pricing. */
export interface PricingSite {
  /** The name of the site: "Model Gateway". */
  readonly title: string;
  /** undefined: not known. */
  readonly consoleUrl: string | undefined;
  readonly styleHref: string;
  readonly scriptHref: string;
  readonly iconHref: string;
}

/** Relative to /pricing. */
const MODEL_ROOT = 'pricing/models/';
/** From a model's page to the folder that /pricing is in. */
const UP = '../../';

/** The page. `ranked` spares ranking the same rows again. */
export function renderPricingPage(
  list: PriceList,
  site: PricingSite,
  query: PricingQuery = DEFAULT_QUERY,
  ranked: readonly RankedRow[] = rankRows(list.pricing.rows),
): string {
  const empty = list.pricing.rows.length === 0;
  return document(
    site,
    { title: 'Pricing', description: 'Models, their vendors, ratios and prices.', up: '' },
    html`${empty ? NOTHING : html`<a class="skip" href="#list">Skip to the price list</a>`}
      <header>
        ${siteLinks(site, './')}
        <h1>Pricing</h1>
        <p class="lede">
          Prices as of now, in US dollars. Every model has ratios that say what its tokens cost; the group of your key
          multiplies them.${empty ? NOTHING : html` <a href="#calculator">Work out what a call costs.</a>`}
        </p>
      </header>
      <main class="prices">${renderPrices(list, query, { ranked, modelRoot: MODEL_ROOT })}</main>
      <footer>
        <p>Currency: USD · Also as data: <a href="pricing.json">pricing.json</a></p>
      </footer>`,
  );
}

/** A model's page. `gatewayUrl`: where SDKs call, without a path, as far as is known. */
export function renderModelPage(
  list: PriceList,
  site: PricingSite,
  row: PricingRow,
  gatewayUrl: string | undefined,
): string {
  const { modelName } = row;
  const description = `${modelName}: prices, limits and first calls.`;
  return document(
    site,
    { title: modelName, description, up: UP },
    html`<header>
        ${siteLinks(site, UP)}
        <h1>${renderModelName(modelName)}</h1>
      </header>
      <main class="prices">${renderModel(list, row, { gatewayUrl })}</main>
      <footer>
        <p>
          Currency: USD · <a href="${UP}pricing">All models</a> · Also as data:
          <a href="${UP}pricing.json">pricing.json</a>
        </p>
      </footer>`,
  );
}

/** The page of an address below /pricing/ that has none. `up`: from it to the folder that /pricing is in. */
export function renderMissingPage(site: PricingSite, up: string): string {
  return document(
    site,
    { title: 'Not found', description: 'There is no such page.', up },
    html`<header>
        ${siteLinks(site, up)}
        <h1>Not found</h1>
      </header>
      <main class="prices">
        <p>There is no model of this name with a price, or it is no longer offered.</p>
        <p><a href="${up}pricing">All models and prices</a></p>
      </main>`,
  );
}

/** The ways to the gateway's own page, to the price list and to the console. `root`: the folder that /pricing is in. */
function siteLinks({ title, consoleUrl }: PricingSite, root: string): Html {
  return html`<nav class="site" aria-label="Site">
    <a href="${root}"><bdi>${title}</bdi></a> · <a href="${root}pricing">Pricing</a>${
      consoleUrl === undefined ? NOTHING : html` · <a href="${consoleUrl}">Console</a>`
    }
  </nav>`;
}

interface DocumentHead {
  readonly title: string;
  readonly description: string;
  /** From the page to the folder that /pricing is in. */
  readonly up: string;
}

function document(site: PricingSite, { title, description, up }: DocumentHead, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="${description}" />
        <title>${title} · ${site.title}</title>
        <link rel="icon" href="${up}${site.iconHref}" type="image/svg+xml" />
        <link rel="stylesheet" href="${up}${site.styleHref}" />
        <script src="${up}${site.scriptHref}" defer></script>
      </head>
      <body class="public">
        ${body}
      </body>
    </html>`.markup;
}
