/**
 * [P] A model's own page: its facts, its prices in each group, its limits, and example calls to copy. Shared by the
 * public page and the console; wrap it into an element of class "prices".
 */
import { formatDecimal } from '../decimal.ts';
import { html, NOTHING, preformatted } from '../html.ts';
import type { Html } from '../html.ts';
import { EXAMPLE_URL, snippetsOf } from '../snippets.ts';
import type { Snippet } from '../snippets.ts';
import { renderDimensions } from './dimensions.ts';
import { baseDollars, formatRange, offerDollars, generationUnit } from './dollars.ts';
import type { RowDollars } from './dollars.ts';
import { formatTokens, renderModalities } from './facts.ts';
import { groupRatioText } from './filters.ts';
import { QUOTA_TYPE_NAMES } from './json.ts';
import { endpointPaths } from './model-facts.ts';
import type { Endpoint, ModelFacts } from './model-facts.ts';
import type { PriceList, PricingRow } from './price-list.ts';

interface ModelPageOptions {
  /** Where SDKs call, without a path; undefined: not known. */
  readonly gatewayUrl: string | undefined;
}

/** The address of a model's page below `root`. */
export function modelHref(root: string, modelName: string): string {
  return root + encodeURIComponent(modelName.toWellFormed());
}

/** The content below the heading. */
export function renderModel(list: PriceList, row: PricingRow, { gatewayUrl }: ModelPageOptions): Html {
  return html`<dl class="facts model-facts">${renderFacts(row)}</dl>
    ${renderModelPrices(list, row)}
    ${row.facts ? row.facts.endpoints.map((endpoint) => renderCalls(row, endpoint, gatewayUrl)) : NOTHING}`;
}

/** The name with a button that copies it, to the letter. */
export function renderModelName(modelName: string): Html {
  return html`<bdi id="model-name" class="model-name">${modelName}</bdi>
    <button type="button" class="button small" data-copy="model-name" hidden>
      Copy<span class="vh"> the name</span>
    </button>`;
}

function renderFacts({ vendor, quotaType, facts }: PricingRow): Html {
  return html`<dt>Vendor</dt>
    <dd><bdi>${vendor || '—'}</bdi></dd>
    <dt>Quota type</dt>
    <dd>${QUOTA_TYPE_NAMES[quotaType]}</dd>
    ${
      facts
        ? renderServed(facts)
        : html`<dt>Served</dt>
            <dd>Not yet: no ModelRoute has this model.</dd>`
    }`;
}

function renderServed(facts: ModelFacts): Html {
  const { inputs, outputs, contextTokens, maxOutputTokens } = facts;
  return html`<dt>Endpoints</dt>
    <dd>${endpointPaths(facts).map((path) => html`<code>POST ${path}</code> `)}</dd>
    <dt>Takes</dt>
    <dd><span class="io">${renderModalities(inputs)}</span></dd>
    <dt>Makes</dt>
    <dd><span class="io">${renderModalities(outputs)}</span></dd>
    <dt>Context</dt>
    <dd>${contextTokens === null ? '—' : html`${formatTokens(contextTokens)} tokens`}</dd>
    <dt>Output limit</dt>
    <dd>${maxOutputTokens === null ? '—' : html`${formatTokens(maxOutputTokens)} tokens`}</dd>`;
}

interface PriceColumn {
  readonly title: string;
  /** undefined: the catalog states none. */
  readonly of: (dollars: RowDollars) => string | undefined;
}

const UNITS = {
  second: 'USD per second of video',
  minute: 'USD per minute of audio',
  'million characters': 'USD per million characters',
  image: 'USD per image',
  request: 'USD per image, video or call',
} as const;

function renderModelPrices(list: PriceList, row: PricingRow): Html {
  const columns = columnsOf(row);
  const groups = list.pricing.groups.filter(({ name }) => list.groups.get(name)?.offers.has(row.modelName));
  const rows = groups.map((group) => {
    const offer = list.groups.get(group.name)?.offers.get(row.modelName);
    return renderPriceRow(
      html`<bdi>${group.displayName}</bdi> <small>${groupRatioText(group, list)}</small>`,
      columns,
      (offer && offerDollars(offer)) ?? baseDollars(row),
    );
  });
  const per = row.quotaType === 'Token' ? 'USD per million tokens' : UNITS[generationUnit(row)];
  return html`<section class="section" aria-labelledby="prices">
    <h2 id="prices">Prices</h2>
    <div class="table-box" tabindex="0" role="region" aria-labelledby="prices">
      <table class="table model-prices">
        <caption>
          ${per}
        </caption>
        <thead>
          <tr>
            <th scope="col">Group</th>
            ${columns.map(({ title }) => html`<th scope="col" class="num">${title}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${renderPriceRow(html`Base price <small>group ratio 1</small>`, columns, baseDollars(row))}${rows}
        </tbody>
      </table>
    </div>
    ${groups.length === 0 ? html`<p class="soft">No group offers this model yet.</p>` : NOTHING}
    ${row.quotaType === 'Token' && !row.isInDollars ? renderRatios(row) : NOTHING} ${renderDimensions(row.dimensions)}
  </section>`;
}

function columnsOf({ quotaType, stated }: PricingRow): PriceColumn[] {
  if (quotaType === 'Request')
    return [{ title: 'Each', of: (dollars) => ('request' in dollars ? formatRange(dollars.request) : undefined) }];
  const ofToken =
    (name: 'input' | 'output' | 'cached' | 'cacheWrite5m' | 'cacheWrite1h', isStated = true) =>
    (dollars: RowDollars): string | undefined =>
      isStated && dollars.quotaType === 'Token' ? formatRange(dollars[name]) : undefined;
  return [
    { title: 'Input', of: ofToken('input') },
    { title: 'Output', of: ofToken('output', stated.output) },
    { title: 'Cached input', of: ofToken('cached', stated.cache) },
    { title: 'Cache write, 5 min', of: ofToken('cacheWrite5m', stated.cacheWrite5m) },
    { title: 'Cache write, 1 h', of: ofToken('cacheWrite1h', stated.cacheWrite1h) },
  ];
}

function renderPriceRow(label: Html, columns: readonly PriceColumn[], dollars: RowDollars): Html {
  return html`<tr>
    <th scope="row">${label}</th>
    ${columns.map(({ of }) => html`<td class="num">${of(dollars) ?? '—'}</td>`)}
  </tr>`;
}

function renderRatios({ modelRatioE9, completionRatioE9, cacheRatioE9, ratioBaseE9, stated }: PricingRow): Html {
  const completion = stated.output ? formatDecimal(completionRatioE9) : '—';
  const cache = stated.cache ? formatDecimal(cacheRatioE9) : '—';
  return html`<p class="soft">
    Model ratio ${formatDecimal(modelRatioE9)}, completion ratio ${completion}, cache ratio ${cache}; the ratio base is
    $${formatDecimal(ratioBaseE9)} per million input tokens.
  </p>`;
}

const CALL_TITLES: Readonly<Record<Endpoint, string>> = {
  Chat: 'Call it',
  Embeddings: 'Make an embedding',
  Images: 'Make an image',
  Videos: 'Make a video',
  Speech: 'Make speech',
  Transcriptions: 'Transcribe audio',
  Realtime: 'Talk to it',
};

function renderCalls(row: PricingRow, endpoint: Endpoint, gatewayUrl: string | undefined): Html {
  const id = `calls-${endpoint.toLowerCase()}`;
  const snippets = snippetsOf({
    url: gatewayUrl ?? EXAMPLE_URL,
    model: row.modelName,
    endpoint,
    bySecond: generationUnit(row) === 'second',
  });
  return html`<section class="section" aria-labelledby="${id}">
    <h2 id="${id}">${CALL_TITLES[endpoint]}</h2>
    <p class="hint">
      The key is read from the environment variable
      <code>MGW_KEY</code
      >.${gatewayUrl === undefined ? html` <code>${EXAMPLE_URL}</code> stands for the gateway's address.` : NOTHING}
    </p>
    ${renderSnippets(snippets, `${id}-`)}
  </section>`;
}

/** Snippets with copy buttons. `prefix` makes their ids unique on the page. */
export function renderSnippets(snippets: readonly Snippet[], prefix = ''): Html {
  return html`<div class="snippets">
    ${snippets.map(({ id, label, code }) => {
      const codeId = `snippet-${prefix}${id}`;
      return html`<div>
        <div class="snippet-head">
          <h3 id="${codeId}-title">${label}</h3>
          <button type="button" class="button small" data-copy="${codeId}" hidden>
            Copy<span class="vh"> ${label}</span>
          </button>
        </div>
        <pre
          class="code"
          tabindex="0"
          role="region"
          aria-labelledby="${codeId}-title"
        ><code id="${codeId}">${preformatted(code)}</code></pre>
      </div>`;
    })}
  </div>`;
}
