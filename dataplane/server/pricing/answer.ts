/**
 * The price list over HTTP. `GET /pricing` is a page or data by the Accept header, `GET /pricing.json` is data, `GET
 * /pricing/models/{name}` is a model's page, `GET /pricing/assets/*` serves the pages' style and script. `GET /`
 * describes the gateway. None of them needs a key; with one, the lists include its group. Responses carry an ETag;
 * frequent views of one configuration are rendered once.
 */
import { hash } from 'node:crypto';
import type { State } from '../../state/state.ts';
import { pricingJson } from '#web/pricing/json.ts';
import { homeJson, renderHome } from '#web/home.ts';
import { renderMissingPage, renderModelPage, renderPricingPage } from '#web/pricing/page.ts';
import type { PricingSite } from '#web/pricing/page.ts';
import { renderCalculationPart } from '#web/pricing/prices.ts';
import { DEFAULT_QUERY, parsePricingQuery, queryKey } from '#web/pricing/query.ts';
import { rankRows } from '#web/pricing/rows.ts';
import { visibleTo } from '#web/pricing/price-list.ts';
import type { PriceList } from '#web/pricing/price-list.ts';
import type { RankedRow } from '#web/pricing/rows.ts';
import { assetHref, findAsset } from './assets.ts';
import { negotiate } from './negotiate.ts';
import type { RenderBudget } from './render-budget.ts';

/** The part of a GET or HEAD request that the price list reads. */
export interface PricingRequest {
  /** "/pricing", "/pricing.json" or a path below "/pricing/assets/", without the query. */
  readonly path: string;
  /** The query string, with or without its question mark. */
  readonly search: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  /** The origin that the client called, such as https://gateway.example; undefined if unknown. */
  readonly origin?: string | undefined;
  /** The group of the key that was sent; undefined if none was sent, or it is not in force. */
  readonly group?: string | undefined;
}

/** Header names are lower case. The body of a 304 is empty. */
export interface PricingAnswer {
  readonly status: 200 | 304 | 404;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Scripts, styles and requests of this origin only, nothing inline; forms submit here; no framing. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Rendered {
  readonly body: Buffer;
  readonly etag: string;
}

interface PriceListCache {
  readonly ranked: readonly RankedRow[];
  readonly views: Map<string, Rendered>;
}

/** The visible lists of a configuration: those of a restricted group by its name, all others under undefined. */
const visible = new WeakMap<State['pricing'], Map<string | undefined, PriceList>>();

function visibleList(state: PricedState, group: string | undefined): PriceList {
  const own = state.pricing.groups.find(({ name, restricted }) => restricted && name === group)?.name;
  const known = visible.get(state.pricing) ?? new Map<string | undefined, PriceList>();
  visible.set(state.pricing, known);
  const list = known.get(own) ?? visibleTo(state, own);
  known.set(own, list);
  return list;
}

/** Rendered views by configuration, so that they are freed with it. */
const caches = new WeakMap<PriceList['pricing'], PriceListCache>();
const CACHED_VIEWS = 16;
/** What is priced. */
type PricedState = Pick<State, 'pricing' | 'groups'>;

const MODEL_ROOT = '/pricing/models/';
const PLAIN_VIEW = queryKey(DEFAULT_QUERY);

export interface PricingOptions {
  readonly title?: string;
  /** The console's URL; undefined if unknown. */
  readonly consoleUrl?: string | undefined;
  /** The budget for views that are not cached. */
  readonly limit?: RenderBudget;
}

interface ListOptions {
  readonly site: PricingSite;
  readonly limit: RenderBudget;
}

const unlimited: RenderBudget = (render) => render();

/**
 * Returns the response. If the price list has nothing at the path, it is a page with status 404 for browsers, and
 * undefined for other clients. Throws too_busy if the render budget is used up.
 */
export function answerPricing(
  request: PricingRequest,
  state: PricedState,
  { title = 'Model Gateway', limit = unlimited, consoleUrl }: PricingOptions = {},
): PricingAnswer | undefined {
  const site = siteOf(title, consoleUrl);
  if (request.path === '/pricing' || request.path === '/pricing.json')
    return answerList(request, state, { site, limit });
  if (request.path === '/') return answerHome(request, site);
  const found = request.path.startsWith(MODEL_ROOT)
    ? answerModel(request, state, { site, limit })
    : answerAsset(request);
  // as at `/`, only browsers get a page
  if (found || negotiate(request.accept, '/') === 'json') return found;
  const up = '../'.repeat(request.path.split('/').length - 2);
  return { status: 404, headers: PAGE_HEADERS, body: Buffer.from(renderMissingPage(site, up)) };
}

function answerAsset({ path }: PricingRequest): PricingAnswer | undefined {
  const found = findAsset(path);
  if (!found) return undefined;
  return {
    status: 200,
    headers: {
      'content-type': found.asset.contentType,
      'cache-control': found.exact ? 'public, max-age=31536000, immutable' : 'no-cache',
      'x-content-type-options': 'nosniff',
    },
    body: found.asset.body,
  };
}

function answerHome({ accept, path, origin }: PricingRequest, site: PricingSite): PricingAnswer {
  const { title, consoleUrl } = site;
  if (negotiate(accept, path) === 'json') {
    const body = Buffer.from(JSON.stringify(homeJson({ origin, consoleUrl }, title)));
    return { status: 200, headers: JSON_HEADERS, body };
  }
  return { status: 200, headers: PAGE_HEADERS, body: Buffer.from(renderHome({ origin, consoleUrl }, site)) };
}

function answerModel(
  { path, origin, ifNoneMatch, group }: PricingRequest,
  state: PricedState,
  { site, limit }: ListOptions,
): PricingAnswer | undefined {
  const name = decodeName(path.slice(MODEL_ROOT.length));
  const list = visibleList(state, group);
  const row = list.pricing.rows.find(({ modelName }) => modelName === name);
  if (!row) return undefined;
  const { body, etag } = rendered(limit(() => renderModelPage(list, site, row, origin)));
  const headers = { ...PAGE_HEADERS, etag };
  return matches(ifNoneMatch, etag) ? { status: 304, headers, body: Buffer.alloc(0) } : { status: 200, headers, body };
}

/** Returns undefined if the name is not valid UTF-8. */
function decodeName(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

function answerList(request: PricingRequest, state: PricedState, options: ListOptions): PricingAnswer {
  const list = visibleList(state, request.group);
  const format = negotiate(request.accept, request.path);
  const { body, etag } = format === 'json' ? renderJson(list) : renderPage(request.search, list, options);
  const headers = { ...(format === 'json' ? JSON_HEADERS : PAGE_HEADERS), etag };
  if (matches(request.ifNoneMatch, etag)) return { status: 304, headers, body: Buffer.alloc(0) };
  return { status: 200, headers, body };
}

// no-cache: browsers keep it but ask again each time, and an unchanged list is answered with 304
const COMMON_HEADERS = {
  'cache-control': 'no-cache',
  vary: 'Accept, Authorization, X-Api-Key',
  'x-content-type-options': 'nosniff',
};
const JSON_HEADERS = { ...COMMON_HEADERS, 'content-type': 'application/json; charset=utf-8' };
const PAGE_HEADERS = {
  ...COMMON_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
};

function renderJson(list: PriceList): Rendered {
  return cached(cacheOf(list), 'json', () => JSON.stringify(pricingJson(list.pricing)));
}

function renderPage(search: string, list: PriceList, { site, limit }: ListOptions): Rendered {
  const parameters = new URLSearchParams(search);
  const query = parsePricingQuery(parameters, list.pricing);
  // the calculator's script requests a few lines of the page
  const part = parameters.get('part') === 'calculation' ? renderCalculationPart(list, query) : undefined;
  if (part) return rendered(part.markup);
  const cache = cacheOf(list);
  const render = (): string => {
    const page = (): string => renderPricingPage(list, site, query, cache.ranked);
    // the plain page, which everybody opens, is never refused
    return queryKey(query) === PLAIN_VIEW ? page() : limit(page);
  };
  // free text and counts have too many values to be worth caching
  const cacheable = !query.text && !query.calculation;
  return cacheable
    ? cached(cache, `${site.title} ${site.consoleUrl ?? ''} ${queryKey(query)}`, render)
    : rendered(render());
}

function siteOf(title: string, consoleUrl: string | undefined): PricingSite {
  return {
    title,
    consoleUrl,
    styleHref: assetHref('pricing.css'),
    scriptHref: assetHref('pricing.js'),
    iconHref: assetHref('icon.svg'),
  };
}

function cacheOf({ pricing }: PriceList): PriceListCache {
  let cache = caches.get(pricing);
  if (!cache) {
    cache = { ranked: rankRows(pricing.rows), views: new Map() };
    caches.set(pricing, cache);
  }
  return cache;
}

function cached({ views }: PriceListCache, key: string, render: () => string): Rendered {
  const known = views.get(key);
  if (known) return known;
  const made = rendered(render());
  const [oldest] = views.keys();
  if (views.size >= CACHED_VIEWS && oldest !== undefined) views.delete(oldest);
  views.set(key, made);
  return made;
}

function rendered(text: string): Rendered {
  const body = Buffer.from(text);
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` };
}

/** Compares If-None-Match weakly, because a proxy that compresses may have made the tag weak. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
